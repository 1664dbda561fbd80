package scenario

import (
	"errors"
	"fmt"
	"io"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
)

// This file has the two ends of each Session.

func streamInitiator(e *end) error {
	if err := e.c.EnableDDP(e.ctx, []byte("private data")); err != nil {
		return err
	}
	if _, err := e.c.Write(Pattern(InHello, 30)); err != nil {
		return err
	}
	if err := e.oneSided(); err != nil {
		return err
	}
	if _, err := e.c.Write(Pattern(InLong, 700)); err != nil {
		return err
	}
	if err := e.c.CloseWrite(); err != nil {
		return err
	}
	return e.toTheEnd(300)
}

// toTheEnd reads n octets and then the end of the stream.
func (e *end) toTheEnd(n int) error {
	b, err := io.ReadAll(e.c)
	if wrong := Same("the last octets", b, InBack); wrong != nil || err != nil {
		return errors.Join(wrong, err)
	}
	if len(b) < n {
		return ErrEarly
	}
	if len(b) > n {
		return &WrongOctets{Where: fmt.Sprintf("an end behind %d octets, not %d", len(b), n)}
	}
	return nil
}

// ErrEarly means that the other end has closed the connection in an orderly way, but too early,
// after an error of its own.
var ErrEarly = errors.New("closed by the other end before it had sent everything")

func streamResponder(e *end) error {
	if err := e.c.EnableDDP(e.ctx, []byte("private")); err != nil {
		return err
	}
	if err := e.read("the first Write", 30, InHello); err != nil {
		return err
	}
	if err := e.lend(); err != nil {
		return err
	}
	if err := e.read("the long Write", 700, InLong); err != nil {
		return err
	}
	if err := Same("registered memory", e.memory[8:108], InMemory); err != nil {
		return err
	}
	switch n, err := e.c.Read(make([]byte, 1)); {
	case n != 0 || err == nil:
		return &WrongOctets{Where: "an octet behind the end"}
	case err != io.EOF:
		return err
	}
	_, err := e.c.Write(Pattern(InBack, 300))
	return err
}

func messagesInitiator(e *end) error {
	if err := e.c.EnableDDP(e.ctx, nil); err != nil {
		return err
	}
	if _, err := e.c.Write(Pattern(InHello, 30)); err != nil {
		return err
	}
	if err := e.oneSided(); err != nil {
		return err
	}
	if _, err := e.c.Write(Pattern(InLong, 300)); err != nil {
		return err
	}
	return e.toTheEnd(200)
}

func messagesResponder(e *end) error {
	if err := e.c.EnableDDP(e.ctx, nil); err != nil {
		return err
	}
	if err := e.read("the first message", 30, InHello); err != nil {
		return err
	}
	if err := e.lend(); err != nil {
		return err
	}
	if err := e.read("the second message", 300, InLong); err != nil {
		return err
	}
	if err := Same("registered memory", e.memory[8:108], InMemory); err != nil {
		return err
	}
	_, err := e.c.Write(Pattern(InBack, 200))
	return err
}

// prepare posts the receives of a session of verbs and switches to DDP mode.
func (e *end) prepare() error {
	for id := range e.bufs {
		e.bufs[id] = make([]byte, 64)
		if err := e.c.PostRecv(rdmap.RecvRequest{ID: uint64(id), Buf: e.bufs[id]}); err != nil {
			return err
		}
		e.recvs++
	}
	return e.c.EnableDDP(e.ctx, nil)
}

func (e *end) post(wr rdmap.WorkRequest) error {
	err := e.c.Post(&wr)
	if err == nil {
		e.accepted++
	}
	return err
}

// sent waits for the next Completion of the send queue.
func (e *end) sent() (rdmap.Completion, error) {
	d, err := e.c.SendCQ().Wait(e.ctx)
	if err == nil {
		e.done++
		err = d.Err
	}
	return d, err
}

// received waits for the next message and wants it to have n octets of the pattern.
func (e *end) received(n, kind int) (rdmap.Completion, error) {
	d, err := e.c.RecvCQ().Wait(e.ctx)
	if err != nil {
		return d, err
	}
	e.recvs--
	if d.Err != nil {
		return d, d.Err
	}
	if int(d.Len) != n {
		return d, &WrongOctets{Where: fmt.Sprintf("a message of %d octets, not %d", d.Len, n)}
	}
	return d, Same("a message", e.bufs[d.ID][:n], kind)
}

