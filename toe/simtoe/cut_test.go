package simtoe_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
	"github.com/rddp/rddp/toe/toetest"
)

// cutAt writes three bytes at a time until the connection is cut after 10. It returns how many
// bytes were written, and the error.
func cutAt(t *testing.T, a toe.Stream) (taken int, err error) {
	t.Helper()
	a.SetDeadline(time.Now().Add(time.Minute))
	for taken < 1000 {
		n, err := a.Write([]byte{byte(taken), byte(taken + 1), byte(taken + 2)})
		taken += n
		if err != nil {
			return taken, err
		}
	}
	t.Fatalf("%d octets were taken", taken)
	return taken, nil
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		how          simtoe.CutHow
		taken        int
		write        error // of the side that is cut, at the cut
		read         error // of the receiver, after the last byte
		back         error // of the receiver's writes
		backBuffered error // of the other side's reads, after the bytes on their way back
	}{
		{simtoe.FIN, 10, syscall.EPIPE, io.EOF, nil, os.ErrDeadlineExceeded},
		{simtoe.RST, 10, syscall.ECONNRESET, syscall.ECONNRESET, syscall.ECONNRESET, syscall.ECONNRESET},
		{simtoe.Silence, 10 + 16, os.ErrDeadlineExceeded, os.ErrDeadlineExceeded, nil, os.ErrDeadlineExceeded},
	} {
		for _, delay := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprintf("%v, delay %v", test.how, delay), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := simtoe.Config{Window: 16, CutAfter: 10, CutHow: test.how, Delay: delay}
					a, b := pair(t, cfg, simtoe.Config{})
					b.SetDeadline(time.Now().Add(time.Hour))
					mustWrite(t, b, []byte("back"))
					received := make(chan []byte)
					var readErr error
					go func() {
						var got []byte
						for readErr == nil {
							var p [4]byte
							var n int
							n, _, readErr = toetest.ReadSegment(b, p[:])
							got = append(got, p[:n]...)
						}
						received <- got
					}()
					taken, err := cutAt(t, a)
					if taken != test.taken || !errors.Is(err, test.write) {
						t.Errorf("Write: %d octets taken, %v, want %d, %v", taken, err, test.taken, test.write)
					}
					if got, want := <-received, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !bytes.Equal(got, want) {
						t.Errorf("received % x, want % x", got, want)
					}
					if !errors.Is(readErr, test.read) {
						t.Errorf("ReadSegment behind the cut = %v, want %v", readErr, test.read)
					}
					b.SetDeadline(time.Now().Add(time.Hour))
					if _, err := b.Write([]byte("more")); !errors.Is(err, test.back) {
						t.Errorf("Write back = %v, want %v", err, test.back)
					}
					a.SetDeadline(time.Now().Add(time.Minute))
					got, err := io.ReadAll(a)
					if !bytes.HasPrefix(got, []byte("back")) || !errors.Is(err, test.backBuffered) {
						t.Errorf("read back %q, %v, want %q and %v", got, err, "back", test.backBuffered)
					}
				})
			})
		}
	}
}

// TestCutAtEveryOctet checks that exactly the bytes before the cut arrive.
func TestCutAtEveryOctet(t *testing.T) {
	data := octets(100)
	for at := range int64(100) {
		cfg := simtoe.Config{Seed: uint64(at), MaxSegment: 30, Split: true, CutAfter: at + 1}
		a, b := pair(t, cfg, cfg)
		if n, err := a.Write(data); int64(n) != min(at+1, 100) || (err == nil) != (n == 100) {
			t.Errorf("cut after %d: Write = %d, %v", at+1, n, err)
		}
		if got, err := io.ReadAll(b); !bytes.Equal(got, data[:at+1]) || err != nil {
			t.Errorf("cut after %d: read %d octets, %v", at+1, len(got), err)
		}
	}
}

// TestSilenceHidesClose checks that a peer at the end of a dead path does not see a close.
func TestSilenceHidesClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, simtoe.Config{CutAfter: 1, CutHow: simtoe.Silence}, simtoe.Config{})
		mustWrite(t, a, []byte("xyz"))
		a.Close()
		if n, err := b.Read(make([]byte, 8)); n != 1 || err != nil {
			t.Errorf("Read = %d, %v, want 1, nil", n, err)
		}
		mustWrite(t, b, []byte("are you there?"))
		b.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := b.Read(make([]byte, 8)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read = %v, want os.ErrDeadlineExceeded", err)
		}
	})
}

// TestLingerResets checks that Close after SetLinger(0) is a reset, which the peer sees after the
// bytes on their way.
func TestLingerResets(t *testing.T) {
	a, b := pair(t, simtoe.Config{}, simtoe.Config{})
	mustWrite(t, a, []byte("last"))
	if err := a.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if got, err := io.ReadAll(b); string(got) != "last" || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the peer reads %q, %v, want ECONNRESET behind the last octets", got, err)
	}
	if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the peer's Write = %v, want ECONNRESET", err)
	}
	if err := a.SetLinger(0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("SetLinger after Close = %v", err)
	}
}

// TestResetWakesWaiters checks that a reset wakes the waiting goroutines of both sides.
func TestResetWakesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := pair(t, simtoe.Config{CutAfter: 1, CutHow: simtoe.RST}, simtoe.Config{})
		errs := make(chan error, 2)
		go func() { _, err := a.Read(make([]byte, 1)); errs <- err }()
		synctest.Wait()
		mustWrite(t, a, []byte{1})
		if err := <-errs; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("Read = %v, want ECONNRESET", err)
		}

		a, b := pair(t, simtoe.Config{CutAfter: 1, CutHow: simtoe.RST}, simtoe.Config{Window: 1})
		go func() { errs <- toetest.WriteBatch(b, [][]byte{{1, 2}}) }()
		synctest.Wait()
		mustWrite(t, a, []byte{1})
		if err := <-errs; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("WriteBatch = %v, want ECONNRESET", err)
		}
	})
}
