package mpa_test

import (
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

func ExampleMULPDU() {
	fmt.Println(mpa.MULPDU(1448, false), mpa.MULPDU(1448, true))
	// Output: 1442 1430
}
