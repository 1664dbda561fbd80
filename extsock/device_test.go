package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/testkit/devicetest"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/rnic"
)

// deviceConfig returns the Config of a connection on b.
func deviceConfig(b toe.Backend) extsock.Config {
	return extsock.Config{Startup: extsock.StartupRequire, Backend: b, RecvDepth: 8, RecvSize: 4096}
}

// devicePair returns the two ends of a connection on b.
func devicePair(t testing.TB, b *devicetest.Backend) (client, server *extsock.Conn) {
	t.Helper()
	cfg := deviceConfig(b)
	return deviceEnds(t, &cfg, &cfg)
}

func deviceEnds(t testing.TB, listens, dials *extsock.Config) (client, server *extsock.Conn) {
	t.Helper()
	l, err := extsock.Listen("tcp", "here:1", listens)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = extsock.Dial("tcp", "here:1", dials); err != nil {
		t.Fatal(err)
	}
	if server, err = l.AcceptDDP(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// eachKind runs f on either kind of device.
func eachKind(t *testing.T, f func(t *testing.T, b *devicetest.Backend)) {
	for _, rnic := range []bool{false, true} {
		t.Run(map[bool]string{false: "channel adapter", true: "RNIC"}[rnic], func(t *testing.T) {
			bubble(t, func(t *testing.T) { f(t, &devicetest.Backend{RNIC: rnic}) })
		})
	}
}

// TestDeviceMessages: in message mode each Write is a message, and a peer that is not rddp sees
// nothing else.
func TestDeviceMessages(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		t.Run(map[bool]string{false: "rddp", true: "foreign"}[foreign], func(t *testing.T) {
			eachKind(t, func(t *testing.T, b *devicetest.Backend) {
				listens, dials := deviceConfig(b), deviceConfig(b)
				listens.Messages, dials.Messages, dials.NoCapabilities = !foreign, true, foreign
				client, server := deviceEnds(t, &listens, &dials)
				for _, c := range []*extsock.Conn{client, server} {
					if s := c.ConnectionState(); s.ByteStream || s.PeerIsRDDP == foreign || s.Device == "" {
						t.Errorf("state %+v", s)
					}
				}
				for i, way := range [][2]*extsock.Conn{{client, server}, {server, client}} {
					want := []string{"one", "", strings.Repeat("x", 4096)}
					for _, m := range want {
						if n, err := io.WriteString(way[0], m); n != len(m) || err != nil {
							t.Fatalf("way %d: Write = %d, %v", i, n, err)
						}
					}
					p := make([]byte, 5000)
					for _, m := range want {
						if i == 1 {
							if n, err := way[1].Read(p); string(p[:n]) != m || err != nil {
								t.Fatalf("Read = %d bytes, %v, want %d", n, err, len(m))
							}
							continue
						}
						if n, c, err := way[1].ReadMessage(p); string(p[:n]) != m || int(c.Len) != len(m) || err != nil {
							t.Fatalf("way %d: ReadMessage = %d bytes, %v, %v, want %d", i, n, c, err, len(m))
						}
					}
				}
				if _, err := client.Write(make([]byte, 4097)); !errors.Is(err, syscall.EMSGSIZE) {
					t.Errorf("Write of a message that is too long = %v", err)
				}
				if err := client.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("CloseWrite = %v", err)
				}
				io.WriteString(client, "a message in two Reads")
				client.Close()
				if got, err := io.ReadAll(iotest.OneByteReader(server)); string(got) != "a message in two Reads" || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			})
		})
	}
}

// TestDeviceNettest runs nettest, the Go project's test of net.Conn, on connections on a device.
func TestDeviceNettest(t *testing.T) {
	for _, rnic := range []bool{false, true} {
		t.Run(map[bool]string{false: "channel adapter", true: "RNIC"}[rnic], func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				client, server := devicePair(t, &devicetest.Backend{RNIC: rnic})
				return client, server, func() { client.Close(); server.Close() }, nil
			})
		})
	}
}

