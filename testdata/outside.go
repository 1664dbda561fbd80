// This program is of another module, and has its own driver: an RDMA Write that goes from one queue
// pair to another through all layers of this one.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

func main() {
	initiator, responder := mpa.Config{}, mpa.Config{}
	request, err := initiator.Request()
	check(err)
	reply, accepted, err := responder.Accept(request)
	check(err)
	agreed, err := initiator.HandleReply(request, reply)
	check(err)

	domain, sent := new(ddp.Domain), rdmap.NewCompletionQueue(1)
	alice := rdmap.NewQP(rdmap.Config{Domain: domain, QPNum: 1, SendCQ: sent})
	bob := rdmap.NewQP(rdmap.Config{Domain: domain, QPNum: 2})
	alice.Start(rdmap.StartParams{IRD: 1, ORD: 1})
	config := bob.Start(rdmap.StartParams{IRD: 1, ORD: 1})
	admit := config.Admit
	config.Admit = func(tagged bool, rsvdULP uint8, qn ddp.QN) (ddp.Access, error) {
		if op, _ := rdmap.ParseControl(rsvdULP); op != rdmap.OpWrite {
			return 0, fmt.Errorf("only Writes are welcome, not %v", op)
		}
		return admit(tagged, rsvdULP, qn)
	}
	in := ddp.NewReceiver(config)

	memory := make([]byte, 5)
	region, err := domain.Register(memory, ddp.RemoteWrite, 2)
	check(err)
	check(alice.PostSend(&rdmap.WorkRequest{ID: 1, Op: rdmap.WorkWrite, Data: []byte("hello"), Remote: rdmap.Handle{STag: region.STag(), TO: region.TO(), Len: 5}}))

	var cut ddp.Sender
	frames, batch := mpa.NewSender(agreed), mpa.NewBatch(512<<10)
	for alice.NextMessage() {
		for cut.Start(alice.Message()); cut.Next(mpa.MULPDU(1448, false)); {
			segment := cut.Segment()
			frames.Append(batch, false, segment.Header, segment.Payload...)
			cut.Release()
		}
		alice.Sent(1)
	}

	stream := mpa.NewReceiver(accepted)
	stream.SetBuffer(make([]byte, mpa.MinBuffer))
	var off uint64
	for _, piece := range batch.Bufs() { // in place of TCP
		n := copy(stream.Free(), piece)
		stream.Fill(off, n)
		off += uint64(n)
		for stream.Next() {
			u := stream.ULPDU()
			in.Place(u.Off, u.Data)
			for in.Deliver(stream.Edge()) {
				bob.Handle(in.Message())
			}
		}
	}
	check(in.Err())

	var done [1]rdmap.Completion
	_, err = sent.Wait(context.Background(), done[:], false)
	check(err)
	fmt.Println(done[0])
	fmt.Printf("%s\n", memory)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
