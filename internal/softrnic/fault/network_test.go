package fault

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A half is an end in memory.
type half struct {
	*io.PipeReader
	*io.PipeWriter
}

func (h half) CloseWrite() error { return h.PipeWriter.Close() }
func (h half) Close() error      { return errors.Join(h.PipeReader.Close(), h.PipeWriter.Close()) }

// wire returns two connected ends.
func wire() (a, b half) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return half{r1, w2}, half{r2, w1}
}

// laid returns a path and the ends of the device and the peer.
func laid(t *testing.T, i *Injector) (p *path, device, peer half) {
	t.Helper()
	device, a := wire()
	peer, b := wire()
	p, err := i.lay(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return p, device, peer
}

// octets returns n random bytes.
func octets(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// TestPathCarries checks that the bytes of both directions, and their ends, arrive over a faulty
// network, and how long that takes.
func TestPathCarries(t *testing.T) {
	for _, tt := range []struct {
		spec     string
		n        int
		min, max time.Duration // for n bytes in each direction
	}{
		{"delay=0s,jitter=1ns", 100_000, 0, time.Microsecond},
		{"delay=5ms", 100_000, 5 * time.Millisecond, 5 * time.Millisecond},
		{"delay=5ms,jitter=2ms", 100_000, 5 * time.Millisecond, 7 * time.Millisecond},
		{"rate=8M", 1_000_000, time.Second, 1020 * time.Millisecond}, // each packet has a header of 9 bytes
		{"loss=30%", 1_000_000, 10 * time.Millisecond, time.Minute},
		{"loss=30%,delay=1ms,jitter=3ms,seed=2", 1_000_000, 16 * time.Millisecond, time.Minute},
	} {
		t.Run(tt.spec, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, device, peer := laid(t, injector(t, tt.spec))
				begin := time.Now()
				want := octets(tt.n)
				arrived := make(chan time.Duration, 2)
				for _, d := range [][2]half{{device, peer}, {peer, device}} {
					go func() {
						_, _ = d[0].Write(want)
						_ = d[0].CloseWrite()
					}()
					go func() {
						got, err := io.ReadAll(d[1])
						if err != nil || !bytes.Equal(got, want) {
							t.Errorf("%d bytes arrive, %v; equal: %t", len(got), err, bytes.Equal(got, want))
						}
						arrived <- time.Since(begin)
					}()
				}
				for range 2 {
					if took := <-arrived; took < tt.min || took > tt.max {
						t.Errorf("took %v, want %v to %v", took, tt.min, tt.max)
					}
				}
				<-p.done
			})
		})
	}
}

// TestPathRepeats checks that a connection behaves the same with the same seed, and that another
// connection does not.
func TestPathRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := func(i *Injector) (d time.Duration) {
			p, device, peer := laid(t, i)
			begin := time.Now()
			go func() {
				_, _ = device.Write(octets(100_000))
				_ = device.Close()
			}()
			_, _ = io.ReadAll(peer)
			d = time.Since(begin)
			_ = peer.Close()
			<-p.done
			return d
		}
		const spec = "delay=10ms,jitter=10ms"
		i, j := injector(t, spec), injector(t, spec)
		first, second := took(i), took(i)
		if again := took(j); again != first || second == first {
			t.Errorf("the first connection takes %v and %v, the second one %v", first, again, second)
		}
	})
}

// TestCut checks where a connection ends, and that both sides notice.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		spec string
		n    int // bytes that arrive, at most
		at   time.Duration
	}{
		{"cut@100KiB", 100 << 10, 0},
		{"cut@2s", 1 << 30, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, device, peer := laid(t, injector(t, tt.spec))
			begin := time.Now()
			written := make(chan struct{})
			go func() {
				defer close(written)
				for {
					if _, err := device.Write(make([]byte, 1000)); err != nil {
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			got, _ := io.ReadAll(peer)
			at := time.Since(begin)
			if len(got) > tt.n || len(got) == 0 || tt.at > 0 && at != tt.at {
				t.Errorf("%s: %d bytes, cut after %v", tt.spec, len(got), at)
			}
			if _, err := device.Read(make([]byte, 1)); err == nil {
				t.Errorf("%s: the device's side goes on", tt.spec)
			}
			<-written
			<-p.done
		})
	}
}

// TestCutAtOnce: several faults may cut a connection at the same time, before any byte has passed.
func TestCutAtOnce(t *testing.T) {
	for range 20 {
		p, device, peer := laid(t, injector(t, "cut@0s,cut@1ns,cut@0s"))
		if got, _ := io.ReadAll(peer); len(got) > 0 {
			t.Errorf("%d bytes come from nowhere", len(got))
		}
		if _, err := device.Read(make([]byte, 1)); err == nil {
			t.Error("the device's side goes on")
		}
		<-p.done
	}
}

// TestPathOfAClosedConnection checks that a path ends a minute after the device has closed its
// connection, although the peer never does.
func TestPathOfAClosedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, device, peer := laid(t, injector(t, "delay=1ms"))
		_ = device.Close()
		begin := time.Now()
		if _, err := io.ReadAll(peer); err != nil || time.Since(begin) != time.Millisecond {
			t.Errorf("the peer reads %v after %v", err, time.Since(begin))
		}
		<-p.done
		if took := time.Since(begin); took != time.Millisecond+finTime {
			t.Errorf("the path ends after %v", took)
		}
	})
}