// TestDeviceState: both ends know that they are on a device, and have the peer's private data.
func TestDeviceState(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		before := extsock.TotalStats().OnDevice
		client, server := devicePair(t, b)
		for _, c := range []*extsock.Conn{client, server} {
			s := c.ConnectionState()
			if s.Device != "test0" || s.NoDevice != nil || !s.DDPMode || !s.ByteStream || !s.PeerIsRDDP {
				t.Errorf("state %+v", s)
			}
		}
		if n := extsock.TotalStats().OnDevice - before; n != 2 {
			t.Errorf("%d connections are counted on a device, want 2", n)
		}
	})
}

// TestDeviceClose: Close sends what was written, and its end. All memory is given back.
func TestDeviceClose(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, server := devicePair(t, b)
		sent := bytes.Repeat([]byte("0123456789"), 10_000)
		go func() {
			client.Write(sent)
			client.Close()
		}()
		got, err := io.ReadAll(server)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d of %d bytes, %v", len(got), len(sent), err)
		}
		if _, err := client.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write after Close = %v", err)
		}
		server.Close()
		for _, c := range []*extsock.Conn{client, server} {
			if err := c.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if n := b.Regions(); n != 0 {
			t.Errorf("%d regions are left", n)
		}
	})
}

// TestDeviceHalfClose: after the end of one direction, the other direction goes on.
func TestDeviceHalfClose(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, server := devicePair(t, b)
		if err := client.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if n, err := server.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("Read = %d, %v", n, err)
		}
		if _, err := client.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Write after CloseWrite = %v", err)
		}
		answer := strings.Repeat("answer", 20_000)
		go func() {
			io.WriteString(server, answer)
			server.Close()
		}()
		if got, err := io.ReadAll(client); string(got) != answer || err != nil {
			t.Errorf("%d bytes of the answer, %v", len(got), err)
		}
	})
}

// TestDeviceCloseLosesData: after a Close with unread data, the peer sees no orderly end.
func TestDeviceCloseLosesData(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, server := devicePair(t, b)
		if _, err := client.Write([]byte("unread")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		server.Close()
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("Read = %v, want ECONNRESET", err)
		}
	})
}

// TestDeviceCloseBeforeWrite: in message mode, a Write of the accepting end waits until the peer
// has sent something. Close of that end does not wait for the Write, which fails.
func TestDeviceCloseBeforeWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := deviceConfig(&devicetest.Backend{RNIC: true})
		cfg.Messages = true
		client, server := deviceEnds(t, &cfg, &cfg)
		written := make(chan error, 1)
		go func() {
			n, err := server.Write([]byte("not first"))
			if n != 0 {
				t.Errorf("Write = %d", n)
			}
			written <- err
		}()
		synctest.Wait()
		if err := server.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if err := <-written; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write = %v, want net.ErrClosed", err)
		}
		if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("Read = %d, %v, want io.EOF", n, err)
		}
	})
}

// TestDeviceWriteDeadline: a Write that waits for credits returns what goes out, and the rest can
// be written later.
func TestDeviceWriteDeadline(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, server := devicePair(t, b)
		if err := client.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		sent := bytes.Repeat([]byte("0123456789"), 10_000)
		n, err := client.Write(sent)
		if !errors.Is(err, os.ErrDeadlineExceeded) || n <= 0 || n >= len(sent) {
			t.Fatalf("Write = %d, %v", n, err)
		}
		if err := client.SetWriteDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		go func() {
			client.Write(sent[n:])
			client.Close()
		}()
		if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d of %d bytes, %v", len(got), len(sent), err)
		}
	})
}

