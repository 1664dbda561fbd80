package hostile

import (
	"bytes"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
)

// TestRevokeOverLoopback revokes Regions while their peers write to them, on four connections, in
// FPDUs of 64 KiB as fast as TCP takes them. After Deregister has returned, no octet changes,
// neither at once nor a millisecond later. The peer continues to write, so its connection ends. The
// test prints how long Deregister takes: it waits for the current copy.
//
// "An RNIC MUST ensure that network packets using the STag for a previously Advertised Buffer can
// no longer modify the buffer after the ULP revokes remote access rights" (RFC 5042 §6.2.2)
//
// SEC-5042-6.2.2-2
func TestRevokeOverLoopback(t *testing.T) {
	random := seeded(t)
	rounds := testmode.Count(250, 20)
	var mu sync.Mutex
	var took []time.Duration
	var inUse atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		rnd := rand.New(rand.NewPCG(random.Uint64(), 0))
		wg.Go(func() {
			for range rounds {
				d, used, err := revokeOnce(t, time.Duration(rnd.IntN(500))*time.Microsecond)
				if err != nil {
					t.Error(err)
					return
				}
				if used {
					inUse.Add(1)
				}
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(took) == 0 {
		t.Fatal("nothing was revoked")
	}
	slices.Sort(took)
	t.Logf("%d Regions revoked, %d of them while they were written: 0 octets changed; Deregister took %v in the median, %v at p99, %v at most",
		len(took), inUse.Load(), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	if inUse.Load() < int64(len(took)) {
		t.Error("the Regions were not in use")
	}
	if p99 := took[len(took)*99/100]; testmode.Full && !testmode.Race && p99 > 10*time.Millisecond {
		t.Errorf("Deregister took %v at p99", p99)
	}
}

// revokeOnce revokes one Region after the time after. It returns how long that took and whether the
// Region had been written before.
func revokeOnce(t *testing.T, after time.Duration) (took time.Duration, used bool, err error) {
	ci, cr := pair(t, extsock.Config{}, extsock.Config{BadSTagDelay: -1})
	defer cr.Close()
	defer ci.Close()
	cr.SetLinger(0)
	ci.SetLinger(0)
	memory := make([]byte, 64<<10)
	r, err := cr.Register(memory, ddp.RemoteWrite)
	if err != nil {
		return 0, false, err
	}
	h := r.Handle()
	written := make(chan error, 1)
	go func() { written <- writeOn(ci, h) }()
	for end := time.Now().Add(time.Minute); cr.Stats().Received.Octets < 1<<20 && time.Now().Before(end); {
		time.Sleep(20 * time.Microsecond)
	}
	time.Sleep(after)
	begin := time.Now()
	r.Deregister()
	took = time.Since(begin)
	sum := crc32.ChecksumIEEE(memory)
	used = !bytes.Equal(memory[:8], make([]byte, 8))
	if again := crc32.ChecksumIEEE(memory); again != sum {
		return took, used, errors.New("memory changes when Deregister has returned")
	}
	time.Sleep(time.Millisecond)
	if again := crc32.ChecksumIEEE(memory); again != sum {
		return took, used, errors.New("memory changes a millisecond after Deregister has returned")
	}
	return took, used, <-written
}

// writeOn writes all of h repeatedly, each time with other octets, until the peer ends the
// connection.
func writeOn(c *extsock.Conn, h rdmap.Handle) error {
	p := make([]byte, h.Len)
	c.SetWriteDeadline(time.Now().Add(time.Minute))
	for i := byte(1); ; i++ {
		for at := 0; at < len(p); at += 512 {
			p[at] = i | 1
		}
		_, err := c.Remote(h).WriteAt(p, 0)
		var terminated *rdmap.TerminateError
		switch {
		case err == nil:
		case errors.As(err, &terminated), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
			return nil
		default:
			return err
		}
	}
}
