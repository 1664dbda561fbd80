package filecopy

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe/simtoe"
)

// A source that changes during the copy is reported, and no file gets its name.
func TestSourceChanges(t *testing.T) {
	const size = 3 << 20
	tests := []struct {
		desc   string
		change func(f string) error
		want   error
	}{
		{"grows", func(f string) error { return os.WriteFile(f, content(size+1, 1), 0o640) }, ErrChanged},
		{"shrinks", func(f string) error { return os.Truncate(f, 100) }, ErrChanged},
		{"is touched", func(f string) error { return os.Chtimes(f, time.Now(), time.Now()) }, ErrChanged},
		{"is removed", os.Remove, nil}, // what is open stays whole
	}
	for _, way := range ways {
		for _, tt := range tests {
			t.Run(way.desc+"/"+tt.desc, func(t *testing.T) {
				v, here := serve(t, nil), t.TempDir()
				from, to, src, dst := side(v, way.up, here)
				put(t, filepath.Join(from, "f"), content(size, 1))
				changed := false
				o := cp(t, Config{Progress: func(p Progress) {
					if changed || p.Octets == 0 {
						return
					}
					changed = true
					if err := tt.change(filepath.Join(from, "f")); err != nil {
						t.Error(err)
					}
				}}, dst, src)
				if tt.want == nil {
					if o.err != nil {
						t.Errorf("Copy: %v", o.failures)
					}
					wantFile(t, filepath.Join(to, "f"), content(size, 1))
					return
				}
				o.wantFailure(t, tt.want)
				if _, err := os.Stat(filepath.Join(to, "f")); err == nil {
					t.Error("a file is there")
				}
			})
		}
	}
}

// Two copies to one name are not mixed: the second is refused while the first is in progress.
func TestBusy(t *testing.T) {
	const size = 2 << 20
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v, here := serve(t, nil), t.TempDir()
			from, to, src, dst := side(v, way.up, here)
			put(t, filepath.Join(from, "f"), content(size, 1))
			second := outcome{}
			mustCopy(t, Config{Progress: func(p Progress) {
				if second.err == nil && p.Octets > 0 && p.Octets < size {
					second = cp(t, Config{}, dst, src)
				}
			}}, dst, src)
			second.wantFailure(t, ErrBusy)
			wantFile(t, filepath.Join(to, "f"), content(size, 1))
		})
	}
}

// TestBusyForAMoment: an upload does not fail if the connection of an interrupted one still has the
// same file.
func TestBusyForAMoment(t *testing.T) {
	dir, here := t.TempDir(), t.TempDir()
	put(t, filepath.Join(here, "f"), content(100, 1))
	other, err := os.OpenFile(filepath.Join(dir, ".f.rddp-part"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := lockFile(other)
	if err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		unlock()
		other.Close()
	})
	defer end()
	log := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.String() == "waiting for another copy to end" {
			end()
		}
		return a
	}}))
	v := serveDir(t, dir, "127.0.0.1:0", &ServerConfig{Writable: true, Log: log})
	mustCopy(t, Config{}, v.name("f"), local(filepath.Join(here, "f")))
	wantFile(t, filepath.Join(dir, "f"), content(100, 1))
}

