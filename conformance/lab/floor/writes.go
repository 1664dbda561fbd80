package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"
)

// A work says what both ends of a stream of Writes do besides plain TCP.
type work struct {
	Framed bool // each Write has a header and a trailer, is read with others, and copied to its place
	CRC    bool // both ends compute the CRC32C of each frame
}

// The lengths in bytes of a Write, and of what an FPDU of an RDMA Write has besides.
const (
	written     = 4 << 10
	fpduHeader  = 16 // length, control, STag and offset
	fpduTrailer = 4
	readAhead   = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// takeWrites reads Writes until the peer ends the connection.
func takeWrites(c net.Conn, w work) {
	defer c.Close()
	place := make([]byte, written)
	if !w.Framed {
		for {
			if _, err := io.ReadFull(c, place); err != nil {
				return
			}
		}
	}
	const frame = fpduHeader + written + fpduTrailer
	for r := bufio.NewReaderSize(c, readAhead); ; {
		b, err := r.Peek(frame)
		if err != nil {
			return
		}
		sum := binary.LittleEndian.Uint32(b[frame-fpduTrailer:])
		if w.CRC && crc32.Checksum(b[:frame-fpduTrailer], castagnoli) != sum {
			return
		}
		copy(place, b[fpduHeader:])
		if _, err := r.Discard(frame); err != nil {
			return
		}
	}
}

// writes returns the speed of Writes one after the other.
func writes(w work, d time.Duration) (speed, error) {
	p, err := start(fmt.Sprintf("write %t %t", w.Framed, w.CRC))
	if err != nil {
		return speed{}, err
	}
	defer p.stop()
	c, err := net.Dial("tcp", p.addr)
	if err != nil {
		return speed{}, err
	}
	defer c.Close()
	n := 0
	until := func(end time.Time) error {
		payload, header, trailer := make([]byte, written), make([]byte, fpduHeader), make([]byte, fpduTrailer)
		for n = 0; time.Now().Before(end); n++ {
			if !w.Framed {
				if _, err := c.Write(payload); err != nil {
					return err
				}
				continue
			}
			if w.CRC {
				sum := crc32.Update(crc32.Checksum(header, castagnoli), castagnoli, payload)
				binary.LittleEndian.PutUint32(trailer, sum)
			}
			frame := net.Buffers{header, payload, trailer}
			if _, err := frame.WriteTo(c); err != nil {
				return err
			}
		}
		return nil
	}
	if err := until(time.Now().Add(d / 4)); err != nil {
		return speed{}, err
	}
	before, err := p.bothEnds()
	if err != nil {
		return speed{}, err
	}
	begin := time.Now()
	if err := until(begin.Add(d)); err != nil {
		return speed{}, err
	}
	rate := float64(n) / time.Since(begin).Seconds()
	after, err := p.bothEnds()
	return speed{rate, (after - before).Seconds() * 1e6 / float64(n)}, err
}

// measureWrites prints the table of Writes.
func measureWrites(rounds int, d time.Duration) error {
	works := []struct {
		what string
		work work
	}{{"plain", work{}}, {"framed, copied", work{Framed: true}}, {"framed, copied, CRC32C", work{Framed: true, CRC: true}}}
	rates, cpus := make([][]float64, len(works)), make([][]float64, len(works))
	for range rounds { // the contenders take turns
		for i := range works {
			s, err := writes(works[i].work, d)
			if err != nil {
				return err
			}
			rates[i], cpus[i] = append(rates[i], s.rate), append(cpus[i], s.cpu)
		}
	}
	fmt.Printf("\n| Writes of 4 KiB, one by one | rate | processor time | µs |\n| --- | --- | --- | --- |\n")
	for i := range works {
		fmt.Printf("| %s | %s | %s | %.2f |\n", works[i].what, ratio(rates[i], rates[0]), ratio(cpus[i], cpus[0]), median(cpus[i]))
	}
	return nil
}
