package simtoe_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/internal/fpdu"
	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
	"github.com/rddp/rddp/toe/toetest"
)

// TestContractOfEngine: an engine that is not engaged is a TCP.
func TestContractOfEngine(t *testing.T) {
	toetest.TestStreamInBubble(t, func(*testing.T) (a, b toe.Stream) {
		cfg := simtoe.Config{Seed: 7, Split: true, Early: 0.3}
		a, b = simtoe.Pair(cfg, cfg)
		engine := simtoe.EngineConfig{Offload: toe.OffloadPlacement}
		return simtoe.NewEngine(a, engine), simtoe.NewEngine(b, engine)
	})
}

func TestEngageErrors(t *testing.T) {
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	defer a.Close()
	defer b.Close()
	for _, e := range []*simtoe.Engine{simtoe.NewEngine(a, simtoe.EngineConfig{}), simtoe.NewEngine(a, simtoe.EngineConfig{Offload: toe.OffloadCRC})} {
		if err := e.Engage(toe.Engagement{Offload: toe.OffloadFraming}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Engage for more than the engine does = %v", err)
		}
	}
	full := simtoe.NewEngine(a, simtoe.EngineConfig{Offload: toe.OffloadCRC, NoResources: true})
	var stop *toe.EngineError
	if err := full.Engage(toe.Engagement{Offload: toe.OffloadCRC}); !errors.As(err, &stop) || !stop.NoResources {
		t.Errorf("Engage without resources = %v", err)
	}
	if err := a.Engage(toe.Engagement{Offload: toe.OffloadCRC}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Engage of a TCP = %v", err)
	}
}

// A memory is a Lender, and a Placer that places every second FPDU at most.
type memory struct {
	rx     *fpdu.Receiver
	random *rand.Rand
	placed map[uint64][]byte // by stream offset
}

func (m *memory) Lend() []byte   { return m.rx.Free() }
func (m *memory) TakeBack() bool { return true }

func (m *memory) PlaceULPDU(off uint64, size int, ulpdu []byte) bool {
	if m.random.IntN(2) == 0 || !m.rx.Placed(off, size) {
		return false
	}
	m.placed[off] = bytes.Clone(ulpdu)
	return true
}

// TestEngine moves ULPDUs from one engine to another, each of which may stop anywhere. Each ULPDU
// arrives once.
func TestEngine(t *testing.T) {
	random := prototest.Seeded(t)
	for range 400 {
		wire := simtoe.Config{Seed: random.Uint64(), Split: true, MaxSegment: 1 + random.IntN(3000), Early: 0.3, Window: 1 + random.IntN(20_000)}
		agreed := mpa.Agreement{CRC: random.IntN(4) > 0, TxMarkers: random.IntN(2) == 0}
		agreed.RxMarkers = agreed.TxMarkers
		var cfg [2]simtoe.EngineConfig
		for i := range cfg {
			cfg[i] = simtoe.EngineConfig{Offload: toe.Offload(random.IntN(4)), FailAt: random.IntN(100), Disorder: true, Seed: random.Uint64()}
		}
		var ulpdus [][]byte
		for range random.IntN(30) {
			ulpdus = append(ulpdus, prototest.Pattern(1+random.IntN(5000), random.IntN(256)))
		}
		synctest.Test(t, func(t *testing.T) {
			x, y := simtoe.Pair(wire, wire)
			a, b := simtoe.NewEngine(x, cfg[0]), simtoe.NewEngine(y, cfg[1])
			defer a.Close()
			defer b.Close()
			errs := make(chan error, 1)
			go func() { errs <- send(a, cfg[0].Offload, agreed, ulpdus) }()
			got, err := receive(b, cfg[1].Offload, agreed, rand.New(rand.NewPCG(wire.Seed, 1)))
			if err = errors.Join(err, <-errs); err != nil {
				t.Fatalf("%+v, %+v: %v", wire, cfg, err)
			}
			if len(got) != len(ulpdus) {
				t.Fatalf("%+v, %+v: %d ULPDUs of %d", wire, cfg, len(got), len(ulpdus))
			}
			for i := range got {
				if !bytes.Equal(got[i], ulpdus[i]) {
					t.Fatalf("%+v, %+v: ULPDU %d has changed", wire, cfg, i)
				}
			}
		})
	}
}

// formOf returns the form of FPDUs that the engine wants, and engages it.
func formOf(e *simtoe.Engine, o toe.Offload, a mpa.Agreement, p toe.Placer) fpdu.Form {
	g := toe.Engagement{Offload: o, CRC: a.CRC, TxMarkers: a.TxMarkers, RxMarkers: a.RxMarkers, Placer: p}
	switch err := e.Engage(g); {
	case err != nil:
		return fpdu.FormFPDU
	case o == toe.OffloadCRC:
		return fpdu.FormUnsummed
	}
	return fpdu.FormULPDU
}