// Errors of requests have clear texts, match the sentinels, and leave the connection usable.
func TestRefusals(t *testing.T) {
	v := serve(t, nil)
	put(t, filepath.Join(v.dir, "f"), []byte("f"))
	put(t, filepath.Join(v.dir, "d", "f"), []byte("f"))
	here := t.TempDir()
	put(t, filepath.Join(here, "f"), []byte("f"))
	file := local(filepath.Join(here, "f"))
	readOnly := serve(t, &ServerConfig{})
	tests := []struct {
		desc     string
		src, dst Name
		want     error
		words    string
	}{
		{"no such file", v.name("z"), local(here), fs.ErrNotExist, "no such file"},
		{"directory without -r", v.name("d"), local(here), ErrIsDirectory, "-r copies directories"},
		{"read-only", file, readOnly.name("f"), ErrReadOnly, "read-only"},
		{"onto a directory", file, Name{Address: v.addr, Path: "d/f/g"}, nil, ""},
		{"unfinished copy", file, v.name("d/.f.rddp-part"), ErrUnfinished, ""},
		{"local directory without -r", local(here), v.name("n"), ErrIsDirectory, "-r copies directories"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			o := cp(t, Config{}, tt.dst, tt.src)
			if tt.desc == "unfinished copy" || tt.desc == "onto a directory" {
				if o.err == nil || tt.want != nil && !errors.Is(o.err, tt.want) {
					t.Errorf("Copy: %v, want %v", o.err, tt.want)
				}
				return
			}
			o.wantFailure(t, tt.want, tt.words)
		})
	}
}

// The error for another kind of server, or none, has a hint about the kind.
func TestDialErrors(t *testing.T) {
	refused := prototest.ClosedPort(t)
	tests := []struct {
		desc  string
		serve func(*net.TCPConn) // nil: nobody listens
		want  error
		words string
	}{
		{"nobody listens", nil, nil, "is `rddp serve` running there"},
		{"another protocol", func(c *net.TCPConn) { io.WriteString(c, "220 mail.example.org ESMTP ready\r\n") }, extsock.ErrNotMPA, "another kind of server"},
		{"closes", func(c *net.TCPConn) { c.CloseWrite() }, extsock.ErrNoReply, "another kind of server"},
		{"resets", func(c *net.TCPConn) { c.SetLinger(0); c.Close() }, nil, "another kind of server"},
		{"silent", func(*net.TCPConn) {}, os.ErrDeadlineExceeded, "no answer in time"},
		{"another use of MPA", func(c *net.TCPConn) {
			e := extsock.NewConn(c, false, nil)
			e.EnableDDP(t.Context(), []byte("rping"))
			e.Close()
		}, ErrNotServer, ""},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			address := refused
			if tt.serve != nil {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				address = l.Addr().String()
				over := make(chan struct{})
				defer func() { l.Close(); <-over }()
				go func() {
					defer close(over)
					c, err := l.Accept()
					if err != nil {
						return
					}
					defer c.Close()
					tt.serve(c.(*net.TCPConn))
					io.Copy(io.Discard, c) // until the client closes
				}()
			}
			timeout := time.Minute
			if tt.desc == "silent" {
				timeout = 100 * time.Millisecond
			}
			cfg := Config{Socket: extsock.Config{HandshakeTimeout: timeout}}
			o := cp(t, cfg, local(t.TempDir()), Name{Address: address, Path: "f"})
			o.wantFailure(t, tt.want, tt.words, address)
			for _, err := range o.failures { // only the reason, without the names of layers
				if text := err.Error(); strings.Count(text, address) != 1 || strings.Contains(text, "tcp") || strings.Contains(text, "mpa:") {
					t.Errorf("the failure says %q, want the address once and one reason", text)
				}
			}
		})
	}
}

// A server or a client that falls silent is given up after the idle timeout.
func TestSilence(t *testing.T) {
	const idle = time.Minute
	synctest.Test(t, func(t *testing.T) {
		network := simtoe.New(simtoe.Config{CutAfter: 5 << 20, CutHow: simtoe.Silence})
		v := serveDir(t, t.TempDir(), "v:1", &ServerConfig{IdleTimeout: idle, Socket: extsock.Config{Backend: network}})
		put(t, filepath.Join(v.dir, "f"), content(20<<20, 1))
		begin := time.Now()
		var last time.Time
		o := outcome{failures: map[string]error{}}
		_, o.err = Copy(t.Context(), []Name{v.name("f")}, local(t.TempDir()), &Config{
			IdleTimeout: idle, Socket: extsock.Config{Backend: network},
			Progress: func(Progress) { last = time.Now() },
			Failed:   func(name string, err error) { o.failures[name] = err },
		})
		o.wantFailure(t, ErrLost, "nothing heard", "the same command continues")
		if took := last.Sub(begin); took < idle || took > 2*idle {
			t.Errorf("given up after %v", took)
		}
		v.stop()
		time.Sleep(time.Minute) // the connections wait for a FIN in the background
	})
}