// TestDeviceOneSided: the peer's memory is written, read and counted in without its program.
func TestDeviceOneSided(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, server := devicePair(t, b)
		access := ddp.RemoteRead | ddp.RemoteWrite
		if !b.RNIC {
			access |= ddp.RemoteAtomic
		}
		memory, err := extsock.NewMemory(b, 200_000, access)
		if err != nil {
			t.Fatal(err)
		}
		r, err := memory.Share(server)
		if err != nil {
			t.Fatal(err)
		}
		remote := client.Remote(r.Handle())
		sent := bytes.Repeat([]byte("0123456789"), 19_999)
		if n, err := remote.WriteAt(sent, 10); n != len(sent) || err != nil {
			t.Fatalf("WriteAt = %d, %v", n, err)
		}
		if !bytes.Equal(memory.Bytes()[10:], sent) {
			t.Error("what was written is not there")
		}
		got := make([]byte, len(sent)+1)
		if n, err := remote.ReadAt(got, 10); n != len(sent) || err != io.EOF || !bytes.Equal(got[:n], sent) {
			t.Errorf("ReadAt = %d, %v, or other bytes", n, err)
		}
		old, err := remote.FetchAdd(t.Context(), 0, 5)
		if b.RNIC {
			if u := (*rnic.UnavailableError)(nil); err == nil || errors.As(err, &u) {
				t.Errorf("FetchAdd on an RNIC = %v", err)
			}
		} else if now, err2 := remote.CompareAndSwap(t.Context(), 0, 5, 7); err != nil || err2 != nil || old != 0 || now != 5 || memory.Bytes()[0]+memory.Bytes()[7] != 7 {
			t.Errorf("FetchAdd = %d, %v; CompareAndSwap = %d, %v", old, err, now, err2)
		}
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestShareAfterClose: memory that has been given back cannot be shared, on a device or not.
func TestShareAfterClose(t *testing.T) {
	share := func(t *testing.T, b toe.Backend, c *extsock.Conn) {
		m, err := extsock.NewMemory(b, 8, ddp.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := m.Share(c); !errors.Is(err, net.ErrClosed) || r != (extsock.Region{}) {
			t.Errorf("Share after Close = %v, %v", r, err)
		}
	}
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		_, server := devicePair(t, b)
		share(t, b, server)
	})
	c, _ := tcpPair(t, side{}, side{})
	share(t, nil, c)
}

// TestDeviceRefusesMemory: a device cannot reach memory of Go's heap, and the error says so.
func TestDeviceRefusesMemory(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, server := devicePair(t, b)
		if _, err := client.Register(make([]byte, 8), ddp.RemoteRead); !errors.Is(err, extsock.ErrMemory) {
			t.Errorf("Register = %v, want ErrMemory", err)
		}
		heap, err := extsock.NewMemory(nil, 8, ddp.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := heap.Share(server); !errors.Is(err, extsock.ErrMemory) {
			t.Errorf("Share of memory on the heap = %v, want ErrMemory", err)
		}
		b.NoMemory = true
		m, err := extsock.NewMemory(b, 8, ddp.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		var u *rnic.UnavailableError
		if _, err := m.Share(server); !errors.As(err, &u) || u.Reason != rnic.NoResources {
			t.Errorf("Share of memory that the device refused = %v, want NoResources", err)
		}
		if _, err := client.Write([]byte("still there")); err != nil {
			t.Error(err)
		}
		if n, err := server.Read(make([]byte, 20)); n != 11 || err != nil {
			t.Errorf("Read = %d, %v", n, err)
		}
	})
}

// TestDeviceBadRemote: an operation on memory that the peer has not shared ends the connection.
func TestDeviceBadRemote(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, server := devicePair(t, b)
		if _, err := client.Remote(rdmap.Handle{STag: 99, Len: 8}).ReadAt(make([]byte, 8), 0); err == nil {
			t.Error("no error of an operation without memory")
		}
		for _, c := range []*extsock.Conn{client, server} {
			if _, err := c.Read(make([]byte, 1)); err == nil || err == io.EOF {
				t.Errorf("Read = %v", err)
			}
		}
	})
}

