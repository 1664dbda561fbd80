package filecopy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// hostileServer starts a server that accepts one connection and runs a script on it.
func hostileServer(t *testing.T, script func(s *session) error) *serving {
	t.Helper()
	return hostileServerAt(t, "127.0.0.1:0", extsock.Config{}, script)
}

func hostileServerAt(t *testing.T, address string, cfg extsock.Config, script func(s *session) error) *serving {
	t.Helper()
	conf := socket(cfg, 10*time.Second)
	l, err := extsock.Listen("tcp", address, &conf)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		c := nc.(*extsock.Conn)
		if c.EnableDDP(t.Context(), conf.PrivateData) != nil {
			return
		}
		s := newSession(t.Context(), c, 10*time.Second, 10*time.Second)
		defer s.close()
		if err := script(s); err != nil {
			return
		}
		for err == nil { // until the client goes
			_, err = s.receive()
		}
	}()
	return &serving{addr: l.Addr().String()}
}

// A client checks everything that a server sends, and writes only to its destination.
func TestHostileServer(t *testing.T) {
	file := attr{Type: typeFile, Size: 3 << 20, Perm: 0o640}
	dir := attr{Type: typeDir, Perm: 0o750}
	reply := func(s *session, ms ...message) error {
		if _, err := s.receive(); err != nil {
			return err
		}
		for _, m := range ms {
			if err := s.send(m); err != nil {
				return err
			}
		}
		return nil
	}
	memory := make([]byte, 8<<20)
	chunk := func(s *session, index uint64, n int) message {
		r, err := s.c.Register(memory[:n], ddp.RemoteRead)
		if err != nil {
			panic(err)
		}
		return message{kind: kindChunk, number: index, handle: r.Handle()}
	}
	// got answers the client's get with the messages that answer returns.
	got := func(answer func(s *session) []message) func(s *session) error {
		return func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: file}); err != nil {
				return err
			}
			return reply(s, append([]message{{kind: kindFile, attr: file}}, answer(s)...)...)
		}
	}
	// more answers each request for entries, numbered from 0, and always says that there are more.
	more := func(entries func(n int) []entry) func(s *session) error {
		return func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: dir}); err != nil {
				return err
			}
			for n := range 2 * maxEntries {
				if err := reply(s, message{kind: kindEntries, entries: entries(n), flag: true}); err != nil {
					return err
				}
			}
			return errors.New("asked again and again")
		}
	}
	tests := []struct {
		desc   string
		script func(s *session) error
		want   error
	}{
		{"entry that leads up", func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: dir}); err != nil {
				return err
			}
			return reply(s, message{kind: kindEntries, entries: []entry{{"..", dir}}})
		}, ErrProtocol},
		{"entry with a slash", func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: dir}); err != nil {
				return err
			}
			return reply(s, message{kind: kindEntries, entries: []entry{{"../evil", file}}})
		}, ErrProtocol},
		{"another answer", func(s *session) error { return reply(s, message{kind: kindDone}) }, ErrProtocol},
		{"malformed answer", func(s *session) error { return reply(s, message{kind: kind(77)}) }, ErrProtocol},
		{"file from an offset that is not here", func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: file}); err != nil {
				return err
			}
			return reply(s, message{kind: kindFile, attr: file, number: 5})
		}, ErrProtocol},
		{"get answered by a directory", func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: file}); err != nil {
				return err
			}
			return reply(s, message{kind: kindFile, attr: dir})
		}, ErrProtocol},
		{"empty chunk", got(func(*session) []message { return []message{{kind: kindChunk}} }), ErrProtocol},
		{"chunk longer than the file", got(func(s *session) []message { return []message{chunk(s, 0, 3<<20+1)} }), ErrProtocol},
		{"chunk longer than any", func(s *session) error {
			big := attr{Type: typeFile, Size: 1 << 40}
			if err := reply(s, message{kind: kindAttr, attr: big}); err != nil {
				return err
			}
			return reply(s, message{kind: kindFile, attr: big}, chunk(s, 0, maxChunk+1))
		}, ErrProtocol},
		{"chunk out of order", got(func(s *session) []message { return []message{chunk(s, 1, 100)} }), ErrProtocol},
		{"too many chunks at once", got(func(s *session) (ms []message) {
			for i := range uint64(window + 2) {
				ms = append(ms, chunk(s, i, 10))
			}
			return append(ms, message{kind: kindBegin}) // in case the client is fast enough to read them all
		}), ErrProtocol},
		{"chunk that is not there", got(func(*session) []message {
			return []message{{kind: kindChunk, handle: rdmap.Handle{STag: 1, Len: 5}}}
		}), ErrLost},
		{"end too early", got(func(s *session) []message { return []message{chunk(s, 0, 100), {kind: kindEnd}} }), ErrProtocol},
		{"sum of something else", got(func(s *session) []message {
			return []message{chunk(s, 0, 3<<20), {kind: kindEnd, sum: someSum}}
		}), ErrMismatch},
		{"error in the middle", got(func(s *session) []message {
			return []message{chunk(s, 0, 100), errorMessage(ErrChanged)}
		}), ErrChanged},
		{"gone in the middle", got(func(s *session) []message {
			m := []message{chunk(s, 0, 100)}
			time.AfterFunc(50*time.Millisecond, func() { s.c.Close() })
			return m
		}), ErrLost},
		{"endless directory of directories", func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: dir}); err != nil {
				return err
			}
			for { // each directory contains another one
				if err := reply(s, message{kind: kindEntries, entries: []entry{{strings.Repeat("d", 200), dir}}}); err != nil {
					return err
				}
			}
		}, nil},
		{"endless tree", func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: dir}); err != nil {
				return err
			}
			for n := 0; ; n++ { // each directory has ten more
				var es []entry
				for i := range 10 {
					es = append(es, entry{fmt.Sprintf("d%d", i), dir})
				}
				if n > 1000 {
					return errors.New("asked for more than a thousand directories")
				}
				if err := reply(s, message{kind: kindEntries, entries: es}); err != nil {
					return err
				}
			}
		}, ErrTooManyEntries},
		{"no entries and a promise of more, forever", more(func(int) []entry { return nil }), ErrProtocol},
		{"the same entry and a promise of more, forever", more(func(int) []entry { return []entry{{"f", file}} }), ErrProtocol},
		{"the same entries in turn", more(func(n int) []entry { return []entry{{fmt.Sprint("f", n%3), file}} }), ErrProtocol},
		{"endless directory", more(func(n int) []entry { return []entry{{fmt.Sprint("f", n), file}} }), ErrTooManyEntries},
		{"directory of long names", func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: dir}); err != nil {
				return err
			}
			for n := range 20 { // fewer than maxEntries
				var es []entry
				for i := range 40 {
					es = append(es, entry{fmt.Sprint(strings.Repeat("f", 200), n*40+i), file})
				}
				if err := reply(s, message{kind: kindEntries, entries: es, flag: n < 19}); err != nil {
					return err
				}
			}
			return nil
		}, ErrTooManyEntries},
	}
	entries, planned := maxEntries, maxPlanned
	maxEntries, maxPlanned = 1000, 256<<10
	defer func() { maxEntries, maxPlanned = entries, planned }()
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			v := hostileServer(t, tt.script)
			above := t.TempDir()
			dst := filepath.Join(above, "dst")
			if err := os.Mkdir(dst, 0o755); err != nil {
				t.Fatal(err)
			}
			o := cp(t, Config{Recursive: true}, local(filepath.Join(dst, "f")), v.name("f"))
			o.wantFailure(t, tt.want)
			if info, err := os.Stat(filepath.Join(dst, "f")); err == nil && !info.IsDir() {
				t.Error("a file is there")
			}
			if strings.HasPrefix(tt.desc, "endless") {
				return // the names are too long for tree
			}
			if got := tree(t, above); len(got) > 0 && !strings.HasPrefix(got[len(got)-1], "dst") {
				t.Errorf("outside: %q", got)
			}
			if errors.Is(tt.want, ErrMismatch) && len(tree(t, dst)) > 0 {
				t.Errorf("left: %q", tree(t, dst))
			}
		})
	}
}