func verbsInitiator(e *end) error {
	if err := e.prepare(); err != nil {
		return err
	}
	d, err := e.c.RecvCQ().Wait(e.ctx)
	if err != nil {
		return err
	}
	e.recvs--
	if d.Err != nil {
		return d.Err
	}
	h, rest, _ := rdmap.ParseHandle(e.bufs[d.ID])
	served, rest, _ := rdmap.ParseHandle(rest)
	window, _, _ := rdmap.ParseHandle(rest)
	at := h
	at.TO += 8
	wrs := []rdmap.WorkRequest{
		{Op: rdmap.WorkWrite, Data: Pattern(InMemory, 100), Remote: at},
		{Op: rdmap.WorkSend, Data: Pattern(InHello, 50)},
		{Op: rdmap.WorkRead, Data: e.sink, Remote: served},
		{Op: rdmap.WorkFetchAdd, Operand: 5, Remote: h},
		{Op: rdmap.WorkCmpSwap, Compare: 5, Operand: 9, Remote: h},
		{Op: rdmap.WorkSwap, Operand: 1, Remote: h, Fence: true},
		{Op: rdmap.WorkSendInvalidate, Gather: [][]byte{Pattern(InLong, 20), {}}, Invalidate: window.STag},
		{Op: rdmap.WorkImmediate, Immediate: 0x1122334455667788},
		{Op: rdmap.WorkSend, Solicited: true},
	}
	for _, wr := range wrs {
		if err := e.post(wr); err != nil {
			return err
		}
	}
	for _, wr := range wrs {
		d, err := e.sent()
		if err != nil {
			return err
		}
		if want := map[rdmap.WorkOp]uint64{rdmap.WorkCmpSwap: 5, rdmap.WorkSwap: 9}[wr.Op]; d.Op != wr.Op || d.Original != want {
			return &WrongOctets{Where: fmt.Sprintf("Completion %v with %d, want %v with %d", d, d.Original, wr.Op, want)}
		}
	}
	if err := Same("the Read", e.sink, InServed); err != nil {
		return err
	}
	_, err = e.received(40, InBack)
	return err
}

func verbsResponder(e *end) error {
	served := Pattern(InServed, 60)
	r, err := e.c.Register(e.memory, ddp.RemoteWrite|ddp.RemoteAtomic)
	if err != nil {
		return err
	}
	w, err := r.Window(112, 8, ddp.RemoteWrite)
	if err != nil {
		return err
	}
	s, err := e.c.Register(served, ddp.RemoteRead)
	if err != nil {
		return err
	}
	if err := e.prepare(); err != nil {
		return err
	}
	handles := w.Handle().AppendTo(s.Handle().AppendTo(r.Handle().AppendTo(nil)))
	if err := e.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: handles}); err != nil {
		return err
	}
	if _, err := e.received(50, InHello); err != nil {
		return err
	}
	if err := Same("registered memory", e.memory[8:108], InMemory); err != nil {
		return err
	}
	d, err := e.received(20, InLong)
	if err != nil {
		return err
	}
	if !d.HasInvalidated || d.Invalidated != w.Handle().STag {
		return &WrongOctets{Where: fmt.Sprintf("%v does not invalidate %#x", d, w.Handle().STag)}
	}
	if d, err = e.received(0, 0); err != nil {
		return err
	}
	if !d.HasImmediate || d.Immediate != 0x1122334455667788 {
		return &WrongOctets{Where: fmt.Sprintf("%v: Immediate Data %#x", d, d.Immediate)}
	}
	if d, err = e.received(0, 0); err != nil {
		return err
	}
	if !d.Solicited {
		return &WrongOctets{Where: "no Solicited Event"}
	}
	if err := e.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: Pattern(InBack, 40)}); err != nil {
		return err
	}
	if _, err := e.sent(); err != nil { // the handles
		return err
	}
	_, err = e.sent()
	return err
}

// solicitedInitiator sends a Send of each kind. The last two invalidate STags of the Responder.
func solicitedInitiator(e *end) error {
	if err := e.prepare(); err != nil {
		return err
	}
	d, err := e.c.RecvCQ().Wait(e.ctx)
	if err != nil {
		return err
	}
	e.recvs--
	h, rest, err := rdmap.ParseHandle(e.bufs[d.ID])
	if err != nil {
		return err
	}
	other, _, err := rdmap.ParseHandle(rest)
	if err != nil {
		return err
	}
	for _, wr := range []rdmap.WorkRequest{
		{Op: rdmap.WorkSend, Data: Pattern(InHello, 1)},
		{Op: rdmap.WorkSend, Data: Pattern(InHello, 2), Solicited: true},
		{Op: rdmap.WorkSendInvalidate, Data: Pattern(InHello, 3), Invalidate: h.STag},
		{Op: rdmap.WorkSendInvalidate, Data: Pattern(InHello, 4), Invalidate: other.STag, Solicited: true},
	} {
		if err := e.post(wr); err != nil {
			return err
		}
		if _, err := e.sent(); err != nil {
			return err
		}
	}
	_, err = e.received(40, InBack)
	return err
}

func solicitedResponder(e *end) error {
	var stags []ddp.STag
	var handles []byte
	for range 2 {
		r, err := e.c.Register(make([]byte, 8), ddp.RemoteWrite)
		if err != nil {
			return err
		}
		stags, handles = append(stags, r.Handle().STag), r.Handle().AppendTo(handles)
	}
	if err := e.prepare(); err != nil {
		return err
	}
	if err := e.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: handles}); err != nil {
		return err
	}
	for i := range 4 {
		d, err := e.received(1+i, InHello)
		if err != nil {
			return err
		}
		invalidates := i >= 2
		if d.Solicited != (i%2 == 1) || d.HasInvalidated != invalidates || invalidates && d.Invalidated != stags[i-2] {
			return &WrongOctets{Where: fmt.Sprintf("Send %d: %v", i, d)}
		}
	}
	if err := e.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: Pattern(InBack, 40)}); err != nil {
		return err
	}
	for range 2 { // the handles and the answer
		if _, err := e.sent(); err != nil {
			return err
		}
	}
	return nil
}
