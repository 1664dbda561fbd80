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
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// connect makes a session of a client that can say anything.
func connect(t *testing.T, v *serving) *session {
	t.Helper()
	conf := socket(extsock.Config{})
	conf.Startup = extsock.StartupRequire
	c, err := extsock.Dial("tcp", v.addr, &conf)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t.Context(), c, 10*time.Second)
	t.Cleanup(s.close)
	return s
}

// wantServing checks that v still serves others.
func wantServing(t *testing.T, v *serving) {
	t.Helper()
	put(t, filepath.Join(v.dir, "ok"), content(1000, 9))
	here := t.TempDir()
	mustCopy(t, Config{}, local(here), v.name("ok"))
	wantFile(t, filepath.Join(here, "ok"), content(1000, 9))
}

// No request reaches anything outside the directory, by whatever path. The connection stays in use.
func TestPathTraversal(t *testing.T) {
	outside := t.TempDir()
	put(t, filepath.Join(outside, "secret"), []byte("secret"))
	v := serve(t, nil)
	links := map[string]string{
		"file": filepath.Join(outside, "secret"), "dir": outside, "up": "..", ".part.rddp-part": filepath.Join(outside, "new"),
		".note.rddp-part-of": filepath.Join(outside, "secret"), "absolute": "/", "dangling": filepath.Join(outside, "new2"),
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(v.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, outside)
	up := filepath.Base(filepath.Dir(v.dir)) // by way of "up" one gets to the directory above
	paths := append(slices.Clone(badPaths), "file", "dir", "dir/secret", "dir/new", "up", "up/"+up, "absolute/etc/passwd", "dangling")
	s := connect(t, v)
	file := attr{Type: typeFile, Size: 2 << 20, Perm: 0o777}
	for _, p := range paths {
		for _, m := range []message{
			{kind: kindStat, text: p},
			{kind: kindList, text: p},
			{kind: kindGet, attr: file, text: p},
			{kind: kindSetAttr, attr: attr{Type: typeDir, Perm: 0o777}, text: p},
			{kind: kindMkdir, text: p},
			{kind: kindPut, attr: file, text: p},
		} {
			replaced := m.kind == kindPut && slices.Contains([]string{"file", "dir", "up", "dangling"}, p)
			if replaced {
				continue // a link in the last place would be replaced, not followed: see below
			}
			if err := s.send(m); err != nil {
				t.Fatal(err)
			}
			if got, err := s.receive(); !errors.As(err, new(*RemoteError)) {
				t.Fatalf("%v %q: %v, %v", m.kind, p, got.kind, err)
			}
		}
	}
	for _, name := range []string{"part", "note"} {
		if err := s.send(message{kind: kindPut, attr: file, text: name}); err != nil {
			t.Fatal(err)
		}
		m, err := s.receive()
		if name == "part" && !errors.As(err, new(*RemoteError)) {
			t.Errorf("put by way of a planted part: %v, %v", m, err)
		}
		if name == "note" && err == nil {
			s.send(message{kind: kindBegin})
			for err == nil {
				m, err = s.receive()
				if m.kind == kindGrant {
					t.Error("a planted note was followed")
				}
			}
		}
	}
	if got := tree(t, outside); !slices.Equal(got, before) {
		t.Errorf("outside there is %q, was %q", got, before)
	}
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != "secret" {
		t.Errorf("secret is %q, %v", b, err)
	}
	here := t.TempDir()
	put(t, filepath.Join(here, "file"), []byte("public"))
	mustCopy(t, Config{}, v.name("."), local(filepath.Join(here, "file")))
	wantFile(t, filepath.Join(v.dir, "file"), []byte("public"))
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != "secret" {
		t.Errorf("secret is %q, %v", b, err)
	}
	wantServing(t, v)
}

// A client that breaks the rules ends its own connection, or copy, and nothing else.
func TestHostileClient(t *testing.T) {
	const size = 1 << 20
	file := attr{Type: typeFile, Size: size, Perm: 0o600}
	begun := func(t *testing.T, s *session) (grants []message) { // an upload with its first grants
		if _, err := s.ask(message{kind: kindPut, attr: file, text: "new"}, kindReady); err != nil {
			t.Fatal(err)
		}
		if err := s.send(message{kind: kindBegin}); err != nil {
			t.Fatal(err)
		}
		for range window {
			g, err := s.expect(kindGrant)
			if err != nil {
				t.Fatal(err)
			}
			grants = append(grants, g)
		}
		return grants
	}
	raw := func(s *session, b []byte) {
		s.c.Post(&extsock.WorkRequest{Op: rdmap.WorkSend, Data: b, Inline: true, Unsignaled: true})
	}
	tests := []struct {
		desc string
		do   func(t *testing.T, s *session)
	}{
		{"empty message", func(_ *testing.T, s *session) { raw(s, nil) }},
		{"unknown message", func(_ *testing.T, s *session) { raw(s, []byte{0x99}) }},
		{"message too long", func(_ *testing.T, s *session) { raw(s, make([]byte, maxMessage+1)) }},
		{"a server's message", func(_ *testing.T, s *session) { s.send(message{kind: kindDone}) }},
		{"error message", func(_ *testing.T, s *session) { s.send(message{kind: kindError, text: "no"}) }},
		{"next without list", func(_ *testing.T, s *session) { s.send(message{kind: kindNext}) }},
		{"release without get", func(_ *testing.T, s *session) { s.send(message{kind: kindRelease}) }},
		{"put of a directory", func(_ *testing.T, s *session) { s.send(message{kind: kindPut, attr: attr{Type: typeDir}, text: "d"}) }},
		{"put of the root", func(_ *testing.T, s *session) { s.send(message{kind: kindPut, attr: file, text: "."}) }},
		{"request inside a get", func(_ *testing.T, s *session) {
			s.send(message{kind: kindGet, attr: file, text: "f"})
			s.send(message{kind: kindStat, text: "f"})
		}},
		{"release out of order", func(_ *testing.T, s *session) {
			s.send(message{kind: kindGet, attr: file, text: "f"})
			s.send(message{kind: kindRelease, number: 1})
		}},
		{"begin where nothing is", func(t *testing.T, s *session) {
			if _, err := s.ask(message{kind: kindPut, attr: file, text: "new"}, kindReady); err != nil {
				t.Fatal(err)
			}
			s.send(message{kind: kindBegin, number: 1 << 62})
		}},
		{"written out of order", func(t *testing.T, s *session) {
			begun(t, s)
			s.send(message{kind: kindWritten, number: 1})
		}},
		{"end too early", func(t *testing.T, s *session) {
			begun(t, s)
			s.send(message{kind: kindEnd})
		}},
		{"more written than announced", func(t *testing.T, s *session) {
			begun(t, s)
			for i := range uint64(size/testChunk + 1) {
				s.send(message{kind: kindWritten, number: i})
			}
		}},
		{"Write behind a grant", func(t *testing.T, s *session) {
			h := begun(t, s)[0].handle
			h.TO += uint64(h.Len) - 1
			s.move(rdmap.WorkWrite, h, make([]byte, 2))
		}},
		{"Read of a grant", func(t *testing.T, s *session) {
			s.move(rdmap.WorkRead, begun(t, s)[0].handle, make([]byte, 1))
		}},
		{"Write to what was written", func(t *testing.T, s *session) {
			h := begun(t, s)[0].handle
			s.send(message{kind: kindWritten})
			s.move(rdmap.WorkWrite, h, make([]byte, 1)) // behind written in the stream, so never before it
			s.expect(kindGrant)                         // written was answered
			s.move(rdmap.WorkWrite, h, make([]byte, 1))
		}},
		{"Write to a chunk to be read", func(t *testing.T, s *session) {
			s.ask(message{kind: kindGet, attr: file, text: "f"}, kindFile)
			m, err := s.expect(kindChunk)
			if err != nil {
				t.Fatal(err)
			}
			s.move(rdmap.WorkWrite, m.handle, make([]byte, 1))
		}},
		{"wrong sum at the end", func(t *testing.T, s *session) {
			begun(t, s)
			for i := range uint64(size / testChunk) {
				s.send(message{kind: kindWritten, number: i})
			}
			s.send(message{kind: kindEnd})
		}},
		{"flood of requests", func(_ *testing.T, s *session) {
			for range 100 {
				s.send(message{kind: kindStat, text: "f"})
			}
			s.send(message{kind: kindDone})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			v := serve(t, nil)
			put(t, filepath.Join(v.dir, "f"), content(size, 1))
			s := connect(t, v)
			tt.do(t, s)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for {
					m, err := s.receive()
					if err != nil {
						return // told or cut off
					}
					if m.kind == kindDone {
						t.Error("the server is content")
					}
				}
			}()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Fatal("the connection goes on")
			}
			wantServing(t, v)
			s.c.Close()
			v.stop()
			if _, err := os.Stat(filepath.Join(v.dir, "new")); err == nil {
				t.Error("a file is there that was never whole")
			}
		})
	}
}

