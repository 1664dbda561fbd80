package filecopy

import (
	"maps"
	"net"
	"path/filepath"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// failed returns the nonzero counts of failures.
func (c *Counts) failed() map[string]uint64 {
	all := make(map[string]uint64)
	for name, n := range c.Failures() {
		if n := n.Load(); n > 0 {
			all[name] = n
		}
	}
	return all
}

// TestCounts: files and their bytes are counted by direction. A file that the client already has is
// counted, but its bytes are not. Each failure is counted once, by kind.
func TestCounts(t *testing.T) {
	n := &Counts{}
	v := serve(t, &ServerConfig{Writable: true, MaxConns: 2, chunk: testChunk, Counts: n})
	here := t.TempDir()
	put(t, filepath.Join(v.dir, "down"), content(3*testChunk+1, 1))
	put(t, filepath.Join(v.dir, "ok"), content(1000, 9))
	put(t, filepath.Join(here, "up"), content(2*testChunk, 2))
	mustCopy(t, Config{}, local(filepath.Join(here, "down")), v.name("down"))
	mustCopy(t, Config{}, local(filepath.Join(here, "down")), v.name("down")) // it is there
	mustCopy(t, Config{}, v.name("up"), local(filepath.Join(here, "up")))     // which asks whether it is there
	cp(t, Config{}, local(here), v.name("none"))
	cp(t, Config{}, v.name("down"), local(here)) // what is there is no directory
	busy := connect(t, v)
	admitted(t, busy)
	admitted(t, connect(t, v))
	refused := connect(t, v)
	if _, err := refused.ask(message{kind: kindStat, text: "down"}, kindAttr); err == nil {
		t.Error("a third client is served")
	}
	busy.send(message{kind: kindNext}) // without a list
	if _, err := busy.receive(); err == nil {
		t.Error("a request that makes no sense is answered")
	}
	busy.c.Close()
	d, err := net.Dial("tcp", v.addr)
	if err != nil {
		t.Fatal(err)
	}
	d.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	d.Close()
	want := map[string]uint64{"not_found": 2, "protocol": 1, "startup": 1}
	failed := func() map[string]uint64 {
		all := n.failed()
		if all["too_many_clients"] > 0 { // admitted asks more than once if a client has not quite gone
			delete(all, "too_many_clients")
		} else {
			all["nobody was refused"] = 1
		}
		return all
	}
	prototest.Wait(t, "all is counted", func() bool { return failed()["startup"] > 0 && n.Open.Load() == 2 })
	if got := failed(); !maps.Equal(got, want) {
		t.Errorf("failures %v, want %v", got, want)
	}
	if s, r := n.Sent.Files.Load(), n.Received.Files.Load(); s != 2 || r != 1 {
		t.Errorf("%d files are sent and %d received, want 2 and 1", s, r)
	}
	if s, r := n.Sent.Octets.Load(), n.Received.Octets.Load(); s != 3*testChunk+1 || r != 2*testChunk {
		t.Errorf("%d bytes are sent and %d received, want %d and %d", s, r, 3*testChunk+1, 2*testChunk)
	}
	if c := n.Connections.Load(); c != 8 {
		t.Errorf("%d connections are counted, want 8", c)
	}
	v.stop()
	if open := n.Open.Load(); open != 0 || !maps.Equal(failed(), want) {
		t.Errorf("when the server has ended, %d connections are open, failures %v; its end is no failure of theirs", open, failed())
	}
}

// TestFailureNames: each kind of failure has its own name.
func TestFailureNames(t *testing.T) {
	seen := make(map[string]bool)
	for name := range new(Counts).Failures() {
		if name == "" || seen[name] {
			t.Errorf("the name %q is empty or comes twice", name)
		}
		seen[name] = true
	}
	for code, want := range map[error]string{ErrReadOnly: "read_only", ErrTooManyClients: "too_many_clients", ErrMismatch: "mismatch"} {
		if got := failureNames[codeOf(code)]; got != want {
			t.Errorf("%v is %q, want %q", code, got, want)
		}
	}
}
