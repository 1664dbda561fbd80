package mpa_test

import (
	"errors"
	"fmt"

	"github.com/rddp/rddp/mpa"
)

// One write sends two ULPDUs, and the other end receives them.
func Example() {
	tx := mpa.NewSender(mpa.Agreement{CRC: true})
	batch := mpa.NewBatch(512 << 10)
	tx.Append(batch, false, []byte("one "), []byte("ULPDU"))
	tx.Append(batch, false, []byte("another"))

	rx := mpa.NewReceiver(mpa.Agreement{CRC: true})
	rx.SetBuffer(make([]byte, 256<<10))
	var off uint64
	for _, octets := range batch.Bufs() { // in place of a write and a read
		n := copy(rx.Free(), octets)
		rx.Fill(off, n)
		off += uint64(n)
		for rx.Next() {
			u := rx.ULPDU()
			fmt.Printf("%d: %q\n", u.Off, u.Data)
		}
	}
	fmt.Println("edge", rx.Edge(), rx.Err())
	// Output:
	// 0: "one ULPDU"
	// 16: "another"
	// edge 32 <nil>
}

// The Responder's ULP looks at the Private Data and decides whether to accept.
func Example_startup() {
	initiator := mpa.Config{IRD: 4, ORD: 16, PrivateData: []byte("let me in")}
	request, err := initiator.Request()
	if err != nil {
		fmt.Println(err)
		return
	}
	wire := request.AppendTo(nil)

	responder := mpa.Config{IRD: 8, ORD: 8}
	received, err := mpa.ParseFrame(wire)
	if err != nil {
		fmt.Println(err) // close the connection
		return
	}
	fmt.Printf("%q\n", received.PrivateData)
	reply, agreed, err := responder.Accept(received)
	if err != nil {
		fmt.Println(err) // close the connection
		return
	}
	fmt.Println("Responder: CRC", agreed.CRC, "IRD", agreed.IRD, "ORD", agreed.ORD)

	agreed, err = initiator.HandleReply(request, reply)
	var rejected *mpa.RejectError
	if errors.As(err, &rejected) {
		fmt.Println(err) // the TCP connection may be used for something else
		return
	}
	fmt.Println("Initiator: CRC", agreed.CRC, "IRD", agreed.IRD, "ORD", agreed.ORD, err)
	// Output:
	// "let me in"
	// Responder: CRC true IRD 8 ORD 4
	// Initiator: CRC true IRD 4 ORD 8 <nil>
}

func ExampleMULPDU() {
	fmt.Println(mpa.MULPDU(1448, false), mpa.MULPDU(1448, true))
	// Output: 1442 1430
}
