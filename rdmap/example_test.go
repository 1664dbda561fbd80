package rdmap_test

import (
	"context"
	"fmt"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
)

// Two QPs, with a driver that carries segments from one to the other in memory.
func Example() {
	domain := new(ddp.Domain)
	sent, received := rdmap.NewCompletionQueue(2), rdmap.NewCompletionQueue(1)
	alice := rdmap.NewQP(rdmap.Config{Domain: domain, QPNum: 1, SendCQ: sent})
	bob := rdmap.NewQP(rdmap.Config{Domain: domain, QPNum: 2, RecvCQ: received})
	alice.Start(rdmap.StartParams{IRD: 4, ORD: 4})
	rx := ddp.NewReceiver(bob.Start(rdmap.StartParams{IRD: 4, ORD: 4}))

	// Bob lets Alice write to his memory, and waits for her message that she has written.
	memory := make([]byte, 5)
	region, err := domain.Register(memory, ddp.RemoteWrite, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	message := make([]byte, 16)
	if err := bob.PostRecv(rdmap.RecvRequest{ID: 1, Buf: message}); err != nil {
		fmt.Println(err)
		return
	}

	// Alice got the handle by some other means.
	handle := rdmap.Handle{STag: region.STag(), TO: region.TO(), Len: 5}
	for _, wr := range []rdmap.WorkRequest{
		{ID: 10, Op: rdmap.WorkWrite, Data: []byte("hello"), Remote: handle},
		{ID: 11, Op: rdmap.WorkSend, Data: []byte("written")},
	} {
		if err := alice.PostSend(&wr); err != nil {
			fmt.Println(err)
			return
		}
	}

	// The driver.
	var tx ddp.Sender
	var off uint64
	for alice.NextMessage() {
		tx.Start(alice.Message())
		for tx.Next(1000) {
			segment := tx.Segment()
			ulpdu := append([]byte(nil), segment.Header...)
			for _, piece := range segment.Payload {
				ulpdu = append(ulpdu, piece...)
			}
			tx.Release()
			rx.Place(off, ulpdu)
			off += uint64(len(ulpdu))
			for rx.Deliver(off) {
				bob.Handle(rx.Message())
			}
		}
		alice.Sent(1)
	}

	var done [1]rdmap.Completion
	for range 2 {
		sent.Wait(context.Background(), done[:], false)
		fmt.Println(done[0])
	}
	received.Wait(context.Background(), done[:], false)
	fmt.Println(done[0])
	fmt.Printf("%s, %s\n", message[:done[0].Len], memory)
	// Output:
	// RDMA Write 10: success, 5 bytes
	// Send 11: success, 7 bytes
	// Receive 1: success, 7 bytes
	// written, hello
}

func ExampleParseTerminate() {
	// What Linux siw sends about a Write to an STag that does not exist: its bits are not in the
	// RFC's order.
	t, err := rdmap.ParseTerminate([]byte{
		0x11, 0x00, 0x03, 0x00, 0x00, 0x08,
		0xC1, 0x40, 0xDE, 0xAD, 0xBE, 0x00, 0, 0, 0, 0, 0, 0, 0x10, 0x00,
	})
	fmt.Println(t.Code, err, t.HostOrder)
	// Output:
	// DDP tagged buffer error: invalid STag <nil> true
}