// TestWithoutDevice: a connection that cannot run on the device runs in this process. The reason
// has a type, and is counted for each connection.
func TestWithoutDevice(t *testing.T) {
	unavailable := func(r rnic.Unavailability) error {
		return &rnic.UnavailableError{Reason: r, Err: errors.New("of the test")}
	}
	for _, tt := range []struct {
		desc    string
		backend *devicetest.Backend
		change  func(*extsock.Config)
		want    rnic.Unavailability
	}{
		{"no device", &devicetest.Backend{Err: unavailable(rnic.NoDevice)}, func(*extsock.Config) {}, rnic.NoDevice},
		{"no permission", &devicetest.Backend{Err: unavailable(rnic.NoPermission)}, func(*extsock.Config) {}, rnic.NoPermission},
		{"Markers", &devicetest.Backend{}, func(c *extsock.Config) { c.Markers = true }, rnic.NotSupported},
		{"Startup", &devicetest.Backend{}, func(c *extsock.Config) { c.Startup = extsock.StartupOff }, rnic.NotSupported},
		{"private data", &devicetest.Backend{}, func(c *extsock.Config) { c.PrivateData = make([]byte, 200) }, rnic.NotSupported},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			tt.backend.Backend = &kernel.Backend{}
			cfg := deviceConfig(tt.backend)
			tt.change(&cfg)
			before := extsock.TotalStats().InProcess[tt.want.String()]
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			accepted := make(chan *extsock.Conn, 1)
			go func() {
				c, _ := l.AcceptDDP()
				accepted <- c
			}()
			client, err := (&extsock.Dialer{Config: &cfg}).DialDDP(context.Background(), "tcp", l.Addr().String())
			if tt.desc == "Startup" { // DialDDP means StartupRequire, and no program listens on the device
				if err == nil {
					t.Error("a connection with nobody")
				}
				plain := extsock.Config{Startup: extsock.StartupRequire}
				client, err = extsock.Dial("tcp", l.Addr().String(), &plain)
			}
			if err != nil {
				t.Fatal(err)
			}
			server := <-accepted
			defer func() { client.Close(); server.Close() }()
			for _, c := range []*extsock.Conn{client, server} {
				var u *rnic.UnavailableError
				s := c.ConnectionState()
				if tt.desc == "Startup" && c == client {
					continue
				}
				if !errors.As(s.NoDevice, &u) || u.Reason != tt.want || s.Device != "" || !s.DDPMode {
					t.Errorf("state %+v, want the reason %v", s, tt.want)
				}
			}
			if n := extsock.TotalStats().InProcess[tt.want.String()] - before; n == 0 {
				t.Error("the reason is not counted")
			}
			if _, err := client.Write([]byte("hello")); err != nil {
				t.Error(err)
			}
			if n, err := server.Read(make([]byte, 20)); n != 5 || err != nil {
				t.Errorf("Read = %d, %v", n, err)
			}
		})
	}
}

// TestDeviceRejected: a program gets the private data of the program that has rejected it, as in
// process, without the capability record.
func TestDeviceRejected(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		cfg := deviceConfig(b)
		says := [][]byte{[]byte("not today")}
		if b.RNIC { // in-process ends send the record, and only RNICs meet them
			says = append(says, startup.Capabilities{ByteStream: true}.WithPrivateData(says[0]))
		}
		for _, b.Rejection = range says {
			_, err := extsock.Dial("tcp", "here:1", &cfg)
			var r *mpa.RejectError
			if !errors.As(err, &r) || string(bytes.TrimRight(r.PrivateData, "\x00")) != "not today" || !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("Dial = %v", err)
			}
		}
		if n := b.Regions(); n != 0 {
			t.Errorf("%d regions are left", n)
		}
	})
}

// TestDeviceNames: Dial tries all addresses of a name, each for its share of the time. If none
// answers, the error is that of the first.
func TestDeviceNames(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		b.Names = map[string][]string{"late:1": {"nobody:1", "silent:1", "here:1"}, "none:1": {"nobody:1", "silent:1"}}
		dev, err := b.Device()
		if err != nil {
			t.Fatal(err)
		}
		silent, err := dev.Listen(t.Context(), "tcp", "silent:1")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		cfg := deviceConfig(b)
		l, err := extsock.Listen("tcp", "here:1", &cfg)
		if err != nil {
			t.Fatal(err)
		}
		c, err := extsock.Dial("tcp", "late:1", &cfg)
		if err != nil {
			t.Fatal(err)
		}
		if at := c.RemoteAddr().String(); at != "here:1" {
			t.Errorf("connected with %s", at)
		}
		if err := errors.Join(l.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if _, err := extsock.Dial("tcp", "none:1", &cfg); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial = %v, want the first error", err)
		}
	})
}

