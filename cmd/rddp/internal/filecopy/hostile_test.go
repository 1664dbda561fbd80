package filecopy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
)

// connect returns the session of a client that can send any message.
func connect(t *testing.T, v *serving) *session {
	t.Helper()
	conf := socket(extsock.Config{}, 10*time.Second)
	conf.Startup = extsock.StartupRequire
	c, err := extsock.Dial("tcp", v.addr, &conf)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t.Context(), c, 10*time.Second, 10*time.Second)
	t.Cleanup(s.close)
	return s
}

// wantServing checks that v still serves other clients.
func wantServing(t *testing.T, v *serving) {
	t.Helper()
	put(t, filepath.Join(v.dir, "ok"), content(1000, 9))
	here := t.TempDir()
	mustCopy(t, Config{}, local(here), v.name("ok"))
	wantFile(t, filepath.Join(here, "ok"), content(1000, 9))
}

// No request reaches anything outside the directory, by any path. The connection stays usable.
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
	up := filepath.Base(filepath.Dir(v.dir)) // "up" is a link to the directory above
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
				continue // a link as the last element is replaced, not followed: see below
			}
			if err := s.send(m); err != nil {
				t.Fatal(err)
			}
			if got, err := s.receive(); !errors.As(err, new(*RemoteError)) {
				t.Fatalf("%v %q: %v, %v", m.kind, p, got.kind, err)
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
	for _, name := range []string{"file", "part", "note"} {
		put(t, filepath.Join(here, name), content(2<<20, 1))
		mustCopy(t, Config{}, v.name("."), local(filepath.Join(here, name)))
		wantFile(t, filepath.Join(v.dir, name), content(2<<20, 1))
	}
	if got := tree(t, outside); !slices.Equal(got, before) {
		t.Errorf("outside there is %q, was %q", got, before)
	}
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != "secret" {
		t.Errorf("secret is %q, %v", b, err)
	}
	wantServing(t, v)
}

// A client that breaks the rules ends only its own connection or copy.
func TestHostileClient(t *testing.T) {
	const size = 1 << 20
	file := attr{Type: typeFile, Size: size, Perm: 0o600}
	begun := func(t *testing.T, s *session) (grants []message) { // begins an upload, and returns its first grants
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
		s.c.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: b, Inline: true, Unsignaled: true})
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
			s.move(rdmap.WorkWrite, h, make([]byte, 1)) // after written in the stream, so it arrives later
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
						return // an error message, or the end of the connection
					}
					if m.kind == kindDone {
						t.Error("the server is content")
					}
				}
			}()
			select {
			case <-ended:
			case <-prototest.TimeLimit(t).Done():
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

// A list contains all names, including those of unfinished copies.
func TestList(t *testing.T) {
	v := serve(t, nil)
	for i := range 10 * entriesAtOnce {
		put(t, filepath.Join(v.dir, fmt.Sprintf(".%d.rddp-part", i)), nil)
	}
	put(t, filepath.Join(v.dir, "f"), nil)
	s := connect(t, v)
	var names []string
	for request := (message{kind: kindList, text: "."}); ; request = (message{kind: kindNext}) {
		m, err := s.ask(request, kindEntries)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.entries {
			names = append(names, e.name)
		}
		if !m.flag {
			break
		}
		if len(m.entries) == 0 {
			t.Fatal("no entries, and a promise of more")
		}
	}
	if len(names) != 10*entriesAtOnce+1 || !slices.Contains(names, "f") {
		t.Errorf("%d names, want %d, f among them", len(names), 10*entriesAtOnce+1)
	}
}
