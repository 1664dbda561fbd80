package tcpscript

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rddp/rddp/toe"
)

// patience is the maximum time for which a step waits for TCP. A step that succeeds waits only as
// long as TCP takes.
const patience = 20 * time.Second

// A testCase is a script and its description.
type testCase struct {
	name  string
	rfc   string // the rule
	why   string // why the two TCPs may differ; empty if they do not
	over4 bool   // runs over IPv4
	over6 bool   // runs over IPv6
	set   settings
	// script is the steps. It begins in the state CLOSED.
	script []string
}

// openings are steps that make a connection. Each stands for several steps. In the first one, $
// stands for the options of the SYN. Timestamps and SACK are used only if both SYNs have them.
var openings = map[string]string{
	"open": `
		listen
		< S 0(0) win 65535 $
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept`,
	"open-closed": `
		listen
		< S 0(0) win 65535 <mss 1400>
		> S. 0(0) ack 1
		< . 1(0) ack 1 win 0
		accept`,
	"open-sack": `
		listen
		< S 0(0) win 65535 <mss 1000,sackOK>
		> S. 0(0) ack 1 <sackOK>
		< . 1(0) ack 1
		accept`,
	"open-stamps": `
		listen
		< S 0(0) win 65535 <mss 1400,ts 1000>
		> S. 0(0) ack 1 <ts>
		< . 1(0) ack 1 <ts 1000>
		accept`,
}

// steps are the words that a step begins with.
var steps map[string]func(r *run, args []string) error

func init() {
	steps = map[string]func(r *run, args []string) error{
		// The program.
		"listen": (*run).listen, "accept": (*run).accept, "connect": (*run).connect, "connected": (*run).connected,
		"write": (*run).write, "read": (*run).readStep, "pending": (*run).pending,
		"closewrite": (*run).closeWrite, "close": (*run).closeStep, "abort": (*run).abort,
		// The peer.
		"<":        (*run).in,         // injects a segment
		"feed":     (*run).feed,       // feed N by K: sends N bytes in segments of K, and waits for their ACK
		"dupacks":  (*run).dupACKs,    // dupacks N: sends the last ACK N times
		"acks":     (*run).acks,       // acks N: acknowledges N bytes, each with a segment of its own
		"sacks":    (*run).sacks,      // sacks N: sends N ACKs with SACK blocks at random
		"toobig":   (*run).tooBig,     // toobig MTU [SEQ]: an ICMP message about the last segment, or as if it were at SEQ
		"noport":   (*run).noPort,     // noport [SEQ]: an ICMP message that nobody listens
		"again":    (*run).again,      // again N: a new connection of the same four-tuple; its SYN has the number N
		">":        (*run).out,        // expects a segment
		"silence":  (*run).silence,    // expects that TCP answered nothing; TCP must be past SYN-RECEIVED
		"settle":   (*run).settle,     // ignores what TCP has answered so far
		"drain":    (*run).drain,      // drain N max M: acknowledges segments until N more bytes have come; the longest has M bytes
		"take":     (*run).take,       // take N: reads segments without acknowledging, until N bytes have come
		"flight":   (*run).flight,     // flight MIN MAX: this many bytes are in flight when TCP has sent all that it may
		"eventual": (*run).eventually, // eventual FLAGS SEQ(LEN) ...: expects a segment, and ignores all before it
		"starve":   (*run).starve,     // starve ERROR: answers each probe of the closed window, until Read returns ERROR
		"vanish":   (*run).vanish,     // answers each probe, too, until TCP answers with a RST because it has forgotten the connection
	}
}

// A run is the execution of a script.
type run struct {
	w             *wire
	c             *testCase
	random        *rand.Rand
	local, remote netip.AddrPort // of TCP, and of the script

	iss    uint32 // initial sequence number of the script
	irs    uint32 // that of TCP, if known
	hasIRS bool

	// The following count from irs and iss.
	top   uint32 // end of the bytes that TCP has sent
	una   uint32 // the script has acknowledged everything before
	acked uint32 // TCP has acknowledged everything before
	edge  uint32 // end of TCP's window

	window    uint16 // of the script's segments
	hostScale int    // of TCP's windows
	stamp     uint32 // of the script's last segment
	stamps    bool   // the script's segments have timestamps
	echo      uint32 // of TCP's last segment
	quotable  []byte // the last packet of TCP that takes sequence numbers
	seen      map[string]bool
	trace     []string

	listener toe.Listener
	stream   toe.Stream
	dialed   chan dialResult
	written  int // bytes that the program has written
	readN    int // bytes that the program has read
}

// execute runs the script of c against the TCP that m makes.
func execute(c *testCase, m maker, v6 bool, seed uint64) error {
	w, err := newWire(m, c.set)
	if err != nil {
		return err
	}
	family := 0
	if v6 {
		family = 1
	}
	r := &run{
		w: w, c: c, random: rand.New(rand.NewPCG(seed, 0)), window: 65535, seen: make(map[string]bool),
		local:  netip.AddrPortFrom(hostAddrs[family], hostPort),
		remote: netip.AddrPortFrom(scriptAddrs[family], scriptPort),
	}
	r.iss = -(r.random.Uint32() >> (r.random.Uint32() % 32)) // often the numbers wrap soon
	defer r.finish()
	for _, line := range c.script {
		if who, rest, ok := strings.Cut(line, ":"); ok && (who == "user" || who == "linux") {
			if who != m.name {
				continue
			}
			line = strings.TrimSpace(rest)
		}
		words := strings.Fields(line)
		step := steps[words[0]]
		if step == nil {
			return fmt.Errorf("no step %q", words[0])
		}
		r.log("%s", line)
		if err := step(r, words[1:]); err != nil {
			return fmt.Errorf("step %q: %w\n%s", line, err, strings.Join(r.trace, "\n"))
		}
	}
	return nil
}

// finish ends everything that the script has left open.
func (r *run) finish() {
	if r.dialed != nil {
		r.w.close() // ends the Dial
		if d := <-r.dialed; d.stream != nil {
			d.stream.Abort()
		}
	}
	if r.stream != nil {
		r.stream.Abort()
	}
	if r.listener != nil {
		r.listener.Close()
	}
	r.w.stop()
}

// log adds a line to the trace, which is shown when the script fails.
func (r *run) log(format string, args ...any) {
	r.trace = append(r.trace, fmt.Sprintf(format, args...))
	if len(r.trace) > 100 {
		r.trace = r.trace[1:]
	}
}

// show logs a segment.
func (r *run) show(direction string, s *segment) {
	seq, ack := s.seq-r.irs, s.ack-r.iss
	if direction == "in" {
		seq, ack = s.seq-r.iss, s.ack-r.irs
	}
	r.log("    %s %s %d(%d) ack %d win %d options %x", direction, s.flags, int32(seq), len(s.payload), int32(ack), s.window, s.options)
}

// number returns the number in word, which may count from the end of TCP's window.
func (r *run) number(word string) (uint32, error) {
	rest, fromEdge := strings.CutPrefix(word, "edge")
	if fromEdge && rest == "" {
		return r.edge, nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if fromEdge {
		n += int64(r.edge)
	}
	return uint32(n), err
}

// numbers returns the numbers in words.
func numbers(words []string, want int) (n []int, err error) {
	if len(words) != want {
		return nil, fmt.Errorf("%d arguments, want %d", len(words), want)
	}
	for _, w := range words {
		v, err := strconv.Atoi(w)
		if err != nil {
			return nil, err
		}
		n = append(n, v)
	}
	return n, nil
}
