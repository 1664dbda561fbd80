package main

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
)

// A handPair is both ends of a connection, whose layers one goroutine drives by hand. There are two
// connections: one for the layers, and one for plain TCP.
type handPair struct {
	job     job
	a, b    handEnd
	region  *ddp.Region // of b
	x, y    toe.Stream  // plain TCP
	lent    lender
	left    [1][]byte
	request [plainRequest]byte
	watch   *stopwatch
	at      int
	done    [1]rdmap.Completion

	plainTimes *hdrhistogram.Histogram // of plain TCP, driven in the same way
	sockets    *socketPair             // of a Send; nil otherwise
	timeout    time.Duration
}

// A handEnd is one end.
type handEnd struct {
	stream toe.Stream
	domain *ddp.Domain
	qp     *rdmap.QP
	cq     *rdmap.CompletionQueue // of both queues
	dtx    ddp.Sender
	drx    *ddp.Receiver
	mtx    *mpa.Sender
	mrx    *mpa.Receiver
	batch  *mpa.Batch
	ring   []byte
}

// Lend lends the free part of the receive buffer.
func (e *handEnd) Lend() []byte { return e.mrx.Free() }

// TakeBack keeps the buffer.
func (e *handEnd) TakeBack() bool { return true }

// A lender lends the same memory again and again.
type lender struct{ p []byte }

func (l *lender) Lend() []byte   { return l.p }
func (l *lender) TakeBack() bool { return true }

// The buffers of an end are those of the driver of package extsock.
const handBuffer = 512 << 10

func newHandPair(ctx context.Context, s *settings, j job) (p *handPair, err error) {
	p = &handPair{job: j, timeout: timeout, watch: newStopwatch(), plainTimes: newHistogram()}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.a.stream, p.b.stream, err = loopback(ctx, s); err != nil {
		return nil, err
	}
	if p.x, p.y, err = loopback(ctx, s); err != nil {
		return nil, err
	}
	if j.op == opSend {
		if p.sockets, err = newSocketPair(ctx, s, j); err != nil {
			return nil, err
		}
	}
	ring := max(s.Ring/j.size*j.size, j.size)
	p.a.init(1, j.crc != off, ring)
	p.b.init(2, j.crc != off, ring)
	if p.region, err = p.b.domain.Register(p.b.ring, ddp.RemoteRead|ddp.RemoteWrite, 2); err != nil {
		return nil, err
	}
	return p, nil
}

func (e *handEnd) init(number uint64, crc bool, ring int) {
	e.domain, e.ring = new(ddp.Domain), make([]byte, ring)
	touch(e.ring)
	e.cq = rdmap.NewCompletionQueue(256)
	e.qp = rdmap.NewQP(rdmap.Config{Domain: e.domain, QPNum: number, SendCQ: e.cq, RecvCQ: e.cq})
	e.drx = ddp.NewReceiver(e.qp.Start(rdmap.StartParams{Initiator: number == 1, IRD: 16, ORD: 16}))
	agreed := mpa.Agreement{CRC: crc}
	e.mtx, e.mrx, e.batch = mpa.NewSender(agreed), mpa.NewReceiver(agreed), mpa.NewBatch(handBuffer)
	e.mrx.Destination = e.drx.Destination
	e.mrx.SetBuffer(make([]byte, handBuffer))
}

