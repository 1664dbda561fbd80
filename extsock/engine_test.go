package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// offloads are all that an engine may do.
var offloads = []toe.Offload{toe.OffloadCRC, toe.OffloadFraming, toe.OffloadPlacement}

// enginePair returns the two ends of a connection with an engine below each, and the engines.
func enginePair(t *testing.T, wire simtoe.Config, engines [2]simtoe.EngineConfig, i, r side) (conns [2]*extsock.Conn, e [2]*simtoe.Engine) {
	t.Helper()
	a, b := simtoe.Pair(wire, wire)
	e[0], e[1] = simtoe.NewEngine(a, engines[0]), simtoe.NewEngine(b, engines[1])
	conns[0], conns[1] = switched(t, e[0], e[1], i, r)
	return conns, e
}

// closeBoth closes both ends of a connection in a bubble.
func closeBoth(c [2]*extsock.Conn) {
	c[0].Close()
	c[1].Close()
	settle()
}

// TestOperationsWithEngine: whatever an engine does, all operations have the same results.
func TestOperationsWithEngine(t *testing.T) {
	for _, o := range offloads {
		for _, crc := range []bool{true, false} {
			for markers := range 4 {
				t.Run(fmt.Sprintf("%v/crc=%v/markers=%02b", o, crc, markers), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						cfg := extsock.Config{NoCRC: !crc}
						i, r := postRecvs(cfg, 8, 1<<17), postRecvs(cfg, 8, 1<<17)
						i.cfg.Markers, r.cfg.Markers = markers&1 != 0, markers&2 != 0
						wire := simtoe.Config{Seed: uint64(markers), Split: true, MaxSegment: 9000, Early: 0.5, Window: 30_000}
						engine := simtoe.EngineConfig{Offload: o, Disorder: true}
						c, e := enginePair(t, wire, [2]simtoe.EngineConfig{engine, engine}, i, r)
						operations(t, c[0], c[1], sizes(1448))
						operations(t, c[1], c[0], sizes(1448))
						for n := range c {
							s := c[n].Stats()
							if s.EngineStops != 0 || e[n].Steps() == 0 {
								t.Errorf("end %d: the engine has stopped %d times, after %d steps", n, s.EngineStops, e[n].Steps())
							}
							if places := s.EngineFPDUs > s.Received.FPDUs/3; places != (o == toe.OffloadPlacement) {
								t.Errorf("end %d: the engine has placed %d of %d FPDUs", n, s.EngineFPDUs, s.Received.FPDUs)
							}
						}
						closeBoth(c)
					})
				})
			}
		}
	}
}

// TestEngineHasNoRoom: a connection that the engine does not take, or must not take, works without
// it.
func TestEngineHasNoRoom(t *testing.T) {
	for name, tt := range map[string]struct {
		engine simtoe.EngineConfig
		cfg    extsock.Config
		stops  uint64
	}{
		"no resources": {engine: simtoe.EngineConfig{Offload: toe.OffloadPlacement, NoResources: true}, stops: 1},
		"NoOffload":    {engine: simtoe.EngineConfig{Offload: toe.OffloadPlacement}, cfg: extsock.Config{NoOffload: true}},
		"only TCP":     {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := postRecvs(tt.cfg, 8, 1<<17)
				c, e := enginePair(t, simtoe.Config{}, [2]simtoe.EngineConfig{tt.engine, tt.engine}, s, s)
				defer closeBoth(c)
				operations(t, c[0], c[1], []int{0, 3, 3000})
				for n := range c {
					if got := c[n].Stats().EngineStops; got != tt.stops || e[n].Steps() != 0 {
						t.Errorf("end %d: %d stops, want %d; %d steps", n, got, tt.stops, e[n].Steps())
					}
				}
			})
		})
	}
}

