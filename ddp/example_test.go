package ddp_test

import (
	"bytes"
	"fmt"

	"github.com/rddp/rddp/ddp"
)

// One message into the peer's registered memory and one into a buffer that it has posted. The LLP
// that would carry the segments is left out: each goes straight from the Sender to the Receiver.
func Example() {
	// The Data Sink: a Region, a posted buffer, and a Receiver that may reach both.
	domain := new(ddp.Domain)
	memory := make([]byte, 16)
	region, err := domain.Register(memory, ddp.RemoteWrite, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	queue := ddp.NewQueue(4, 0)
	if !queue.Post(nil, make([]byte, 100), 42) {
		fmt.Println(err)
		return
	}
	receiver := ddp.NewReceiver(ddp.ReceiverConfig{Stream: ddp.NewStream(domain, 1), Queues: [4]*ddp.Queue{ddp.QNSend: queue}})

	// The Data Source has learned STag and TO in some other way.
	messages := []ddp.Message{
		{Tagged: true, STag: region.STag(), TO: region.TO() + 3, Payload: [][]byte{[]byte("into "), []byte("memory")}, Len: 11},
		{QN: ddp.QNSend, Payload: [][]byte{[]byte("into a buffer")}, Len: 13},
	}
	var sender ddp.Sender
	var off uint64
	for i := range messages {
		sender.Start(&messages[i])
		for sender.Next(20) {
			s := sender.Segment()
			ulpdu := append(bytes.Clone(s.Header), bytes.Join(s.Payload, nil)...)
			sender.Release()
			receiver.Place(off, ulpdu)
			off += uint64(len(ulpdu))
			for receiver.Deliver(off) {
				m := receiver.Message()
				fmt.Printf("message of %d octets, tagged %t, buffer %d %q\n", m.Len, m.Tagged, m.ID, m.Buffer)
			}
		}
	}
	fmt.Printf("%q %v\n", memory[3:14], receiver.Err())
	// Output:
	// message of 11 octets, tagged true, buffer 0 ""
	// message of 13 octets, tagged false, buffer 42 "into a buffer"
	// "into memory" <nil>
}

// After Deregister the memory belongs to the application alone.
func ExampleRegion_Deregister() {
	domain := new(ddp.Domain)
	region, err := domain.Register(make([]byte, 16), ddp.RemoteRead|ddp.RemoteWrite, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = domain.Check(region.STag(), region.TO(), 16, ddp.RemoteWrite, 1)
	fmt.Println(err)
	region.Deregister()
	_, err = domain.Check(region.STag(), region.TO(), 16, ddp.RemoteWrite, 1)
	fmt.Println(err.(*ddp.AccessError).Code)
	// Output:
	// <nil>
	// Tagged Buffer Error: Invalid STag
}

// A window gives a peer a part of a Region, for as long as it is wanted; the Region stays.
func ExampleRegion_Window() {
	d := new(ddp.Domain)
	r, err := d.Register(make([]byte, 100), ddp.RemoteRead|ddp.RemoteWrite, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := r.Window(20, 10, ddp.RemoteRead) // for the peer to read 10 octets, and no more
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = d.Check(w.STag(), w.TO(), 10, ddp.RemoteRead, 1)
	fmt.Println(err)
	w.Deregister()
	_, err = d.Check(r.STag(), r.TO(), 100, ddp.RemoteWrite, 1)
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
}