// In an upload, a server can't make the client write to the wrong place or the wrong data.
func TestHostileUpload(t *testing.T) {
	file := []byte(strings.Repeat("x", 3<<20))
	grant := func(s *session, index uint64, n int) message {
		r, err := s.c.Register(make([]byte, n), ddp.RemoteWrite)
		if err != nil {
			panic(err)
		}
		return message{kind: kindGrant, number: index, handle: r.Handle()}
	}
	tests := []struct {
		desc    string
		answers func(s *session) []message // the answers to put and begin
		want    error
	}{
		{"more there than the file has", func(*session) []message { return []message{{kind: kindReady, number: 3<<20 + 1}} }, ErrProtocol},
		{"all there, of another sum, and no grant", func(*session) []message {
			return []message{{kind: kindReady, number: 3 << 20}, {kind: kindDone}}
		}, ErrProtocol},
		{"grant longer than the file", func(s *session) []message { return []message{{kind: kindReady}, grant(s, 0, 3<<20+1)} }, ErrProtocol},
		{"grant out of order", func(s *session) []message { return []message{{kind: kindReady}, grant(s, 1, 10)} }, ErrProtocol},
		{"empty grant", func(*session) []message { return []message{{kind: kindReady}, {kind: kindGrant}} }, ErrProtocol},
		{"done with another sum", func(s *session) []message {
			return []message{{kind: kindReady}, grant(s, 0, 3<<20), {kind: kindDone, sum: someSum}}
		}, ErrProtocol},
		{"error in the middle", func(s *session) []message {
			return []message{{kind: kindReady}, grant(s, 0, 1<<20), errorMessage(errors.New("no luck"))}
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			here := t.TempDir()
			put(t, filepath.Join(here, "f"), file)
			v := hostileServer(t, func(s *session) error {
				if _, err := s.receive(); err != nil { // stat
					return err
				}
				if err := s.send(errorMessage(os.ErrNotExist)); err != nil {
					return err
				}
				if m, err := s.receive(); err != nil || m.kind != kindPut {
					return fmt.Errorf("%v, %w", m.kind, errors.Join(err, io.ErrUnexpectedEOF))
				}
				for _, m := range tt.answers(s) {
					if err := s.send(m); err != nil {
						return err
					}
				}
				return nil
			})
			cp(t, Config{}, v.name("f"), local(filepath.Join(here, "f"))).wantFailure(t, tt.want)
		})
	}
}

