package dissect_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"

	"github.com/rddp/rddp/internal/dissect"
	"github.com/rddp/rddp/internal/pcapng"
)

// A Writer makes a capture of a connection, and Read decodes it.
func Example() {
	octets := func(s string) []byte {
		b, _ := hex.DecodeString(s)
		return b
	}
	local := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 40000}
	remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 7174}

	var file bytes.Buffer
	w, err := pcapng.NewWriter(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	flow := w.Flow(local, remote, true)
	flow.Sent(octets("4d504120494420526571204672616d6540010000"))
	flow.Received(octets("4d504120494420526570204672616d6540010000"))
	flow.Sent(octets("001741430000000000000000000000010000000068656c6c6f000000b990b10c"))
	flow.Closed()
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}

	err = dissect.Read(&file, func(r dissect.Record) error {
		fmt.Println(r.Src, r.Kind)
		if r.FPDU != nil {
			fmt.Printf("%s, crc %s: %s\n", r.Op, r.CRC, r.Payload)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 10.0.0.1:40000 mpa-request
	// 10.0.0.2:7174 mpa-reply
	// 10.0.0.1:40000 fpdu
	// send, crc good: hello
}
