package bytestream

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A program writes to one end and reads from it, as Write and Read of a connection do. The peer's
// program must read the bytes that it has written, except those that were taken back.
type program struct {
	*end
	written []byte // the bytes that Writes have reported as written
	offset  byte   // of the next byte to be written
	short   []byte // the part of a short Write under way that is not copied yet
	long    []byte // the long Write under way
	most    int    // messages that a short Write may fill before the first is posted
}

// make returns the next n bytes that the program writes.
func (p *program) make(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = p.offset
		p.offset += 7
	}
	return b
}

// begin begins a Write, unless one is under way.
func (p *program) begin(t *rapid.T) {
	if p.closed() || p.short != nil || p.long != nil {
		return
	}
	if rapid.Bool().Draw(t, "short") {
		p.short = p.make(rapid.IntRange(1, 200).Draw(t, "n"))
		p.most = rapid.IntRange(1, 4).Draw(t, "most")
		p.goOn()
		return
	}
	p.long = p.make(rapid.IntRange(1, 900).Draw(t, "n"))
	p.tx.Post(p.long, rapid.SampledFrom([]int{0, 0, 50, 300}).Draw(t, "crossover"))
}

func (p *program) closed() bool { return p.tx.closed }

// goOn continues the Write under way, as a Write does when it is woken.
func (p *program) goOn() {
	if p.short != nil {
		n := p.tx.Append(p.short, p.most)
		p.written = append(p.written, p.short[:n]...)
		if p.short = p.short[n:]; len(p.short) == 0 || p.closed() {
			p.short = nil
		}
	}
	if p.long == nil {
		return
	}
	if p.closed() {
		p.tx.GiveUp()
	}
	if over, _ := p.tx.Write(); over {
		p.endLong(p.tx.End())
	}
}

func (p *program) endLong(n int) {
	p.written = append(p.written, p.long[:n]...)
	p.long = nil
}

// deadline ends the Write under way.
func (p *program) deadline() {
	p.short = nil
	if p.long != nil {
		long := p.long
		n := p.takeBack()
		p.endLong(n)
		for i := range long { // its memory is the caller's again
			long[i] = 0xee
		}
	}
}

// wait begins a Read that waits, or ends one.
func (p *program) wait(t *rapid.T) {
	switch {
	case p.want == nil && len(p.unread) == 0:
		p.want = make([]byte, rapid.IntRange(1, 500).Draw(t, "want"))
	case p.lent != nil && p.want != nil: // data that still arrives goes to other memory
		p.lent, p.want = bytes.Clone(p.lent), nil
	default:
		p.want = nil
	}
}

// TestSameBytes: whatever the programs do, and whenever messages are sent, arrive and complete, the
// bytes read are the bytes written, credits are neither invented nor negative, and the stream never
// stalls while both programs read.
func TestSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := newPair(t, rapid.IntRange(MinCredits, 12).Draw(t, "buffers"), 40)
		both := []*program{{end: a}, {end: b}}
		for _, p := range both {
			p.depth = rapid.SampledFrom([]int{1, 2, 5, MaxSlots}).Draw(t, "depth")
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			p := both[rapid.IntRange(0, 1).Draw(t, "end")]
			step(t, p)
			check(t, p)
		}
		settle(t, both)
		for _, p := range both {
			p.tx.Finish()
		}
		settle(t, both)
		for i, p := range both {
			if !p.eof || !p.tx.IsFinished() {
				t.Fatalf("end %d: no end of the stream", i)
			}
			if want := both[1-i].written; !bytes.Equal(p.got, want) {
				t.Fatalf("end %d has read %d bytes, want %d, the same up to %d", i, len(p.got), len(want), common(p.got, want))
			}
		}
	})
}

func step(t *rapid.T, p *program) {
	switch rapid.IntRange(0, 12).Draw(t, "step") {
	case 0, 1:
		p.begin(t)
	case 2:
		p.goOn()
	case 3, 4:
		p.post()
	case 5, 6:
		p.transmit()
	case 7:
		p.complete(rapid.IntRange(0, len(p.sent)).Draw(t, "completions"))
	case 8, 9:
		if _, err := p.receive(); err != nil {
			t.Fatal(err)
		}
	case 10:
		if rapid.Bool().Draw(t, "read") {
			p.read()
		} else {
			p.wait(t)
		}
	case 11:
		if rapid.IntRange(0, 3).Draw(t, "deadline") == 0 {
			p.deadline()
		}
	case 12:
		p.room = int64(rapid.IntRange(-1, 1).Draw(t, "room"))
		if rapid.IntRange(0, 30).Draw(t, "finish") == 0 {
			p.tx.Finish()
		}
	}
}

func check(t *rapid.T, p *program) {
	if c := p.tx.credits; c < 0 || c > p.tx.granted || p.tx.owed < p.tx.owedControl || p.tx.own < 0 {
		t.Fatalf("%d credits of %d, %d owed, %d of them control, %d own", c, p.tx.granted, p.tx.owed, p.tx.owedControl, p.tx.own)
	}
	if has, want := p.rx.credits+p.tx.givenBack, p.w.Now-p.tx.owed-p.held; has != want || p.rx.credits < 0 {
		t.Fatalf("the Receiver believes in %d credits of the peer's, and %d more; the window is %d, %d owed, %d messages unread",
			p.rx.credits, p.tx.givenBack, p.w.Now, p.tx.owed, p.held)
	}
	for i, c := range p.tx.pending {
		if n := len(c.B) - HeaderLen; n == 0 || n < p.tx.longest && i < len(p.tx.pending)-1 {
			t.Fatalf("message %d of %d has %d bytes", i, len(p.tx.pending), n)
		}
	}
	if n := p.tx.Copies(); n < len(p.tx.pending) || n > 0 && len(p.tx.pending) == 0 && p.tx.slots.isEmpty() {
		t.Fatalf("%d copies, %d of them pending", n, len(p.tx.pending))
	}
}

// settle lets both programs read until nothing moves. Their Writes must be over then.
func settle(t *rapid.T, both []*program) {
	for range 1000 {
		run(t, both[0].end, both[1].end)
		for _, p := range both {
			p.goOn()
			p.read()
			check(t, p)
		}
		if !slices.ContainsFunc(both, func(p *program) bool {
			return p.short != nil || p.long != nil || p.tx.HasOutput() || p.tx.IsWaiting() || len(p.wire) > 0 || len(p.unread) > 0
		}) {
			return
		}
	}
	t.Fatalf("a standstill: %+v\n%+v", both[0].tx, both[1].tx)
}

// common returns the length of the longest common prefix of a and b.
func common(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