// If a server lets the client plan many files and then disappears, the client does not wait for a
// timeout at each of them.
func TestServerGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const files = 2 * maxLost
		network := extsock.Config{Backend: simtoe.New(simtoe.Config{}), HandshakeTimeout: time.Second}
		v := hostileServerAt(t, "v:1", network, func(s *session) error {
			answers := []message{{kind: kindAttr, attr: attr{Type: typeDir, Perm: 0o750}}, {kind: kindEntries}}
			for i := range files {
				answers[1].entries = append(answers[1].entries, entry{fmt.Sprint("f", i), attr{Type: typeFile, Size: 1, Perm: 0o640}})
			}
			for _, m := range answers {
				if _, err := s.receive(); err != nil {
					return err
				}
				if err := s.send(m); err != nil {
					return err
				}
			}
			return io.EOF // accept no other connection
		})
		o := cp(t, Config{Recursive: true, Socket: network}, local(t.TempDir()), v.name("d"))
		givenUp := 0
		for _, err := range o.failures {
			if errors.Is(err, ErrGivenUp) {
				givenUp++
			}
		}
		if len(o.failures) != files || givenUp != files-maxLost {
			t.Errorf("%d files failed, %d of them were given up; want %d, %d", len(o.failures), givenUp, files, files-maxLost)
		}
		time.Sleep(time.Minute) // the connections wait for a FIN in the background
	})
}

// The client gives up a server only after consecutive files that fail with their connection. A file
// that is copied, or that fails without the connection, resets the count.
func TestServerNotGivenUp(t *testing.T) {
	v := serve(t, nil)
	lost, alone := fmt.Errorf("%w: as a test", ErrLost), errors.New("this file only")
	var results []error
	for _, between := range []error{nil, alone, nil} {
		results = append(append(results, slices.Repeat([]error{lost}, maxLost-1)...), between)
	}
	results = append(results, slices.Repeat([]error{lost}, maxLost)...)
	const given = 3 // up
	var got []error
	c := &copier{ctx: t.Context(), lacking: make(map[string]bool), cfg: Config{IdleTimeout: time.Minute, Failed: func(_ string, err error) { got = append(got, err) }}}
	defer c.hangUp()
	tried := 0
	p := &plan{address: v.addr}
	for n := range len(results) + given {
		p.add(job{to: fmt.Sprint(n)})
	}
	c.run([]*plan{p}, steps{file: func(job) error {
		tried++
		return results[tried-1]
	}})
	want := slices.DeleteFunc(append(results, slices.Repeat([]error{ErrGivenUp}, given)...), func(err error) bool { return err == nil })
	if tried != len(results) || !slices.EqualFunc(got, want, errors.Is) {
		t.Errorf("%d files were tried, want %d; %d failures, want %d, or with other errors", tried, len(results), len(got), len(want))
	}
}