// loopback returns both ends of a TCP connection of this process.
func loopback(ctx context.Context, s *settings) (a, b toe.Stream, err error) {
	x, y, err := tcpPair(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	return kernel.New(x.(*net.TCPConn)), kernel.New(y.(*net.TCPConn)), nil
}

// tcpPair is loopback without Streams.
func tcpPair(ctx context.Context, s *settings) (x, y net.Conn, err error) {
	l, err := (&net.ListenConfig{Control: beginWith(s.Congestion)}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	d := net.Dialer{Timeout: timeout, Control: beginWith(s.Congestion)}
	x, err = d.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	y, err = l.Accept()
	if err == nil {
		err = errors.Join(tune(x, s.Buffer), tune(y, s.Buffer))
	}
	if err == nil && y.RemoteAddr().String() != x.LocalAddr().String() {
		err = errStranger
	}
	if err != nil {
		x.Close()
		if y != nil {
			y.Close()
		}
		return nil, nil, err
	}
	return x, y, nil
}

func (p *handPair) close() {
	for _, s := range []toe.Stream{p.a.stream, p.b.stream, p.x, p.y} {
		if s != nil {
			s.Close()
		}
	}
	if p.sockets != nil {
		p.sockets.close()
	}
}

// operations returns the operations of a round.
func (p *handPair) operations() []func() error {
	if p.sockets != nil {
		return []func() error{p.plain, p.operate, p.message}
	}
	return []func() error{p.plain, p.operate}
}

// round repeats an operation for the time d, at least once.
func (p *handPair) round(ctx context.Context, d time.Duration, operate func() error) error {
	deadline := time.Now().Add(p.timeout)
	for _, s := range []toe.Stream{p.a.stream, p.b.stream, p.x, p.y} {
		if err := s.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if p.sockets != nil {
		p.sockets.setDeadline(deadline)
	}
	for begin := time.Now(); ; {
		if err := operate(); err != nil {
			return err
		}
		if time.Since(begin) >= d {
			return ctx.Err()
		}
	}
}

// place returns the next place of the rings, as an offset.
func (p *handPair) place() int {
	at := p.at
	if p.at += p.job.size; p.at+p.job.size > len(p.a.ring) {
		p.at = 0
	}
	return at
}

// plainRequest is the length in bytes of the request that plain sends for a Read.
const plainRequest = 32

// plain runs one operation by plain TCP: it writes the bytes and reads them. A Read has a request
// before that.
func (p *handPair) plain() error {
	at, begin := p.place(), time.Now()
	if p.job.op == opRead {
		if err := p.copyPlain(p.y, p.x, p.request[:], p.request[:]); err != nil {
			return err
		}
	}
	if err := p.copyPlain(p.x, p.y, p.a.ring[at:at+p.job.size], p.b.ring[at:at+p.job.size]); err != nil {
		return err
	}
	return p.plainTimes.RecordValue(min(int64(time.Since(begin)), maxLatency))
}

// copyPlain writes src to one end and reads dst, of the same length, at the other end.
func (p *handPair) copyPlain(from, to toe.Stream, src, dst []byte) error {
	p.left[0] = src
	for len(dst) > 0 {
		if len(p.left[0]) > 0 {
			n, err := from.TryWriteBatch(p.left[:])
			if err != nil {
				return err
			}
			p.left[0] = p.left[0][n:]
		}
		p.lent.p = dst
		n, _, err := to.ReadSegment(&p.lent, 0)
		if err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}

// operate runs one operation, from the Work Request to its Completion.
func (p *handPair) operate() error {
	at := p.place()
	data := p.a.ring[at : at+p.job.size]
	wr := rdmap.WorkRequest{Op: rdmap.WorkSend, Data: data}
	remote := rdmap.Handle{STag: p.region.STag(), TO: p.region.TO() + uint64(at), Len: uint32(p.job.size)}
	p.watch.start()
	switch p.job.op {
	case opWrite:
		wr.Op, wr.Remote = rdmap.WorkWrite, remote
	case opRead:
		wr.Op, wr.Remote = rdmap.WorkRead, remote
	default:
		if err := p.b.qp.PostRecv(rdmap.RecvRequest{Buf: p.b.ring[at : at+p.job.size]}); err != nil {
			return err
		}
	}
	if err := p.a.qp.PostSend(&wr); err != nil {
		return err
	}
	p.watch.lap(stepPost)
	if err := p.carry(&p.a, &p.b); err != nil {
		return err
	}
	if p.job.op == opRead {
		if err := p.carry(&p.b, &p.a); err != nil {
			return err
		}
	}
	if err := p.complete(p.a.cq); err != nil {
		return err
	}
	if p.job.op == opSend {
		if err := p.complete(p.b.cq); err != nil {
			return err
		}
	}
	p.watch.lap(stepComplete)
	p.watch.stop()
	return nil
}

// message sends one message from one extended socket to the other.
func (p *handPair) message() error {
	at := p.place()
	return p.sockets.operate(p.a.ring[at:at+p.job.size], p.b.ring[at:at+p.job.size])
}

// complete takes the Completion of the operation.
func (p *handPair) complete(cq *rdmap.CompletionQueue) error {
	if cq.Poll(p.done[:]) != 1 {
		return errNoCompletion
	}
	return p.done[0].Err
}

// carry sends everything that one end has to send to the other end.
func (p *handPair) carry(from, to *handEnd) error {
	for from.qp.NextMessage() {
		from.dtx.Start(from.qp.Message())
		p.watch.lap(stepMessage)
		for last := false; !last; {
			if !from.dtx.Next(mpa.MaxULPDU) {
				return from.dtx.Err()
			}
			p.watch.lap(stepSegment)
			s := from.dtx.Segment()
			from.mtx.Append(from.batch, s.Snapshot, s.Header, s.Payload...)
			last = s.Last
			from.dtx.Release()
			p.watch.lap(stepFPDU)
			if last || from.batch.Full() {
				if err := p.flush(from, to); err != nil {
					return err
				}
			}
		}
		from.qp.Sent(1)
		p.watch.lap(stepSent)
	}
	return errors.Join(from.qp.Err(), to.qp.Err())
}

// flush writes the batch, and reads at the other end until everything has arrived.
func (p *handPair) flush(from, to *handEnd) error {
	left := from.batch.Bufs()
	for rest := from.batch.Len(); rest > 0; {
		if len(left) > 0 {
			n, err := from.stream.TryWriteBatch(left)
			if err != nil {
				return err
			}
			for len(left) > 0 && n >= len(left[0]) {
				n -= len(left[0])
				left = left[1:]
			}
			if n > 0 {
				left[0] = left[0][n:]
			}
			p.watch.lap(stepWrite)
		}
		n, off, err := to.stream.ReadSegment(to, 0)
		if err != nil {
			return err
		}
		rest -= n
		to.mrx.Fill(off, n)
		p.watch.lap(stepRead)
		if err := p.receive(to); err != nil {
			return err
		}
	}
	from.batch.Reset()
	return nil
}

// receive takes the FPDUs that have arrived, and handles the messages that they complete.
func (p *handPair) receive(to *handEnd) error {
	for to.mrx.Next() {
		u := to.mrx.ULPDU()
		p.watch.lap(stepVerify)
		to.drx.Place(u.Off, u.Data)
		p.watch.lap(stepPlace)
		for to.drx.Deliver(to.mrx.Edge()) {
			p.watch.lap(stepDeliver)
			to.qp.Handle(to.drx.Message())
			p.watch.lap(stepHandle)
		}
		p.watch.lap(stepDeliver)
	}
	p.watch.lap(stepVerify)
	return errors.Join(to.mrx.Err(), to.drx.Err())
}
