package mpa_test

import (
	"errors"
	"fmt"

	"github.com/rddp/rddp/mpa"
)

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
