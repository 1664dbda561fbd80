package driver

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A narrow is a script that takes at most so many bytes at a time, and whose end comes once it has
// taken all that the test wants.
type narrow struct {
	script
	most int
	wait func() // called by WaitWritable
	take func() // called by TryWriteBatch first, if it is not nil
	over func(out []byte) bool
	end  sync.Once
	done chan struct{}
}

func (s *narrow) ReadSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	l.TakeBack()
	if len(s.in) == 0 {
		<-s.done
	}
	return s.give(l.Lend())
}

func (s *narrow) TryWriteBatch(bufs [][]byte) (n int, err error) {
	if s.take != nil {
		s.take()
	}
	for _, b := range bufs {
		b = b[:min(len(b), s.most-n)]
		n += len(b)
		s.out.Write(b)
	}
	if s.over(s.out.Bytes()) {
		s.end.Do(func() { close(s.done) })
	}
	return n, nil
}

func (s *narrow) WaitWritable() error {
	s.wait()
	return nil
}

// fpdus returns the ULPDUs of a stream without CRC, and how many bytes are behind the last whole
// one.
func fpdus(b []byte) (ulpdus [][]byte, rest int) {
	rx := mpa.NewReceiver(mpa.Agreement{})
	rx.SetBuffer(make([]byte, max(len(b), mpa.MinBuffer)))
	rx.Fill(0, copy(rx.Free(), b))
	for rx.Next() {
		ulpdus = append(ulpdus, rx.ULPDU().Data)
	}
	return ulpdus, len(b) - int(rx.Edge())
}

// answerTo returns what a connection sends that gets Read Requests for all n bytes of a Region:
// requests of them, over a stream that takes most bytes at a time.
func answerTo(t *testing.T, mem []byte, requests, most int, crc bool, take func(), wait func(r *ddp.Region), over func(out []byte) bool) []byte {
	a := mpa.Agreement{CRC: crc}
	domain := new(ddp.Domain)
	r, err := domain.Register(mem, ddp.RemoteRead, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, tx := mpa.NewBatch(mpa.MinBuffer), mpa.NewSender(a)
	for i := range requests {
		h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadRequest), QN: ddp.QNReadRequest, MSN: uint32(i + 1)}
		q := rdmap.ReadRequest{SinkSTag: 7, Size: uint32(len(mem)), SourceSTag: r.STag(), SourceTO: r.TO()}
		tx.Append(b, true, q.AppendTo(h.AppendTo(nil)))
	}
	s := &narrow{most: most, take: take, over: over, done: make(chan struct{}), wait: func() { wait(r) }}
	s.in = bytes.Join(b.Bufs(), nil)
	qp := rdmap.NewQP(rdmap.Config{QPNum: 1, Domain: domain, IRD: 4, ORD: 2})
	d := New(Config{
		Stream: s, QP: qp, Start: rdmap.StartParams{IRD: 4, ORD: 2}, Agreement: a, LargeFPDU: true,
		CloseTimeout: pairCloseTimeout,
	})
	d.Receive()
	d.Close()
	if err := d.background.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s.out.Bytes()
}

// TestResponseFromRegion: long Read Responses without CRC go to TCP from the Region. However little
// TCP takes at a time, their bytes are right, and the Region is not held while the driver waits for
// TCP: Store would wait forever.
func TestResponseFromRegion(t *testing.T) {
	const size, requests = 700_001, 3
	mem := make([]byte, size)
	for i := range mem {
		mem[i] = byte(i * 7 / 5)
	}
	for _, most := range []int{1 << 30, 500_000, 64_768, 1001} {
		for _, crc := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/crc %t", most, crc), func(t *testing.T) {
				whole := requests * size
				out := answerTo(t, bytes.Clone(mem), requests, most, crc, nil, func(r *ddp.Region) {
					if err := r.Store(0, mem); err != nil {
						t.Error(err)
					}
				}, func(out []byte) bool { return len(out) > whole })
				ulpdus, _ := fpdus(out)
				var got []byte
				for _, u := range ulpdus {
					if h, p, err := ddp.ParseTagged(u); err != nil || h.STag != 7 || h.TO != uint64(len(got)%size) {
						t.Fatalf("segment %+v, %v, want TO %d", h, err, len(got)%size)
					} else {
						got = append(got, p...)
					}
				}
				if !bytes.Equal(got, bytes.Repeat(mem, requests)) {
					t.Errorf("%d bytes of payload, which are not the %d of the Region", len(got), whole)
				}
			})
		}
	}
}

// TestResponseFromRegionThatGoes: Deregister in the middle of a Read Response returns while the
// peer takes nothing. What TCP has begun is sent whole, and then a Terminate.
func TestResponseFromRegionThatGoes(t *testing.T) {
	const size = 700_001
	mem := bytes.Repeat([]byte{5}, size)
	isTerminate := func(u []byte) bool {
		h, _, err := ddp.ParseUntagged(u)
		return !ddp.IsTagged(u) && err == nil && h.QN == ddp.QNTerminate
	}
	for _, most := range []int{500_000, 64_768, 1001} {
		out := answerTo(t, mem, 2, most, false, nil, func(r *ddp.Region) {
			r.Deregister()
			clear(mem) // it is the program's again
		}, func(out []byte) bool {
			return bytes.Contains(out[max(0, len(out)-100):], []byte{0, 0, 0, 2, 0, 0, 0, 1}) // QN and MSN of a Terminate
		})
		ulpdus, rest := fpdus(out)
		if rest != 0 || len(ulpdus) < 2 || !isTerminate(ulpdus[len(ulpdus)-1]) {
			t.Fatalf("%d at a time: %d segments, %d bytes of another, want a Terminate at the end", most, len(ulpdus), rest)
		}
		for i, u := range ulpdus[:len(ulpdus)-1] {
			if h, p, err := ddp.ParseTagged(u); err != nil || h.Last && i+1 == len(ulpdus)-1 || bytes.Count(p, []byte{5}) != len(p) {
				t.Errorf("%d at a time: segment %d is %+v, %v, with %d bytes from after Deregister", most, i, h, err, bytes.Count(p, []byte{0}))
			}
		}
		for i := range mem {
			mem[i] = 5
		}
	}
}

// TestResponseWithCRC: the CRC of a Read Response matches what TCP gets, though the program changes
// the memory meanwhile.
func TestResponseWithCRC(t *testing.T) {
	mem := make([]byte, 700_001)
	n := 0
	out := answerTo(t, mem, 1, 500_000, true, func() {
		for i := range mem {
			mem[i]++
		}
	}, func(*ddp.Region) {}, func(out []byte) bool {
		n = len(out)
		return n > len(mem)
	})
	rx := mpa.NewReceiver(mpa.Agreement{CRC: true})
	rx.SetBuffer(make([]byte, max(len(out), mpa.MinBuffer)))
	for rx.Fill(0, copy(rx.Free(), out)); rx.Next(); {
	}
	if rx.Err() != nil || rx.Edge() != uint64(n) {
		t.Errorf("%d of %d bytes are right: %v", rx.Edge(), n, rx.Err())
	}
}