// TestPathGivesUp checks that a connection ends if nothing gets through, whether the device has
// closed it or not: otherwise its path would stay until the process ends.
func TestPathGivesUp(t *testing.T) {
	for spec, want := range map[string]time.Duration{"loss=100%": maxTime, "loss=100%,delay=10s": (maxTries - 1) * (20*time.Second + 10*time.Millisecond)} {
		for _, closes := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				p, device, peer := laid(t, injector(t, spec))
				begin := time.Now()
				go func() {
					_, _ = device.Write(octets(1000))
					if closes {
						_ = device.Close()
					}
				}()
				select {
				case <-p.done:
				case <-time.After(time.Hour):
					p.end()
				}
				if took := time.Since(begin); took < want || took > want+time.Second {
					t.Errorf("%s, closed %t: the path ends after %v, want %v", spec, closes, took, want)
				}
				_, _ = device.Close(), peer.Close()
			})
		}
	}
}

// TestStreams checks connections over the kernel's TCP: their addresses, half-close and reset.
func TestStreams(t *testing.T) {
	i := injector(t, "cut@1MiB")
	n, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	checkStreams(t, i, i.Listener(n))
	if n, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if injector(t, "send=FATAL_ERR").Listener(n) != n {
		t.Error("a listener without faults of the network is another one")
	}
}

func checkStreams(t *testing.T, i *Injector, l net.Listener) {
	t.Helper()
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		s, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- s
	}()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	nc, err := d.DialContext(prototest.TimeLimit(t), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := i.Stream(nc.(*net.TCPConn))
	if err != nil {
		t.Fatal(err)
	}
	s := <-accepted
	defer c.Close()
	defer s.Close()
	if c.LocalAddr().String() != s.RemoteAddr().String() || c.RemoteAddr().String() != l.Addr().String() || c.LocalAddr().(*net.TCPAddr).IP.String() != "127.0.0.2" {
		t.Errorf("%v to %v; the other end: %v to %v", c.LocalAddr(), c.RemoteAddr(), s.LocalAddr(), s.RemoteAddr())
	}
	if _, err := c.Write([]byte("question")); err != nil || c.CloseWrite() != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(s); err != nil || string(got) != "question" {
		t.Fatalf("%q, %v", got, err)
	}
	go func() {
		for {
			if _, err := s.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}()
	if n, err := io.Copy(io.Discard, c); n > 1<<20 { // a reset may overtake all bytes
		t.Errorf("%d bytes, %v, want at most 1 MiB", n, err)
	}
}

// TestLink checks that datagrams cross a bad link: half of them get lost, and the others come from
// the port.
func TestLink(t *testing.T) {
	var u [2]*net.UDPConn
	for k := range u {
		var err error
		if u[k], err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
			t.Fatal(err)
		}
		defer u[k].Close()
	}
	l, err := injector(t, "loss=50%").Link(u[0])
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const sent = 100
	to := u[1].LocalAddr().(*net.UDPAddr).AddrPort()
	for range sent {
		l.Send([]byte("datagram"), netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
	}
	lost := int(l.near.Stats().Lost)
	if lost < sent/4 || lost > sent*3/4 { // the seed is fixed
		t.Errorf("%d of %d datagrams are lost", lost, sent)
	}
	b := make([]byte, 100)
	for range sent - lost {
		n, from, err := u[1].ReadFromUDPAddrPort(b)
		if err != nil || string(b[:n]) != "datagram" || from.Port() != u[0].LocalAddr().(*net.UDPAddr).AddrPort().Port() {
			t.Fatalf("%q from %v, %v", b[:n], from, err)
		}
	}
}
