package sockets_test

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/usertcp"
)

// BenchmarkUserTCP compares RDMA Writes of 64 KiB, with CRC, with plain bytes over the same TCP in
// user space. Each round moves the same number of bytes in both ways. The ratio is the median of
// all rounds.
func BenchmarkUserTCP(b *testing.B) {
	for _, mtu := range []int{1500, 9000, usertcp.MaxMTU} {
		for _, early := range []bool{true, false} {
			b.Run(fmt.Sprintf("MTU %d, early placement %t", mtu, early), func(b *testing.B) {
				benchUserTCP(b, mtu, early)
			})
		}
	}
}

func benchUserTCP(b *testing.B, mtu int, early bool) {
	x, y := userStacks(b, mtu)
	compareWithPlain(b, early, early, func() (from, to net.Conn) { return userConnect(b, x, y) })
}

// compareWithPlain compares RDMA Writes with plain bytes, both on connections that connect makes.
// senderEarly and targetEarly say which ends place early, and so receive Markers. At the other ends
// early placement is off.
func compareWithPlain(b *testing.B, senderEarly, targetEarly bool, connect func() (from, to net.Conn)) {
	const size, writes = 64 << 10, 512
	plainFrom, plainTo := connect()
	defer plainFrom.Close()
	defer plainTo.Close()
	from, to := connect()
	ci, cr := switched(b, from, to, extsock.Config{NoEarlyPlacement: !senderEarly}, extsock.Config{NoEarlyPlacement: !targetEarly})
	if s := ci.ConnectionState(); s.SendsMarkers != targetEarly || !s.CRC {
		b.Fatalf("markers %t, CRC %t", s.SendsMarkers, s.CRC)
	}
	target := register(b, cr, make([]byte, size), ddp.RemoteWrite|ddp.RemoteRead).Handle()
	data := make([]byte, size)
	var ratios, plain, write []float64
	for b.Loop() {
		began := time.Now()
		go func() {
			for range writes {
				plainFrom.Write(data)
			}
		}()
		sink := make([]byte, size)
		for range writes {
			if _, err := io.ReadFull(plainTo, sink); err != nil {
				b.Fatal(err)
			}
		}
		tcp := time.Since(began).Seconds()
		began = time.Now()
		for n := range writes {
			mustPost(b, ci, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data, Remote: target})
			if n >= 16 {
				complete(b, ci.SendCQ())
			}
		}
		for range 16 {
			complete(b, ci.SendCQ())
		}
		do(b, ci, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: sink[:1], Remote: first(b, target)}) // all Writes have arrived
		ddp := time.Since(began).Seconds()
		ratios, plain, write = append(ratios, tcp/ddp), append(plain, size*writes/tcp/1e6), append(write, size*writes/ddp/1e6)
	}
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(plain), "plain-MB/s")
	b.ReportMetric(median(write), "write-MB/s")
}

func first(b *testing.B, h rdmap.Handle) rdmap.Handle {
	h, err := h.Slice(0, 1)
	if err != nil {
		b.Fatal(err)
	}
	return h
}

func mustPost(b *testing.B, c *extsock.Conn, wr rdmap.WorkRequest) {
	b.Helper()
	if err := c.Post(&wr); err != nil {
		b.Fatal(err)
	}
}