// Busy messages keep a connection alive for any time without other messages, and with any idle
// timeouts of the two ends.
func TestBusyKeepsAlive(t *testing.T) {
	const disk = 10 * time.Minute // the time for one chunk, on a sleeping disk for example
	for _, tt := range []struct {
		desc           string
		server, client time.Duration // their idle timeouts
		slowServer     bool          // else the client is slow
	}{
		{"slow client", DefaultIdleTimeout, DefaultIdleTimeout, false},
		{"slow server", DefaultIdleTimeout, DefaultIdleTimeout, true},
		{"slow client, patient", time.Second, time.Minute, false},
		{"slow client, impatient", time.Minute, time.Second, false},
		{"slow server, patient", time.Minute, time.Second, true},
		{"slow server, impatient", time.Second, time.Minute, true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				socket := extsock.Config{Backend: simtoe.New(simtoe.Config{})}
				server := &ServerConfig{Writable: true, IdleTimeout: tt.server, Socket: socket}
				client := &Config{IdleTimeout: tt.client, Socket: socket}
				if tt.slowServer {
					server.limit = func(w io.Writer) io.Writer { return slowWriter{w, disk} }
				} else {
					client.Progress = func(p Progress) {
						if p.Octets < p.TotalOctets {
							time.Sleep(disk)
						}
					}
				}
				v := serveDir(t, t.TempDir(), "v:1", server)
				here := t.TempDir()
				put(t, filepath.Join(here, "f"), content(2<<20, 1))
				client.Failed = func(name string, err error) { t.Errorf("%s: %v", name, err) }
				if _, err := Copy(t.Context(), []Name{local(filepath.Join(here, "f"))}, v.name("g"), client); err != nil {
					t.Error(err)
				}
				wantFile(t, filepath.Join(v.dir, "g"), content(2<<20, 1))
				v.stop()
				time.Sleep(time.Minute) // the connections wait for a FIN in the background
			})
		})
	}
}

// A slowWriter sleeps in each Write.
type slowWriter struct {
	io.Writer
	d time.Duration
}

func (w slowWriter) Write(p []byte) (int, error) {
	time.Sleep(w.d)
	return w.Writer.Write(p)
}

// admitted makes a request until the server no longer refuses it. The server may not have noticed
// yet that another client has gone.
func admitted(t *testing.T, s *session) {
	t.Helper()
	for {
		_, err := s.ask(message{kind: kindStat, text: "ok"}, kindAttr)
		if err == nil {
			return
		}
		if !errors.Is(err, ErrTooManyClients) {
			t.Fatal(err)
		}
	}
}

// Inconsistent names are refused before anything happens.
func TestNames(t *testing.T) {
	r, l := Name{Address: "h:1", Path: "f"}, local("f")
	for _, tt := range []struct {
		sources []Name
		dst     Name
	}{{nil, l}, {[]Name{r}, r}, {[]Name{l}, l}, {[]Name{l, r}, r}, {[]Name{l, r}, l}} {
		if o := cp(t, Config{}, tt.dst, tt.sources...); !errors.Is(o.err, ErrNames) {
			t.Errorf("Copy(%v, %v) = %v, want %v", tt.sources, tt.dst, o.err, ErrNames)
		}
	}
}

// A file with the longest possible name can be copied, although a part's name with a suffix would
// be too long.
func TestLongName(t *testing.T) {
	v := serve(t, nil)
	name := strings.Repeat("x", maxName)
	put(t, filepath.Join(v.dir, name), content(3<<20, 1))
	here := t.TempDir()
	mustCopy(t, Config{}, local(here), v.name(name))
	wantFile(t, filepath.Join(here, name), content(3<<20, 1))
}
