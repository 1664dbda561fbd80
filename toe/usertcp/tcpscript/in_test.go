package tcpscript

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// inByte is byte number n of the stream that the script sends, and outByte that of the program.
func inByte(n uint32) byte  { return byte(n*7 ^ n>>8) }
func outByte(n uint32) byte { return byte(n*11 ^ n>>7 ^ 0x55) }

// payload returns n bytes of the script's stream, from the sequence number seq on.
func payload(seq uint32, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = inByte(seq + uint32(i) - 1)
	}
	return b
}

// send sends a segment unchanged.
func (r *run) send(s *segment) error { return r.sendPackets(s, s.inIP(s.encode())) }

func (r *run) sendPackets(s *segment, packets ...[]byte) error {
	r.show("in", s)
	for _, p := range packets {
		if _, err := r.w.link.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// plain returns a segment with the options that every segment has.
func (r *run) plain(flags string, seq, ack uint32, n int) *segment {
	s := &segment{
		src: r.remote, dst: r.local, flags: flags, seq: r.iss + seq, ack: r.irs + ack, window: r.window, payload: payload(seq, n),
	}
	if r.stamps {
		s.options = stampOption(r.stamp, r.echo)
	}
	return s
}

// stampOption returns the timestamps option with two NOPs.
func stampOption(value, echo uint32) []byte {
	b := []byte{1, 1, 8, 10}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, value), echo)
}

// in injects a segment: FLAGS SEQ(LEN), and then any of
//
//	ack N, win N   win also applies to the following segments. Without ack everything is acknowledged.
//	<...>          options: mss N, ws N, sackOK, ts VALUE, ts VALUE+ECHO, sb START:END, raw HEX, none
//	fill           the payload has other bytes than the stream
//	badsum, badip  a wrong checksum of TCP, or of IPv4
//	doff N, urg N  data offset, urgent pointer
//	cut N          the packet ends after N bytes of TCP; its IP length says so too
//	iplen N        the IP length is wrong by N
//	frag N         two fragments, the first with N bytes of TCP
//	overlap N      the same, but the second repeats the last 8 bytes of the first
//	lsrr           an IPv4 source route
//	ipopts         IPv4 options, or an IPv6 extension header
func (r *run) in(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("no segment")
	}
	from, length, ok := strings.Cut(strings.TrimSuffix(args[1], ")"), "(")
	seq, err := r.number(from)
	n, err2 := strconv.Atoi(length)
	if !ok || err != nil || err2 != nil {
		return fmt.Errorf("sequence numbers %q", args[1])
	}
	s := r.plain(strings.ReplaceAll(args[0], "-", ""), seq, r.top, n)
	if !strings.Contains(s.flags, ".") {
		s.ack = 0
	}
	finish := func(b []byte) [][]byte { return [][]byte{s.inIP(b)} }
	for args = args[2:]; len(args) > 0; args = args[1:] {
		if option := strings.Join(args, " "); option[0] == '<' {
			list, rest, ok := strings.Cut(option[1:], ">")
			if !ok {
				return fmt.Errorf("options %q", option)
			}
			if s.options, err = r.options(list, strings.Contains(s.flags, "S")); err != nil {
				return err
			}
			args = append([]string{""}, strings.Fields(rest)...)
			continue
		}
		word := args[0]
		value := int64(0)
		switch word {
		case "ack", "win", "doff", "urg", "cut", "iplen", "frag", "overlap":
			if len(args) < 2 {
				return fmt.Errorf("%s without a number", word)
			}
			if value, err = strconv.ParseInt(args[1], 10, 64); err != nil {
				return err
			}
			args = args[1:]
		}
		if f := r.word(s, word, int(value)); f != nil {
			finish = f
		} else if !knownWords[word] {
			return fmt.Errorf("no word %q", word)
		}
	}
	if ack := s.ack - r.irs; strings.Contains(s.flags, ".") && int32(ack-r.una) > 0 && int32(ack-r.top) <= 0 {
		r.una = ack
	}
	return r.sendPackets(s, finish(s.encode())...)
}

// knownWords are the words that change the segment and not its packets.
var knownWords = map[string]bool{"ack": true, "win": true, "doff": true, "urg": true, "fill": true}

// word changes the segment s as one word of a step says. If the word is about how packets are made,
// it returns a function that makes them.
func (r *run) word(s *segment, word string, value int) func(b []byte) [][]byte {
	switch word {
	case "ack":
		s.ack = r.irs + uint32(value)
	case "win":
		r.window = uint16(value)
		s.window = r.window
	case "doff":
		s.offset = value
	case "urg":
		s.urgent = uint16(value)
	case "fill":
		for i := range s.payload {
			s.payload[i] ^= 0xff
		}
	case "badsum":
		return func(b []byte) [][]byte {
			b[16] ^= 0x40
			return [][]byte{s.inIP(b)}
		}
	case "badip":
		return func(b []byte) [][]byte {
			p := s.inIP(b)
			p[10] ^= 0x40
			return [][]byte{p}
		}
	case "cut":
		return func(b []byte) [][]byte { return [][]byte{s.inIP(b[:value])} }
	case "iplen":
		return func(b []byte) [][]byte { return [][]byte{lengthen(s.inIP(b), value)} }
	case "frag":
		return func(b []byte) [][]byte { return s.inFragments(b, value, value) }
	case "overlap":
		return func(b []byte) [][]byte { return s.inFragments(b, value, value-8) }
	case "lsrr":
		return func(b []byte) [][]byte { return [][]byte{s.sourceRouted(b)} }
	case "ipopts":
		return func(b []byte) [][]byte { return [][]byte{s.withOptions(b)} }
	}
	return nil
}