func send(e *simtoe.Engine, o toe.Offload, a mpa.Agreement, ulpdus [][]byte) error {
	s, b := fpdu.NewSender(a), fpdu.NewBatch(2*fpdu.MinBuffer)
	s.SetForm(formOf(e, o, a, nil))
	for _, u := range ulpdus {
		b.Reset()
		s.Append(b, false, u)
		for len(b.Bufs()) > 0 {
			n, err := e.TryWriteBatch(b.Bufs())
			b.Take(n)
			var stop *toe.EngineError
			switch {
			case errors.As(err, &stop):
				if !s.Revert(b, stop.Taken) {
					return fmt.Errorf("the engine stops at %d; the last FPDU ends at %d", stop.Taken, s.Off())
				}
			case err != nil:
				return err
			case n == 0:
				if err := e.WaitWritable(); err != nil {
					return err
				}
			}
		}
	}
	return e.CloseWrite()
}

func receive(e *simtoe.Engine, o toe.Offload, a mpa.Agreement, random *rand.Rand) (got [][]byte, err error) {
	m := &memory{rx: fpdu.NewReceiver(a), random: random, placed: map[uint64][]byte{}}
	m.rx.SetBuffer(make([]byte, 2*fpdu.MinBuffer))
	m.rx.SetForm(formOf(e, o, a, m))
	shown := map[uint64][]byte{}
	for {
		n, off, err := e.ReadSegment(m, 0)
		if n > 0 {
			m.rx.Fill(off, n)
		}
		for m.rx.Next() {
			u := m.rx.ULPDU()
			if shown[u.Off] != nil || m.placed[u.Off] != nil {
				return nil, fmt.Errorf("the ULPDU at %d comes twice", u.Off)
			}
			shown[u.Off] = bytes.Clone(u.Data)
		}
		var stop *toe.EngineError
		switch {
		case m.rx.Err() != nil:
			return nil, m.rx.Err()
		case errors.As(err, &stop):
			m.rx.SetForm(fpdu.FormFPDU)
		case err == io.EOF:
			return inOrder(shown, m.placed, m.rx.Edge(), a)
		case err != nil:
			return nil, err
		}
	}
}

// inOrder returns all ULPDUs below edge in the order of the stream.
func inOrder(shown, placed map[uint64][]byte, edge uint64, a mpa.Agreement) (list [][]byte, err error) {
	for off := uint64(0); off < edge; {
		u := shown[off]
		if u == nil {
			u = placed[off]
		}
		if u == nil {
			return nil, fmt.Errorf("no ULPDU at %d", off)
		}
		list = append(list, u)
		off += uint64(fpdu.Len(off, len(u), a.RxMarkers))
	}
	if len(list) != len(shown)+len(placed) {
		return nil, fmt.Errorf("%d ULPDUs were shown and %d placed, but the stream has %d", len(shown), len(placed), len(list))
	}
	return list, nil
}

func TestDisengage(t *testing.T) {
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	defer a.Close()
	defer b.Close()
	e := simtoe.NewEngine(a, simtoe.EngineConfig{Offload: toe.OffloadFraming})
	if err := e.Engage(toe.Engagement{Offload: toe.OffloadFraming, CRC: true}); err != nil {
		t.Fatal(err)
	}
	if n, err := e.TryWriteBatch([][]byte{{0, 2, 'a', 'b'}}); n != 4 || err != nil {
		t.Fatalf("TryWriteBatch = %d, %v", n, err)
	}
	e.Disengage()
	var stop *toe.EngineError
	if n, err := e.TryWriteBatch(nil); n != 0 || !errors.As(err, &stop) || stop.Taken != 8 {
		t.Errorf("TryWriteBatch after Disengage = %d, %v", n, err)
	}
	m := &memory{rx: fpdu.NewReceiver(mpa.Agreement{})}
	m.rx.SetBuffer(make([]byte, fpdu.MinBuffer))
	if n, off, err := e.ReadSegment(m, 0); n != 0 || off != 0 || !errors.As(err, &stop) {
		t.Errorf("ReadSegment after Disengage = %d at %d, %v", n, off, err)
	}
	if n, err := e.TryWriteBatch([][]byte{{1, 2, 3}}); n != 3 || err != nil {
		t.Errorf("TryWriteBatch without the engine = %d, %v", n, err)
	}
	got := make([]byte, 11)
	if _, err := io.ReadFull(b, got); err != nil || !bytes.HasPrefix(got, []byte{0, 2, 'a', 'b'}) || !bytes.HasSuffix(got, []byte{1, 2, 3}) {
		t.Errorf("the peer has %x, %v", got, err)
	}
	b.Write([]byte("x"))
	if n, off, err := e.ReadSegment(m, 0); n != 1 || off != 0 || err != nil {
		t.Errorf("ReadSegment without the engine = %d at %d, %v", n, off, err)
	}
}
