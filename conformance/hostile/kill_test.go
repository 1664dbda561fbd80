package hostile

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
)

// addressEnv tells a peer process where to dial.
const addressEnv = "RDDP_HOSTILE_ADDRESS"

func init() { roles["doomed"] = doomed }

// doomed is a peer that works until it is killed. It has a byte stream in both directions, lends
// its own memory, and uses the peer's.
func doomed() error {
	go orphaned()
	c, err := extsock.Dial("tcp", os.Getenv(addressEnv), &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		return err
	}
	r, err := c.Register(make([]byte, doomedMemory), ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic)
	if err != nil {
		return err
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return err
	}
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return err
	}
	go io.Copy(io.Discard, c)
	go work(c, h)
	for p := make([]byte, 100_000); ; {
		if _, err := c.Write(p[:1+time.Now().UnixNano()%int64(len(p))]); err != nil {
			return err
		}
	}
}

const doomedMemory = 64 << 10

// work uses the peer's memory until that fails.
func work(c *extsock.Conn, h rdmap.Handle) error {
	m, p := c.Remote(h), make([]byte, doomedMemory)
	for {
		if _, err := m.WriteAt(p, 0); err != nil {
			return err
		}
		if _, err := m.ReadAt(p, 0); err != nil {
			return err
		}
		if _, err := m.FetchAdd(context.Background(), 0, 1); err != nil {
			return err
		}
	}
}

// TestPeerIsKilled kills the peer process with SIGKILL at a random moment: every call of the
// survivor returns within a second with an error other than an orderly end, and nothing is left.
func TestPeerIsKilled(t *testing.T) {
	random := seeded(t)
	kills := testmode.Count(100, 5)
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire, CloseTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	startChild(t, "none").cmd.Process.Kill() // start everything that a process starts once
	goroutines := runtime.NumGoroutine()
	slowest, late := time.Duration(0), 0
	soon := time.Second
	if !testmode.Full { // the machine may be busy for longer than that, but not for as long as survive waits
		soon = 30 * time.Second
	}
	kinds := map[string]int{}
	for range kills {
		peer := startChild(t, "doomed", addressEnv+"="+l.Addr().String())
		nc, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := nc.(*extsock.Conn)
		after := time.Duration(random.Int64N(int64(20 * time.Millisecond)))
		killed := make(chan time.Time, 1)
		time.AfterFunc(after, func() {
			now := time.Now()
			peer.cmd.Process.Kill()
			killed <- now
		})
		errs := survive(c)
		elapsed := time.Since(<-killed)
		slowest = max(slowest, elapsed)
		if elapsed > soon {
			late++
			t.Logf("killed after %v: the calls returned after %v", after, elapsed)
		}
		for i, err := range errs {
			kinds[kindOf(err)]++
			// TCP's end between two FPDUs is an orderly end for Post, which is below the byte
			// stream, but not for the other calls.
			if err == nil || !isTyped(err) || i < 3 && err == io.EOF {
				t.Errorf("killed after %v, call %d: %v", after, i, err)
			}
		}
		c.Close()
		peer.cmd.Wait()
		peer.out.Discard(peer.out.Buffered())
	}
	settled(t, goroutines)
	t.Logf("%d kills, the survivor's calls returned after %v at most; the errors: %v", kills, slowest, kinds)
	if late > kills/50 { // a busy machine causes a few
		t.Errorf("%d survivors were told late", late)
	}
}

// survive runs all kinds of operations at once over c and returns their errors.
func survive(c *extsock.Conn) []error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c.SetDeadline(time.Now().Add(time.Minute))
	if err := c.Handshake(ctx); err != nil {
		return []error{err}
	}
	r, err := c.Register(make([]byte, doomedMemory), ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic)
	if err != nil {
		return []error{err}
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return []error{err}
	}
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return []error{err}
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return []error{err}
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	wg.Go(func() {
		for p := make([]byte, 30_000); errs[0] == nil; {
			_, errs[0] = c.Read(p)
		}
	})
	wg.Go(func() {
		for p := make([]byte, 30_000); errs[1] == nil; {
			_, errs[1] = c.Write(p)
		}
	})
	wg.Go(func() { errs[2] = work(c, h) })
	wg.Go(func() {
		for errs[3] == nil {
			if errs[3] = c.Post(&rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, 1000), Remote: h}); errs[3] != nil {
				break
			}
			var d rdmap.Completion
			if d, errs[3] = c.SendCQ().Wait(ctx); errs[3] == nil {
				errs[3] = d.Err
			}
		}
	})
	wg.Wait()
	if errors.Is(errs[1], net.ErrClosed) {
		errs[1] = errors.New("closed by nobody: " + errs[1].Error())
	}
	return errs
}