// lengthen adds n to the length that the IP header of p states.
func lengthen(p []byte, n int) []byte {
	at := 2
	if p[0]>>4 == 6 {
		at = 4
	}
	binary.BigEndian.PutUint16(p[at:], uint16(int(binary.BigEndian.Uint16(p[at:]))+n))
	if at == 2 { // the header's checksum changes by as much
		sum := uint32(binary.BigEndian.Uint16(p[10:])) + 0xffff - uint32(n)
		binary.BigEndian.PutUint16(p[10:], uint16(sum+sum>>16))
	}
	return p
}

// options encodes the options of a step. A timestamp also applies to the following segments.
func (r *run) options(list string, syn bool) (b []byte, err error) {
	var blocks []byte
	for _, option := range strings.Split(list, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(option), " ")
		switch name {
		case "none", "":
		case "mss", "ws":
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, err
			}
			if name == "mss" {
				b = binary.BigEndian.AppendUint16(append(b, 2, 4), uint16(n))
			} else {
				b = append(b, 1, 3, 3, byte(n))
			}
		case "sackOK":
			b = append(b, 1, 1, 4, 2)
		case "ts":
			value, ahead, _ := strings.Cut(value, "+")
			v, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return nil, err
			}
			echo, _ := strconv.ParseUint("0"+ahead, 10, 32)
			b = append(b, stampOption(uint32(v), r.echo+uint32(echo))...)
			if int32(uint32(v)-r.stamp) > 0 || syn {
				r.stamp = uint32(v)
			}
			r.stamps = true
		case "sb":
			start, end, _ := strings.Cut(value, ":")
			for _, word := range []string{start, end} {
				n, err := strconv.ParseInt(word, 10, 64)
				if err != nil {
					return nil, err
				}
				blocks = binary.BigEndian.AppendUint32(blocks, r.irs+uint32(n))
			}
		case "raw":
			raw, err := hex.DecodeString(value)
			if err != nil {
				return nil, err
			}
			b = append(b, raw...)
		default:
			return nil, fmt.Errorf("no option %q", name)
		}
	}
	if blocks != nil {
		b = slices.Concat(b, []byte{1, 1, 5, byte(2 + len(blocks))}, blocks)
	}
	return b, nil
}

// feed sends the next bytes of the stream and waits until TCP has acknowledged them: N by K.
func (r *run) feed(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%d arguments", len(args))
	}
	n, err := numbers([]string{args[0], args[2]}, 2)
	if err != nil {
		return err
	}
	end := r.acked + uint32(n[0])
	for seq := r.acked; seq != end; {
		k := min(n[1], int(end-seq))
		if err := r.send(r.plain(".", seq, r.una, k)); err != nil {
			return err
		}
		seq += uint32(k)
	}
	for r.acked != end {
		s, err := r.receive()
		if err != nil {
			return err
		}
		if again := r.repeated(s); (s.flags != "." || len(s.payload) > 0) && !again {
			return fmt.Errorf("TCP sent flags %s with %d bytes instead of an ACK", s.flags, len(s.payload))
		}
	}
	return nil
}

// dupACKs sends the last ACK repeatedly.
func (r *run) dupACKs(args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	for range n[0] {
		if err := r.send(r.plain(".", r.acked, r.una, 0)); err != nil {
			return err
		}
	}
	return nil
}

// acks acknowledges byte by byte.
func (r *run) acks(args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	for range n[0] {
		r.una++
		if err := r.send(r.plain(".", r.acked, r.una, 0)); err != nil {
			return err
		}
	}
	return nil
}

// sacks sends ACKs with SACK blocks at random places near the bytes that TCP has sent.
func (r *run) sacks(args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	for range n[0] {
		s := r.plain(".", r.acked, r.una, 0)
		blocks := 1 + r.random.IntN(4)
		if len(s.options) > 0 {
			blocks = 1 + r.random.IntN(3)
		}
		s.options = append(s.options, 1, 1, 5, byte(2+8*blocks))
		for range 2 * blocks {
			s.options = binary.BigEndian.AppendUint32(s.options, r.irs+r.una+r.random.Uint32N(r.top-r.una+100)-50)
		}
		if err := r.send(s); err != nil {
			return err
		}
	}
	return nil
}

// quote returns the beginning of the last packet of TCP, as an ICMP message quotes it. An argument
// replaces the sequence number in it.
func (r *run) quote(args []string) ([]byte, error) {
	header := 20
	if r.local.Addr().Is6() {
		header = 40
	}
	if len(r.quotable) < header+8 {
		return nil, fmt.Errorf("TCP has sent nothing to quote")
	}
	q := slices.Clone(r.quotable[:header+8])
	if len(args) > 0 {
		n, err := numbers(args, 1)
		if err != nil {
			return nil, err
		}
		binary.BigEndian.PutUint32(q[header+4:], r.irs+uint32(n[0]))
	}
	return q, nil
}

func (r *run) tooBig(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no MTU")
	}
	mtu, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	q, err := r.quote(args[1:])
	if err != nil {
		return err
	}
	_, err = r.w.link.Write(tooBig(r.remote.Addr(), r.local.Addr(), mtu, q))
	return err
}

func (r *run) noPort(args []string) error {
	q, err := r.quote(args)
	if err != nil {
		return err
	}
	_, err = r.w.link.Write(unreachable(r.remote.Addr(), r.local.Addr(), q))
	return err
}

// again forgets the connection, because a new one begins.
func (r *run) again(args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	r.iss += uint32(n[0])
	r.hasIRS, r.irs, r.top, r.una, r.acked, r.stamps = false, 0, 0, 0, 0, false
	r.seen = make(map[string]bool)
	return nil
}