// TestDeviceRejectedPrefer: a peer that rejects has answered, so a connection that prefers DDP mode
// does not try TCP, where the program would see another error. It does try TCP if no peer answers.
func TestDeviceRejectedPrefer(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		cfg := deviceConfig(b)
		cfg.Startup = extsock.StartupPrefer
		b.Backend = noTCP{}
		b.Rejection = []byte("not today")
		_, err := extsock.Dial("tcp", "here:1", &cfg)
		if r := (*mpa.RejectError)(nil); !errors.As(err, &r) {
			t.Errorf("Dial = %v, want the rejection", err)
		}
		b.Rejection = nil
		if _, err := extsock.Dial("tcp", "here:1", &cfg); !errors.Is(err, errNoTCP) {
			t.Errorf("Dial = %v, want that of the TCP in the process", err)
		}
	})
}

// noTCP is a TCP that reaches no peer.
type noTCP struct{ toe.Backend }

var errNoTCP = errors.New("no TCP in this test")

func (noTCP) Dial(context.Context, string, string) (toe.Stream, error) { return nil, errNoTCP }

// TestDeviceNoPort: Dial tries again when rdma_cm has no port for it, but not forever, nor after
// its context is done.
func TestDeviceNoPort(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		ctx, cancel := context.WithCancel(t.Context())
		dials := 0
		b.Dialing = func() error {
			if dials++; dials == 3 {
				cancel()
			}
			if dials > 3 {
				return syscall.ECONNABORTED // ends Dial in any case
			}
			return syscall.EADDRNOTAVAIL
		}
		cfg := deviceConfig(b)
		d := extsock.Dialer{Config: &cfg}
		if _, err := d.DialContext(ctx, "tcp", "here:1"); dials != 3 || !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("Dial = %v after %d tries, want 3", err, dials)
		}
		dials = 0
		b.Dialing = func() error {
			if dials++; dials > 1000 {
				return syscall.ECONNABORTED
			}
			return syscall.EADDRNOTAVAIL
		}
		if _, err := d.DialContext(t.Context(), "tcp", "here:1"); dials != 64 || !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("Dial = %v after %d tries, want 64", err, dials)
		}
	})
}

// TestDeviceListenerClose: connections that wait for Accept end, and Accept returns.
func TestDeviceListenerClose(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		cfg := deviceConfig(b)
		l, err := extsock.Listen("tcp", "here:1", &cfg)
		if err != nil {
			t.Fatal(err)
		}
		client, err := extsock.Dial("tcp", "here:1", &cfg)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept = %v", err)
		}
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("Read = %v, want ECONNRESET", err)
		}
		client.Close()
		if err := errors.Join(client.Wait(t.Context()), l.Wait(t.Context())); err != nil {
			t.Error(err)
		}
		if n := b.Regions(); n != 0 {
			t.Errorf("%d regions are left", n)
		}
		if _, err := extsock.Dial("tcp", "here:1", &cfg); err == nil {
			t.Error("a connection with nobody")
		}
	})
}

// TestDeviceAcceptDeadline: Accept obeys its deadline.
func TestDeviceAcceptDeadline(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		cfg := deviceConfig(b)
		l, err := extsock.Listen("tcp", "here:1", &cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := l.SetDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Accept = %v", err)
		}
	})
}

// TestDeviceConnections: many connections through one Listener.
func TestDeviceConnections(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		cfg := deviceConfig(b)
		l, err := extsock.Listen("tcp", "here:1", &cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					io.Copy(c, c)
					c.Close()
				}()
			}
		}()
		for i := range 50 {
			c, err := extsock.Dial("tcp", "here:1", &cfg)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprint("hello ", i)
			io.WriteString(c, want)
			c.CloseWrite()
			if got, err := io.ReadAll(c); string(got) != want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
			c.Close()
		}
	})
}
