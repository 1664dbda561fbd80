package trace

import (
	"strconv"
	"time"
)

// A Text writes events as text, one line for each, like strace. The zero value is ready.
type Text struct{ taken map[uint32]posts }

// posts are the times of the doorbells of a queue pair whose work requests have not all been taken.
type posts []struct {
	below uint64 // the work requests with a number below this one were posted at that time
	at    time.Time
}

// rang is the event that a doorbell was rung.
func (p *posts) rang(e *Event) {
	if n := e.Seq + uint64(e.N); len(*p) == 0 || (*p)[len(*p)-1].below < n {
		*p = append(*p, struct {
			below uint64
			at    time.Time
		}{n, e.At})
	}
}

// took is the event that a work request was taken from the queue. It returns when it was posted.
func (p *posts) took(e *Event) time.Time {
	for len(*p) > 0 && (*p)[0].below <= e.Seq {
		*p = (*p)[1:]
	}
	if len(*p) > 0 && (*p)[0].at.Before(e.At) {
		return (*p)[0].at
	}
	return e.At
}

// Begin returns b: a text has no header.
func (*Text) Begin(b []byte) []byte { return b }

// Append appends the lines for an event.
func (t *Text) Append(b []byte, e *Event) []byte {
	switch e.Kind {
	case Rang:
		if t.taken == nil {
			t.taken = make(map[uint32]posts)
		}
		p := t.taken[e.QP]
		p.rang(e)
		t.taken[e.QP] = p
		return b
	case Done:
		if e.Seen {
			return b // the completion says it
		}
	case Lost:
		b = strconv.AppendUint(append(b, "rddp: "...), uint64(e.N), 10)
		return append(b, " events are missing here, because they came faster than they could be written\n"...)
	}
	if e.PID != 0 {
		b = append(strconv.AppendInt(append(b, "[pid "...), int64(e.PID), 10), "] "...)
	}
	b = e.At.AppendFormat(b, "15:04:05.000000 ")
	if e.QP != 0 {
		b = append(strconv.AppendUint(append(b, "QP "...), uint64(e.QP), 10), ": "...)
	}
	b = t.what(b, e)
	return append(b, '\n')
}

// what appends what an event says about its queue pair.
func (t *Text) what(b []byte, e *Event) []byte {
	switch e.Kind {
	case Command:
		b = append(append(append(b, e.Op...), '('), e.Text...)
		b = append(append(b, ") = "...), e.Status...)
		b = strconv.AppendFloat(append(b, " <"...), e.Dur.Seconds(), 'f', 6, 64)
		return append(b, '>')
	case Process:
		return append(append(b, "the process is "...), e.Text...)
	case Post:
		b = e.request(append(append(b, "post "...), e.Op...))
		p := t.taken[e.QP]
		at := p.took(e)
		if t.taken != nil {
			t.taken[e.QP] = p
		}
		if late := e.At.Sub(at); late >= time.Millisecond {
			b = append(append(b, ", posted "...), late.Round(time.Microsecond).String()...)
			b = append(b, " ago"...)
		}
		return b
	case Done:
		return append(append(strconv.AppendUint(append(b, "done #"...), e.Seq, 10), " without a completion: "...), e.Status...)
	case Forgotten:
		delete(t.taken, e.QP)
		return append(append(b, "what has not completed never will: "...), e.Text...)
	case Take:
		return appendHex(append(b, "receive wr_id "...), e.ID)
	case Filled:
		b = appendHex(append(b, "received wr_id "...), e.ID)
		return append(append(appendBytes(b, e.N), ": "...), e.Status...)
	case Completion:
		b = strconv.AppendUint(append(b, "CQ "...), uint64(e.Queue), 10)
		b = appendHex(append(append(append(b, ": completion of "...), e.Op...), " wr_id "...), e.ID)
		return append(append(appendBytes(b, e.N), ": "...), e.Status...)
	case Out:
		return e.message(append(b, "-> "...))
	case In:
		return e.message(append(b, "<- "...))
	}
	b = append(b, e.Op...)
	if e.Text != "" {
		b = append(append(b, ": "...), e.Text...)
	}
	return b
}

// request appends the fields of a Post but its operation.
func (e *Event) request(b []byte) []byte {
	b = strconv.AppendUint(append(b, " #"...), e.Seq, 10)
	b = appendBytes(appendHex(append(b, " wr_id "...), e.ID), e.N)
	return e.more(b)
}

// message appends the fields of an Out or In.
func (e *Event) message(b []byte) []byte { return e.more(appendBytes(append(b, e.Op...), e.N)) }

// more appends the fields that only some events have.
func (e *Event) more(b []byte) []byte {
	if e.Seen {
		b = appendHex(append(b, ", remote_addr "...), e.Addr)
		b = appendHex(append(b, ", rkey "...), uint64(e.Key))
	}
	if e.Text != "" {
		b = append(append(b, ", "...), e.Text...)
	}
	return b
}

func appendBytes(b []byte, n uint32) []byte {
	return append(strconv.AppendUint(append(b, ", "...), uint64(n), 10), " bytes"...)
}

func appendHex(b []byte, n uint64) []byte { return strconv.AppendUint(append(b, "0x"...), n, 16) }