// A hostileServer accepts one connection and answers as a script says.
func hostileServer(t *testing.T, script func(s *session) error) *serving {
	t.Helper()
	conf := socket(extsock.Config{})
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &conf)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)
		c, err := l.AcceptDDP()
		if err != nil || c.EnableDDP(t.Context(), ownGreeting()) != nil {
			return
		}
		s := newSession(t.Context(), c, 10*time.Second)
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

// A client believes a server nothing that it can check, and writes nowhere but in its destination.
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
		r, err := s.c.Register(memory[:n], extsock.RemoteRead)
		if err != nil {
			panic(err)
		}
		return message{kind: kindChunk, number: index, handle: r.Handle()}
	}
	// got has the client ask for a file and answers the get with messages of a session.
	got := func(answer func(s *session) []message) func(s *session) error {
		return func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: file}); err != nil {
				return err
			}
			return reply(s, append([]message{{kind: kindFile, attr: file}}, answer(s)...)...)
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
		{"entry of an unfinished copy", func(s *session) error {
			if err := reply(s, message{kind: kindAttr, attr: dir}); err != nil {
				return err
			}
			return reply(s, message{kind: kindEntries, entries: []entry{{".x.rddp-part", file}}})
		}, ErrUnfinished},
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
			return append(ms, message{kind: kindBegin}) // if the client were quick enough to take them
		}), ErrProtocol},
		{"chunk that is not there", got(func(*session) []message {
			return []message{{kind: kindChunk, handle: extsock.Handle{STag: 1, Len: 5}}}
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
			for { // each as deep as it goes
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
	}
	before := maxEntries
	maxEntries = 1000
	defer func() { maxEntries = before }()
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
				return // its tree has names too long for tree
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

// A server of an upload can't have the client write where or what it should not.
func TestHostileUpload(t *testing.T) {
	file := []byte(strings.Repeat("x", 3<<20))
	grant := func(s *session, index uint64, n int) message {
		r, err := s.c.Register(make([]byte, n), extsock.RemoteWrite)
		if err != nil {
			panic(err)
		}
		return message{kind: kindGrant, number: index, handle: r.Handle()}
	}
	tests := []struct {
		desc    string
		answers func(s *session) []message // to put and begin
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
