package tcpscript

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

var errSilent = errors.New("TCP sent nothing")

// receive waits for the next segment of TCP and learns from it.
func (r *run) receive() (*segment, error) { return r.receiveUntil(nil) }

// receiveUntil is receive, but returns nil and the error from stop if that comes first.
func (r *run) receiveUntil(stop <-chan error) (*segment, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case p := <-r.w.sent:
			s, ok := decode(p)
			if !ok || s.src.Addr() != r.local.Addr() || s.dst != r.remote {
				continue // an ICMP message, such as a Router Solicitation
			}
			if r.local.Port() == 0 {
				r.local = s.src
			}
			if s.src != r.local {
				continue
			}
			if s.length() > 0 {
				r.quotable = p
			}
			return &s, r.learn(&s)
		case err := <-stop:
			return nil, err
		case <-limit.C:
			return nil, errSilent
		}
	}
}

// learn updates the script's knowledge of TCP, and checks the rules for every segment.
func (r *run) learn(s *segment) error {
	isSYN, isACK, isRST := strings.Contains(s.flags, "S"), strings.Contains(s.flags, "."), strings.Contains(s.flags, "R")
	options, err := parseOptions(s.options)
	if err != nil {
		return err
	}
	if isSYN && !r.hasIRS {
		r.irs, r.hasIRS = s.seq, true
		if ws := options["ws"]; ws != nil {
			r.hostScale = int(ws[0])
		}
	}
	r.show("out", s)
	seq := s.seq - r.irs
	for i, b := range s.payload {
		if n := seq + uint32(i); int32(n-r.una) >= 0 && b != outByte(n-1) {
			return fmt.Errorf("byte %d of the program's stream is %#x, want %#x", n-1, b, outByte(n-1))
		}
	}
	if end := seq + s.length(); !isRST && int32(end-r.top) > 0 {
		r.top = end
	}
	if isACK && !isRST {
		r.acked = s.ack - r.iss
		r.edge = r.acked + uint32(s.window)<<r.scale(isSYN)
	}
	if ts := options["ts"]; ts != nil {
		r.echo = ts[0]
	}
	return nil
}

// scale returns the scale of TCP's window. The scripts' SYNs have a window scale only if the window
// does not matter.
func (r *run) scale(isSYN bool) int {
	if isSYN || !strings.Contains(strings.Join(r.c.script, "\n"), "ws") {
		return 0
	}
	return r.hostScale
}

// repeated reports whether s takes sequence numbers and has been sent before: TCP repeats such
// segments when time passes.
func (r *run) repeated(s *segment) bool {
	key := fmt.Sprint(s.flags, s.seq, len(s.payload))
	before := r.seen[key] && s.length() > 0
	r.seen[key] = true
	return before
}

// out expects a segment: FLAGS SEQ(LEN), and then any of ack N, win N and <...>, a list of options
// that the segment has: mss, ws, sackOK, ts and sb, each alone or with its numbers. An option whose
// name has a ! before it must be absent.
func (r *run) out(args []string) error {
	for {
		s, err := r.receive()
		if err != nil {
			return err
		}
		again := r.repeated(s)
		if err = r.match(s, args); err == nil || !again {
			return err
		}
	}
}

// eventually expects a segment and ignores those before it.
func (r *run) eventually(args []string) error {
	limit := time.Now().Add(patience)
	for {
		s, err := r.receive()
		if err != nil {
			return err
		}
		r.repeated(s)
		if err = r.match(s, args); err == nil || time.Now().After(limit) {
			return err
		}
	}
}

// match compares the segment s with the words of a step.
func (r *run) match(s *segment, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("no segment")
	}
	from, length, _ := strings.Cut(strings.TrimSuffix(args[1], ")"), "(")
	flags := strings.Map(func(c rune) rune {
		if c == 'P' || c == 'E' || c == 'C' {
			return -1
		}
		return c
	}, s.flags)
	checks := []struct {
		what string
		got  uint32
		want string
	}{{"sequence number", s.seq - r.irs, from}, {"length", uint32(len(s.payload)), length}}
	if flags != args[0] && args[0] != "*" {
		return fmt.Errorf("flags %s, want %s", flags, args[0])
	}
	args = args[2:]
	for len(args) >= 2 && args[0][0] != '<' {
		got := map[string]uint32{"ack": s.ack - r.iss, "win": uint32(s.window)}
		if _, known := got[args[0]]; !known {
			return fmt.Errorf("no word %q", args[0])
		}
		checks = append(checks, struct {
			what string
			got  uint32
			want string
		}{args[0], got[args[0]], args[1]})
		args = args[2:]
	}
	for _, c := range checks {
		if c.want == "*" {
			continue
		}
		want, err := strconv.ParseInt(c.want, 10, 64)
		if err != nil {
			return err
		}
		if c.got != uint32(want) {
			return fmt.Errorf("%s %d, want %d", c.what, int32(c.got), want)
		}
	}
	return r.matchOptions(s, strings.Join(args, " "))
}

