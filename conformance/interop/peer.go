//go:build interop

package interop

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// replyLimit is the maximum wait for the answer to one command. siwpeer's own limits are shorter.
const replyLimit = time.Minute

// A Peer is a siwpeer in the guest: one verbs endpoint that carries out commands in order. A test
// may send several commands with [Peer.Send] before it reads their answers, and then calls
// [Peer.Reply] for each. Only the goroutine of the test may use a Peer.
type Peer struct {
	t       testing.TB
	process *Process
	cancel  context.CancelFunc
	out     *bufio.Reader
	sent    []string // commands without an answer yet
	said    []string // the latest commands, with their answers
}

// A Line is one line that siwpeer printed: "kind key=value key=value ...".
type Line struct {
	Kind   string // "wc", "event", "async"; "ok" or "fail" for the last one of a Reply
	Text   string // the whole line
	Fields map[string]string
}

// A Reply is the answer to one command: its last line, and the lines before it.
type Reply struct {
	OK    bool
	Last  Line
	Lines []Line
}

// A Completion is one entry of a completion queue.
type Completion struct {
	ID     uint32 // counted from 1 per queue
	Op     string // "send", "write", "read" ...; "recv" for all of rq
	Status string // as in verbs, in lower case: "success", "wr_flush_err", "rem_access_err" ...
	Len    int    // rq: bytes received
	CRC32  uint32 // rq: their CRC-32 (hash/crc32.ChecksumIEEE)
	Data   []byte // rq: the bytes, if there are at most 64
}

// A Region is registered memory of a peer.
type Region struct {
	STag uint32
	TO   uint64
	Len  int
}

// Peer starts a siwpeer and kills it when t ends.
func (g *Guest) Peer(t testing.TB) *Peer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	process, err := g.StartProcess(ctx, "siwpeer")
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	p := &Peer{t: t, process: process, cancel: cancel, out: bufio.NewReader(process.Stdout)}
	t.Cleanup(func() {
		if t.Failed() {
			slices.Reverse(p.said)
			t.Logf("siwpeer's latest answers, the latest first; %d commands have none:\n%s", len(p.sent), strings.Join(p.said, "\n"))
		}
		p.Kill()
		cancel()
	})
	return p
}

// maxSaid is the number of answers that a failed test shows of each siwpeer.
const maxSaid = 8

// note logs an answer. Without -v a test that fails shows the latest ones only, and after its
// errors, so that the errors are near the beginning of its output.
func (p *Peer) note(command, answer string) {
	p.t.Helper()
	text := fmt.Sprintf("siwpeer %q: %s", command, answer)
	if testing.Verbose() {
		p.t.Log(text)
	}
	if len(text) > maxNote {
		text = text[:maxNote] + " ..."
	}
	if p.said = append(p.said, text); len(p.said) > maxSaid {
		p.said = p.said[1:]
	}
}

// maxNote is the length to which note cuts an answer.
const maxNote = 300

// Kill ends the process as a crash would: the kernel closes its connections.
func (p *Peer) Kill() { p.process.Kill() }

// Send sends a command, "verb key=value ...", and does not wait for its answer.
func (p *Peer) Send(format string, args ...any) {
	p.t.Helper()
	command := fmt.Sprintf(format, args...)
	p.sent = append(p.sent, command)
	if _, err := fmt.Fprintln(p.process, command); err != nil {
		p.t.Fatalf("siwpeer %q: %v", command, err)
	}
}

// Reply waits for the answer to the oldest command that has no answer yet.
func (p *Peer) Reply() Reply {
	p.t.Helper()
	if len(p.sent) == 0 {
		p.t.Fatal("siwpeer: there is no command to be answered")
	}
	command := p.sent[0]
	p.sent = p.sent[1:]
	limit := time.AfterFunc(replyLimit, p.cancel)
	defer limit.Stop()
	var r Reply
	for {
		text, err := p.out.ReadString('\n')
		if err != nil {
			code, why := p.process.Wait()
			p.t.Fatalf("siwpeer %q: no answer after %v: %v; its exit status is %d, %v", command, r.Lines, err, code, why)
		}
		l := parseLine(strings.TrimSuffix(text, "\n"))
		if l.Kind == "ok" || l.Kind == "fail" {
			r.OK, r.Last = l.Kind == "ok", l
			p.note(command, r.String())
			return r
		}
		r.Lines = append(r.Lines, l)
	}
}

