package extsock_test

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestBurstFillsMessages: while Writes follow one another quickly, a message ends when it is full,
// not where a Write ends. TCP takes a few bytes at a time here, and the bubble's time passes only
// while the writer waits for room. So the transmitter never overtakes the writer.
func TestBurstFillsMessages(t *testing.T) {
	for _, length := range []int{5000, 10_000, 50_000, 64 << 10} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				// The first four Writes belong to no burst, and the last message need not be full.
				const fullMessage = 64_000
				most := 8 + burstWrites*length/fullMessage + 1
				if n := writeBurst(t, simtoe.Config{Window: 16 << 10, Delay: time.Millisecond}, length); n > most {
					t.Errorf("%d FPDUs for %d bytes, want up to %d", n, burstWrites*length, most)
				}
			})
		})
	}
}

// TestBurstEnds: the last bytes of a burst do not wait for a Write that does not come.
func TestBurstEnds(t *testing.T) {
	for _, length := range []int{5000, 10_000, 50_000, 64 << 10} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				begin := time.Now()
				writeBurst(t, simtoe.Config{}, length)
				if d := time.Since(begin); d != time.Minute {
					t.Errorf("the last byte came after %v", d-time.Minute)
				}
			})
		})
	}
}

const burstWrites = 200

// writeBurst makes burstWrites Writes of length bytes, closes when the reader has all of them, and
// settles. It returns the number of FPDUs that the Writes took.
func writeBurst(t *testing.T, wire simtoe.Config, length int) (fpdus int) {
	t.Helper()
	s := side{cfg: extsock.Config{Crossover: -1}}
	ci, cr := simPair(t, wire, s, s)
	before := ci.Stats().Sent.FPDUs
	read := make(chan error, 1)
	go func() {
		_, err := readTape(cr, 0, burstWrites*length, newLengths(1, 1<<18))
		read <- err
	}()
	for i := range burstWrites {
		if n, err := ci.Write(tapeAt(i*length, length)); n != length || err != nil {
			t.Fatalf("Write %d = %d, %v", i, n, err)
		}
	}
	if err := <-read; err != nil {
		t.Error(err)
	}
	fpdus = int(ci.Stats().Sent.FPDUs - before)
	ci.Close()
	cr.Close()
	settle()
	return fpdus
}

// TestBurstMemory: the memory of Writes that wait for TCP in a burst is bounded. Beyond two
// messages it comes from SetMemoryLimit, and it goes back when the connection ends, however it
// ends.
func TestBurstMemory(t *testing.T) {
	alone(t)
	const messages = 64 << 10
	for _, limit := range []int64{0, 64 << 20} {
		for _, how := range []string{"Close", "Abort"} {
			t.Run(fmt.Sprintf("limit %d, %s", limit, how), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					limitMemory(t, limit)
					s := side{cfg: extsock.Config{Crossover: -1, CloseTimeout: time.Second}}
					const passes = 100_000 // bytes that TCP delivers before it is full
					a, b := simtoe.Pair(simtoe.Config{CutAfter: passes, CutHow: simtoe.Silence}, simtoe.Config{})
					ci, cr := switched(t, a, b, s, s)
					taken := extsock.MemoryTaken()
					wrote := 0
					written := make(chan error, 1)
					go func() {
						p := make([]byte, 10_000)
						for {
							n, err := ci.Write(p)
							if wrote += n; err != nil {
								written <- err
								return
							}
						}
					}()
					synctest.Wait()
					// The octets that wait in copies. TCP may have all messages before them, or a
					// part of the oldest.
					most, memory := 3*messages-passes, int64(0)
					if limit > 0 {
						most, memory = 16*messages, 2<<20
					}
					if n := wrote - simWindow - passes; n > most || limit > 0 && n < messages*4 {
						t.Errorf("Writes of %d bytes beyond TCP's buffer do not wait, want up to %d", n, most)
					}
					if n := extsock.MemoryTaken() - taken; n > memory || limit > 0 && n == 0 {
						t.Errorf("%d bytes of the process's memory are taken, want up to %d", n, memory)
					}
					if how == "Abort" {
						ci.SetLinger(0)
					}
					ci.Close()
					if err := <-written; err == nil || err == io.EOF {
						t.Errorf("Write = %v", err)
					}
					cr.Close()
					settle() // then limitMemory checks that nothing is taken
				})
			})
		}
	}
}

// simWindow is how many bytes the simulator buffers.
const simWindow = 256 << 10