// canonical is a session in which both ends use every operation and the byte stream's rules for
// messages. It checks that every byte and every completion comes once.
func canonical(t *testing.T, c [2]*extsock.Conn) {
	t.Helper()
	for n := range c {
		operations(t, c[n], c[1-n], []int{0, 5, 3000})
	}
	// Completions of what is posted at once come in order.
	memory := make([]byte, 8*1000)
	r := register(t, c[1], memory, ddp.RemoteWrite)
	for n := range uint64(8) {
		h, err := r.Handle().Slice(int64(n)*1000, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if err := c[0].Post(&rdmap.WorkRequest{ID: n, Op: rdmap.WorkWrite, Data: pattern(1000, byte(n)), Remote: h}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range uint64(8) {
		if d := complete(t, c[0].SendCQ()); d.ID != n {
			t.Fatalf("completion %d has ID %d", n, d.ID)
		}
	}
	do(t, c[0], rdmap.WorkRequest{Op: rdmap.WorkSend})
	repost(t, c[1], complete(t, c[1].RecvCQ()).ID)
	r.Deregister()
	for n := range 8 {
		if !bytes.Equal(memory[n*1000:][:1000], pattern(1000, byte(n))) {
			t.Fatalf("Write %d has not arrived as it was", n)
		}
	}
	for n := range c {
		var one [1]rdmap.Completion
		if c[n].SendCQ().Poll(one[:]) != 0 || c[n].RecvCQ().Poll(one[:]) != 0 {
			t.Fatalf("end %d: one completion too many: %v", n, one[0])
		}
	}
}

// TestEngineDiesAtEachStep stops the engine of one end at every step of a session. No byte is lost,
// and no completion is lost or doubled.
func TestEngineDiesAtEachStep(t *testing.T) {
	for _, o := range offloads {
		for _, end := range []int{0, 1} {
			t.Run(fmt.Sprintf("%v/end %d", o, end), func(t *testing.T) {
				t.Parallel()
				const unlimited = 1 << 20
				steps := 0
				for failAt := 1; failAt <= unlimited; failAt++ {
					steps = dying(t, o, end, failAt)
					if t.Failed() {
						t.Fatalf("the engine stopped at step %d", failAt)
					}
					if steps < failAt { // it has not stopped
						break
					}
				}
				t.Logf("%d steps", steps)
				if steps < 50 {
					t.Errorf("a session of %d steps", steps)
				}
			})
		}
	}
}

// dying runs a session in which the engine of one end stops at step failAt, and returns how many
// steps that engine has made.
func dying(t *testing.T, o toe.Offload, end, failAt int) (steps int) {
	bubble(t, func(t *testing.T) {
		s := postRecvs(extsock.Config{Markers: true, Extensions: true}, 8, 1<<12)
		// The small window makes TCP take parts of FPDUs.
		wire := simtoe.Config{Seed: uint64(failAt), Split: true, MaxSegment: 700, Early: 0.3, Window: 1000}
		engines := [2]simtoe.EngineConfig{{Offload: o, Disorder: true}, {Offload: o, Disorder: true}}
		engines[end].FailAt, engines[end].Exhausted = failAt, failAt%2 == 0
		c, e := enginePair(t, wire, engines, s, s)
		canonical(t, c)
		steps = e[end].Steps()
		if stops := c[end].Stats().EngineStops; steps >= failAt && stops == 0 || stops > 2 {
			t.Errorf("the engine was told to stop at step %d of %d; both directions have noticed %d stops", failAt, steps, stops)
		}
		for n := range c {
			if err := c[n].Close(); err != nil {
				t.Errorf("end %d: Close = %v", n, err)
			}
		}
		settle()
	})
	return steps
}

// TestEngineAndCapture: a connection with a capture uses its engine no more, and the capture has
// the FPDUs as TCP has them. The stream loses nothing.
func TestEngineAndCapture(t *testing.T) {
	for _, o := range offloads {
		t.Run(o.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				engine := simtoe.EngineConfig{Offload: o}
				c, _ := enginePair(t, simtoe.Config{}, [2]simtoe.EngineConfig{engine, engine}, side{}, side{})
				defer closeBoth(c)
				echo := func() {
					t.Helper()
					for n := range c {
						if _, err := c[n].Write(pattern(5000, byte(n))); err != nil {
							t.Fatal(err)
						}
						got := make([]byte, 5000)
						if _, err := io.ReadFull(c[1-n], got); err != nil || !bytes.Equal(got, pattern(5000, byte(n))) {
							t.Fatalf("from end %d: %v, or other bytes", n, err)
						}
					}
				}
				echo()
				var file bytes.Buffer
				cp := newCapture(t, &file)
				stop, err := cp.Start(c[0])
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					echo()
				}
				stop()
				echo()
				if err := cp.Close(); err != nil {
					t.Fatal(err)
				}
				if got := c[0].Stats().EngineStops; got != 2 {
					t.Errorf("%d stops, want one for each direction", got)
				}
				if got := c[1].Stats().EngineStops; got != 0 {
					t.Errorf("the other end: %d stops", got)
				}
				sent := 0
				for _, p := range decode(t, file.Bytes(), true).sends {
					sent += len(p)
				}
				if sent < 2*3*5000 { // and the headers of the byte stream
					t.Errorf("the capture has %d bytes of Sends", sent)
				}
			})
		})
	}
}

// A flipped inverts a bit of what is written once flip is set.
type flipped struct {
	toe.Stream
	flip bool
}

func (f *flipped) TryWriteBatch(bufs [][]byte) (int, error) {
	if !f.flip {
		return f.Stream.TryWriteBatch(bufs)
	}
	p := slices.Concat(bufs...)
	p[len(p)/2] ^= 4
	return f.Stream.TryWriteBatch([][]byte{p})
}

func isCRCError(err error) bool {
	e := (*mpa.Error)(nil)
	return errors.As(err, &e) && e.Code == mpa.CodeCRC
}

// TestEngineRefusesABadCRC: an FPDU that the engine can't verify ends the connection as without an
// engine.
func TestEngineRefusesABadCRC(t *testing.T) {
	for _, o := range offloads {
		t.Run(o.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x, y := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				bad := &flipped{Stream: x}
				c := [2]*extsock.Conn{}
				c[0], c[1] = switched(t, bad, simtoe.NewEngine(y, simtoe.EngineConfig{Offload: o}), side{}, side{})
				defer closeBoth(c)
				if _, err := c[0].Write([]byte("sound")); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, 5)
				if _, err := io.ReadFull(c[1], got); err != nil || string(got) != "sound" {
					t.Fatalf("%q, %v", got, err)
				}
				bad.flip = true
				c[0].Write([]byte("unsound"))
				time.Sleep(time.Second)
				if n, err := c[1].Read(got); !isCRCError(err) {
					t.Errorf("Read = %d, %v, want the CRC error", n, err)
				}
				if n, err := c[0].Read(got); err == nil {
					t.Errorf("the other end: Read = %d, %v, want the Terminate", n, err)
				}
			})
		})
	}
}