// Try carries out a command that may fail.
func (p *Peer) Try(format string, args ...any) Reply {
	p.t.Helper()
	p.Send(format, args...)
	return p.Reply()
}

// Do carries out a command. If the command fails, Do ends the test.
func (p *Peer) Do(format string, args ...any) Reply {
	p.t.Helper()
	p.Send(format, args...)
	return p.MustReply()
}

// MustReply is Reply for a command that must succeed.
func (p *Peer) MustReply() Reply {
	p.t.Helper()
	command := ""
	if len(p.sent) > 0 {
		command = p.sent[0]
	}
	r := p.Reply()
	if !r.OK {
		p.t.Fatalf("siwpeer %q: %s", command, r)
	}
	return r
}

// Region registers n bytes under a name. access contains "r" for remote Reads and "w" for remote
// Writes.
func (p *Peer) Region(name string, n int, access string) Region {
	p.t.Helper()
	return p.Do("mr name=%s len=%d access=%s", name, n, access).Region()
}

// Dump returns n bytes of a region.
func (p *Peer) Dump(name string, off, n int) []byte {
	p.t.Helper()
	return p.Do("dump mr=%s off=%d len=%d", name, off, n).Last.Bytes("hex")
}

// Wait waits for n completions of queue "sq" or "rq", whatever their status.
func (p *Peer) Wait(queue string, n int) []Completion {
	p.t.Helper()
	r := p.Try("wait q=%s n=%d", queue, n)
	c := r.Completions()
	if len(c) != n {
		p.t.Fatalf("siwpeer: %d completions of %s, want %d: %s", len(c), queue, n, r)
	}
	return c
}

// Pattern returns the bytes that siwpeer's fill command writes at the beginning of a region.
func Pattern(seed, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(seed + i + i/251)
	}
	return b
}

func parseLine(text string) Line {
	l := Line{Text: text, Fields: make(map[string]string)}
	words := strings.Fields(text)
	if len(words) == 0 {
		return l
	}
	l.Kind = words[0]
	for _, w := range words[1:] {
		if key, value, ok := strings.Cut(w, "="); ok {
			l.Fields[key] = value
		}
	}
	return l
}

// Uint returns a number of the line, in C's notation, or 0 if the line has none of that name.
func (l Line) Uint(key string) uint64 {
	n, _ := strconv.ParseUint(l.Fields[key], 0, 64)
	return n
}

// Bytes returns bytes of the line that are printed in hex.
func (l Line) Bytes(key string) []byte {
	b, _ := hex.DecodeString(l.Fields[key])
	return b
}

func (r Reply) String() string {
	var b strings.Builder
	for _, l := range r.Lines {
		b.WriteString(l.Text + " | ")
	}
	b.WriteString(r.Last.Text)
	return b.String()
}

// Region returns the region that the answer to the mr command describes.
func (r Reply) Region() Region {
	return Region{STag: uint32(r.Last.Uint("stag")), TO: r.Last.Uint("to"), Len: int(r.Last.Uint("len"))}
}

// Completions returns the entries of completion queues among the reply's lines.
func (r Reply) Completions() []Completion {
	var list []Completion
	for _, l := range r.Lines {
		if l.Kind != "wc" {
			continue
		}
		crc, _ := strconv.ParseUint(l.Fields["crc32"], 16, 32)
		list = append(list, Completion{
			ID: uint32(l.Uint("id")), Op: l.Fields["op"], Status: l.Fields["status"],
			Len: int(l.Uint("len")), CRC32: uint32(crc), Data: l.Bytes("hex"),
		})
	}
	return list
}

// Event returns the first event of that name among the reply's lines, from the connection manager
// ("established", "disconnected", "rejected", "connect_request" ...) or the device ("qp_fatal",
// "qp_access_err" ...).
func (r Reply) Event(name string) (l Line, ok bool) {
	for _, l := range r.Lines {
		if (l.Kind == "event" || l.Kind == "async") && l.Fields["name"] == name {
			return l, true
		}
	}
	return Line{}, false
}
