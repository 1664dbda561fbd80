package badlink_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/toe/badlink"
)

// joined makes a link between two devices in memory. Packets that the test writes to near go
// through the link and can be read from far, and vice versa.
func joined(t *testing.T, ctx context.Context, cfg badlink.Config) (near, far *badlink.End, j *badlink.Joint) {
	t.Helper()
	near, x := pipe(t, badlink.Config{})
	y, far := pipe(t, badlink.Config{})
	j, err := badlink.Join(ctx, x, y, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return near, far, j
}

// TestJoin: packets pass in both directions, with the faults of each.
func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, delay = 1000, time.Second
		near, far, j := joined(t, t.Context(), badlink.Config{Seed: 7,
			AB: badlink.Faults{Loss: 0.1, Duplicate: 0.1, Delay: delay, Queue: 2 * n}, BA: badlink.Faults{Queue: n}})
		for i := range n {
			near.Write(numbered(i, 100))
			far.Write(numbered(i, 200))
		}
		time.Sleep(delay)
		synctest.Wait()
		ab, ba := j.Stats()
		balance(t, ab)
		balance(t, ba)
		if ab.In != n || ab.Out != n-ab.Lost+ab.Duplicated || ab.Lost < n/20 || ab.Duplicated < n/20 || ab.InBytes != n*100 {
			t.Errorf("there: %+v", ab)
		}
		if ba.In != n || ba.Out != n || ba.OutBytes != n*200 {
			t.Errorf("back: %+v", ba)
		}
		p := make([]byte, 1500)
		for i := range n {
			if m, err := near.Read(p); err != nil || !bytes.Equal(p[:m], numbered(i, 200)) {
				t.Fatalf("packet %d came back as %x, %v", i, p[:m], err)
			}
		}
		if err := j.SetFaults(badlink.Faults{Loss: 1}, badlink.Faults{Loss: 1}); err != nil {
			t.Error(err)
		}
		near.Write(numbered(0, 100))
		far.Write(numbered(0, 100))
		synctest.Wait()
		ab2, ba2 := j.Stats()
		if ab2.Lost != ab.Lost+1 || ba2.Lost != 1 {
			t.Errorf("after SetFaults: %+v, %+v", ab2, ba2)
		}
		var c *badlink.ConfigError
		if err := j.SetFaults(badlink.Faults{}, badlink.Faults{Loss: 2}); !errors.As(err, &c) || c.Field != "BA.Loss" {
			t.Errorf("SetFaults returned %v", err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestJoinClose: Close, and the end of the context, close both devices.
func TestJoinClose(t *testing.T) {
	for _, test := range []struct {
		desc string
		end  func(near *badlink.End, j *badlink.Joint, cancel context.CancelFunc)
	}{
		{"Close", func(_ *badlink.End, j *badlink.Joint, _ context.CancelFunc) { j.Close() }},
		{"context", func(_ *badlink.End, _ *badlink.Joint, cancel context.CancelFunc) { cancel() }},
		{"the end of a device", func(near *badlink.End, _ *badlink.Joint, _ context.CancelFunc) { near.Close() }},
	} {
		t.Run(test.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				near, far, j := joined(t, ctx, badlink.Config{})
				synctest.Wait()
				test.end(near, j, cancel)
				if _, err := far.Read(make([]byte, 1500)); !errors.Is(err, io.EOF) {
					t.Errorf("Read behind the link returned %v, want %v", err, io.EOF)
				}
				if err := j.Close(); err != nil {
					t.Errorf("Close returned %v", err)
				}
				if err := j.Close(); err != nil {
					t.Errorf("the second Close returned %v", err)
				}
			})
		})
	}
}

// A brokenDevice fails its Reads with readErr after the channel broken is closed, and its Writes
// with writeErr.
type brokenDevice struct {
	*badlink.End
	broken            chan struct{}
	readErr, writeErr error
}

func (d *brokenDevice) Read([]byte) (int, error) {
	<-d.broken
	return 0, d.readErr
}

func (d *brokenDevice) Write([]byte) (int, error) { return 0, d.writeErr }

func (d *brokenDevice) Close() error {
	select {
	case <-d.broken:
	default:
		d.readErr = net.ErrClosed
		close(d.broken)
	}
	return d.End.Close()
}

// TestJoinBrokenDevice: a Read that fails ends the link, and Close returns its error. A Write that
// fails costs a packet.
func TestJoinBrokenDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		near, x := pipe(t, badlink.Config{})
		y, _ := pipe(t, badlink.Config{})
		d := &brokenDevice{End: y, broken: make(chan struct{}), readErr: broken, writeErr: errors.New("no")}
		j, err := badlink.Join(t.Context(), x, d, badlink.Config{})
		if err != nil {
			t.Fatal(err)
		}
		near.Write(numbered(0, 60))
		near.Write(numbered(1, 60))
		synctest.Wait()
		if ab, _ := j.Stats(); ab.Out != 2 || ab.Refused != 2 {
			t.Errorf("%+v, want that 2 packets were refused", ab)
		}
		close(d.broken)
		if _, err := near.Read(make([]byte, 1500)); !errors.Is(err, io.EOF) {
			t.Errorf("Read at the other device returned %v, want %v", err, io.EOF)
		}
		if err := j.Close(); !errors.Is(err, broken) {
			t.Errorf("Close returned %v, want %v", err, broken)
		}
	})
}

// TestJoinMTU: the link has the larger MTU of the two devices, or that of its Config, and counts
// longer packets.
func TestJoinMTU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, mtu := range []int{0, 1000} {
			near, x := pipe(t, badlink.Config{MTU: 2000})
			y, far := pipe(t, badlink.Config{MTU: 2000})
			j, err := badlink.Join(t.Context(), x, y, badlink.Config{MTU: mtu})
			if err != nil {
				t.Fatal(err)
			}
			near.Write(numbered(0, 2000))
			near.Write(numbered(1, 1000))
			synctest.Wait()
			ab, _ := j.Stats()
			balance(t, ab)
			p := make([]byte, 2000)
			if n, err := far.Read(p); err != nil || number(p[:n]) != mtu/1000 || ab.TooLong != uint64(mtu/1000) {
				t.Errorf("MTU %d: read packet %d, %v: %+v", mtu, number(p[:n]), err, ab)
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestJoinErrors: if Join fails, the devices stay open.
func TestJoinErrors(t *testing.T) {
	near, x := pipe(t, badlink.Config{})
	y, _ := pipe(t, badlink.Config{})
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if j, err := badlink.Join(done, x, y, badlink.Config{}); j != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Join returned %v, %v, want %v", j, err, context.Canceled)
	}
	var c *badlink.ConfigError
	if j, err := badlink.Join(t.Context(), x, y, badlink.Config{AB: badlink.Faults{Loss: 2}}); j != nil || !errors.As(err, &c) {
		t.Errorf("Join returned %v, %v, want a ConfigError", j, err)
	}
	near.Write(numbered(0, 60))
	if n, err := x.Read(make([]byte, 100)); n != 60 || err != nil {
		t.Errorf("Read returned %d, %v", n, err)
	}
}