// matchOptions compares the options of s with a list.
func (r *run) matchOptions(s *segment, list string) error {
	has, err := parseOptions(s.options)
	if err != nil || list == "" {
		return err
	}
	for _, option := range strings.Split(strings.Trim(list, "<>"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(option), " ")
		name, without := strings.CutPrefix(name, "!")
		got, there := has[name]
		if there == without {
			return fmt.Errorf("option %s: %v, want %q", name, there, option)
		}
		if value == "" {
			continue
		}
		var want []uint32
		for _, word := range strings.FieldsFunc(value, func(c rune) bool { return c == ':' || c == ' ' }) {
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				return err
			}
			if name == "sb" { // TCP's blocks are about the script's bytes
				n += int64(r.iss)
			}
			want = append(want, uint32(n))
		}
		if !slices.Equal(got[:min(len(got), len(want))], want) {
			return fmt.Errorf("option %s %d, want %d", name, got, want)
		}
	}
	return nil
}

// fence returns a segment that ends before the window, which TCP answers at once with an ACK (RFC
// 9293 §3.10.7.4). It ends a byte before TCP's last ACK, too: Linux answers a segment that ends
// there with the next one that it sends anyway.
func (r *run) fence() *segment { return r.plain(".", r.acked-2, r.una, 1) }

// silence sends a fence. TCP must send nothing before the answer.
func (r *run) silence(args []string) error {
	if err := r.send(r.fence()); err != nil {
		return err
	}
	return r.out([]string{".", "*(0)", "ack", strconv.Itoa(int(r.acked))})
}

// settle sends a fence, and ignores everything before the answer.
func (r *run) settle([]string) error {
	if err := r.send(r.fence()); err != nil {
		return err
	}
	return r.eventually([]string{".", "*(0)", "ack", strconv.Itoa(int(r.acked))})
}

// drain acknowledges what TCP sends: N max M.
func (r *run) drain(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%d arguments", len(args))
	}
	n, err := numbers([]string{args[0], args[2]}, 2)
	if err != nil {
		return err
	}
	longest := 0
	for end := r.una + uint32(n[0]); int32(r.una-end) < 0; {
		s, err := r.receive()
		if err != nil {
			return err
		}
		if again := r.repeated(s); len(s.payload) == 0 {
			probe := s.flags == "." && int32(s.seq-r.irs-r.una) < 0 // a probe of a window that has just been opened
			if again || probe {
				continue
			}
			return fmt.Errorf("flags %s instead of data", s.flags)
		}
		longest = max(longest, len(s.payload))
		r.una = r.top
		if err := r.send(r.plain(".", r.acked, r.una, 0)); err != nil {
			return err
		}
	}
	if longest != n[1] {
		return fmt.Errorf("the longest segment has %d bytes, want %d", longest, n[1])
	}
	return nil
}

// take reads segments without acknowledging them, until N bytes have arrived.
func (r *run) take(args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	for end := r.una + uint32(n[0]); int32(r.top-end) < 0; {
		s, err := r.receive()
		if err != nil {
			return err
		}
		if again := r.repeated(s); len(s.payload) == 0 && !again {
			return fmt.Errorf("flags %s instead of data", s.flags)
		}
	}
	return nil
}

// flight counts the bytes on their way.
func (r *run) flight(args []string) error {
	n, err := numbers(args, 2)
	if err != nil {
		return err
	}
	if err := r.settle(nil); err != nil {
		return err
	}
	if got := int(r.top - r.una); got < n[0] || got > n[1] {
		return fmt.Errorf("%d bytes are on their way, want %d to %d", got, n[0], n[1])
	}
	return nil
}

// starve answers each segment of TCP, and keeps the window closed, until Read ends.
func (r *run) starve(args []string) error {
	ended := make(chan error, 1)
	go func() { ended <- r.readStep(args) }()
	r.window = 0
	for {
		s, err := r.receiveUntil(ended)
		if s == nil {
			return err // nil if Read has returned the expected error
		}
		if err == nil {
			err = r.send(r.plain(".", r.acked, r.una, 0))
		}
		if err != nil {
			return err
		}
	}
}

// vanish acknowledges nothing, and keeps the window closed, until TCP has forgotten the connection.
func (r *run) vanish([]string) error {
	r.window = 0
	next := make(chan error, 1)
	// Each of our segments delays TCP's next probe, so they become rarer.
	for pause := 10 * time.Millisecond; pause < patience; pause *= 2 {
		time.AfterFunc(pause, func() { next <- nil })
		for {
			s, err := r.receiveUntil(next)
			if err != nil {
				return err
			}
			if s == nil {
				break
			}
			if strings.Contains(s.flags, "R") {
				return nil
			}
		}
		if err := r.send(r.plain(".", r.acked, r.una, 0)); err != nil {
			return err
		}
	}
	return errors.New("TCP still has the connection")
}
