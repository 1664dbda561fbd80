package extsock_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// longestRecord is a capability record with a byte stream and messages of up to n octets.
func longestRecord(n uint32) []byte {
	b := []byte{'r', 'd', 'd', 'p', 2, 20, 0, 7}
	b = binary.BigEndian.AppendUint32(b, n)
	b = append(b, 0, 32, 0, 0) // 32 credits
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// TestPeerStatesLongMessages: a peer may state any length of its longest message. No length makes a
// Write panic or stop, and none is shown as a negative number. An int of 32 bits (GOARCH=386) does
// not hold the upper half of them.
func TestPeerStatesLongMessages(t *testing.T) {
	for _, n := range []uint32{512, 1<<31 - 1, 1 << 31, 1<<31 + 4, math.MaxUint32} {
		for _, messages := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d octets, messages %t", n, messages), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					var log bytes.Buffer
					cfg := extsock.Config{Messages: messages, Crossover: -1, Trace: slog.New(slog.NewTextHandler(&log, nil))}
					a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
					p, c := rawPairOver(t, a, b, cfg, longestRecord(n), nil)
					p.segment(1, 0, true, 0, 0, 0, 0, 'g') // opens the fence
					if _, err := c.Read(make([]byte, 10)); err != nil {
						t.Fatal(err)
					}
					for _, length := range []int{100, 500, 10_000} {
						if messages && length > int(min(n, math.MaxInt32)) {
							continue
						}
						if m, err := c.Write(make([]byte, length)); m != length || err != nil {
							t.Errorf("Write of %d octets = %d, %v", length, m, err)
						}
						for got := 0; got < length; {
							u, err := p.next()
							if err != nil {
								t.Fatal(err)
							}
							got += len(u) - 18 // the header of an untagged segment
							if !messages {
								got -= 4
							}
						}
					}
					p.s.Close()
					c.Close()
					c.Wait(t.Context()) // the handler of the trace may have been called in a goroutine
					if s := log.String(); strings.Contains(s, "=-") {
						t.Errorf("the trace shows a negative number:\n%s", s)
					}
					settle()
				})
			})
		}
	}
}
