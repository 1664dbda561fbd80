package extsock_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// BenchmarkNextToTCP measures against plain Go TCP: loopback, one connection, two processes. Each
// iteration is one round of TCP and one of rddp, so that both meet the same machine; the metrics are
// medians over the rounds. x-tcp is rddp's throughput over TCP's for write, and rddp's time over
// TCP's for pingpong.
func BenchmarkNextToTCP(b *testing.B) {
	peer := startBenchPeer(b)
	for _, crc := range []bool{true, false} {
		for _, size := range []int{64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("write/size=%d/crc=%v", size, crc), func(b *testing.B) {
				j := newBenchJob(b, peer, crc)
				const total = 512 << 20
				tcp, own := j.rounds(b, total, size, j.tcpBulk, j.write)
				b.ReportMetric(total/tcp.Seconds()/1e9, "tcp-GB/s")
				b.ReportMetric(total/own.Seconds()/1e9, "rddp-GB/s")
				b.ReportMetric(float64(tcp)/float64(own), "x-tcp")
			})
		}
	}
	for _, crc := range []bool{true, false} {
		b.Run(fmt.Sprintf("pingpong/size=64/crc=%v", crc), func(b *testing.B) {
			j := newBenchJob(b, peer, crc)
			const count = 20000
			tcp, own := j.rounds(b, count, 64, j.tcpPingPong, j.pingPong)
			b.ReportMetric(float64(tcp.Nanoseconds())/count/1000, "tcp-us")
			b.ReportMetric(float64(own.Nanoseconds())/count/1000, "rddp-us")
			b.ReportMetric(float64(own)/float64(tcp), "x-tcp")
		})
	}
}

// benchDepth is the number of Work Requests under way at once.
const benchDepth = 16

type benchPeer struct{ tcp, ddp, ddpNoCRC string }

// startBenchPeer runs this test binary as the other process.
func startBenchPeer(b *testing.B) benchPeer {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), benchPeerEnv+"=1")
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		hold.Close()
		cmd.Wait()
	})
	var p benchPeer
	if _, err := fmt.Fscan(out, &p.tcp, &p.ddp, &p.ddpNoCRC); err != nil {
		b.Fatal(err)
	}
	return p
}

const benchPeerEnv = "RDDP_BENCH_PEER"

// runBenchPeer is the other process: it ends when its standard input does.
func runBenchPeer() error {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go serveBench(tcp, serveTCPBench)
	fmt.Print(tcp.Addr())
	for _, noCRC := range []bool{false, true} {
		l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{NoCRC: noCRC})
		if err != nil {
			return err
		}
		go serveBench(l, func(c net.Conn) error { return serveDDPBench(c.(*extsock.Conn)) })
		fmt.Print(" ", l.Addr())
	}
	fmt.Println()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func serveBench(l net.Listener, serve func(net.Conn) error) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if err := serve(c); err != nil && !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "bench peer:", err)
			}
		}()
	}
}

// serveTCPBench reads total(8) and size(8). Of size 64 octets it echoes each message, else it reads
// each into the next place of a ring, as RDMA Writes land, and answers the last with one octet.
func serveTCPBench(c net.Conn) error {
	ring := make([]byte, benchDepth<<20)
	var head [16]byte
	for {
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return err
		}
		total, size := int(binary.BigEndian.Uint64(head[:])), int(binary.BigEndian.Uint64(head[8:]))
		echo := size == 64
		if echo {
			total *= size
		}
		for at := 0; total > 0; total -= size {
			if at+size > len(ring) {
				at = 0
			}
			if _, err := io.ReadFull(c, ring[at:at+size]); err != nil {
				return err
			}
			if echo {
				if _, err := c.Write(ring[at : at+size]); err != nil {
					return err
				}
			}
			at += size
		}
		if !echo {
			if _, err := c.Write(ring[:1]); err != nil {
				return err
			}
		}
	}
}

// serveDDPBench sends the handle of a ring for RDMA Writes and then echoes every message.
func serveDDPBench(c *extsock.Conn) error {
	if err := c.EnableDDP(context.Background(), nil); err != nil {
		return err
	}
	r, err := c.Register(make([]byte, benchDepth<<20), extsock.RemoteWrite)
	if err != nil {
		return err
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return err
	}
	p := make([]byte, 64)
	for {
		n, err := c.Read(p)
		if err != nil {
			return err
		}
		if _, err := c.Write(p[:n]); err != nil {
			return err
		}
	}
}

// A benchJob is the client's two connections.
type benchJob struct {
	tcp    net.Conn
	ddp    *extsock.Conn
	ring   extsock.Handle
	source []byte
	recv   []byte
}

func newBenchJob(b *testing.B, p benchPeer, crc bool) *benchJob {
	b.Helper()
	tcp, err := net.Dial("tcp", p.tcp)
	if err != nil {
		b.Fatal(err)
	}
	address := p.ddp
	if !crc {
		address = p.ddpNoCRC
	}
	ddp, err := extsock.Dial("tcp", address, &extsock.Config{NoCRC: !crc})
	if err != nil {
		b.Fatal(err)
	}
	j := &benchJob{tcp: tcp, ddp: ddp, source: make([]byte, benchDepth<<20), recv: make([]byte, 64)}
	b.Cleanup(func() { tcp.Close(); ddp.Close() })
	if err := ddp.EnableDDP(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	if _, err := ddp.Read(j.recv); err != nil {
		b.Fatal(err)
	}
	if j.ring, _, err = rdmap.ParseHandle(j.recv); err != nil {
		b.Fatal(err)
	}
	return j
}

// rounds runs both jobs in every iteration and returns the median time of each.
func (j *benchJob) rounds(b *testing.B, total, size int, tcp, own func(total, size int) error) (t, o time.Duration) {
	var ts, os []time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := tcp(total, size); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if err := own(total, size); err != nil {
			b.Fatal(err)
		}
		ts, os = append(ts, middle.Sub(begin)), append(os, time.Since(middle))
	}
	slices.Sort(ts)
	slices.Sort(os)
	return ts[len(ts)/2], os[len(os)/2]
}

func (j *benchJob) tcpHead(total, size int) error {
	head := binary.BigEndian.AppendUint64(nil, uint64(total))
	_, err := j.tcp.Write(binary.BigEndian.AppendUint64(head, uint64(size)))
	return err
}

func (j *benchJob) tcpBulk(total, size int) error {
	if err := j.tcpHead(total, size); err != nil {
		return err
	}
	for at := 0; total > 0; total -= size {
		if at+size > len(j.source) {
			at = 0
		}
		if _, err := j.tcp.Write(j.source[at : at+size]); err != nil {
			return err
		}
		at += size
	}
	_, err := io.ReadFull(j.tcp, j.recv[:1])
	return err
}

func (j *benchJob) tcpPingPong(count, size int) error {
	if err := j.tcpHead(count, size); err != nil {
		return err
	}
	for range count {
		if _, err := j.tcp.Write(j.source[:size]); err != nil {
			return err
		}
		if _, err := io.ReadFull(j.tcp, j.recv[:size]); err != nil {
			return err
		}
	}
	return nil
}

// write is RDMA Writes into the peer's ring, benchDepth under way at once, and a message behind them.
func (j *benchJob) write(total, size int) error {
	ctx := context.Background()
	var done [benchDepth]extsock.Completion
	underway := 0
	for at := 0; total > 0 || underway > 0; {
		for total > 0 && underway < benchDepth {
			if at+size > len(j.source) {
				at = 0
			}
			h, err := j.ring.Slice(int64(at), size)
			if err != nil {
				return err
			}
			if err := j.ddp.Post(&extsock.WorkRequest{Op: rdmap.WorkWrite, Data: j.source[at : at+size], Remote: h}); err != nil {
				return err
			}
			at, total, underway = at+size, total-size, underway+1
		}
		n := j.ddp.SendCQ().Poll(done[:])
		if n == 0 {
			d, err := j.ddp.SendCQ().Wait(ctx)
			if err != nil {
				return err
			}
			done[0], n = d, 1
		}
		for _, d := range done[:n] {
			if d.Status != rdmap.StatusOK {
				return d.Err
			}
		}
		underway -= n
	}
	return j.pingPong(1, 64)
}

// pingPong is one Send there and one back, count times.
func (j *benchJob) pingPong(count, size int) error {
	for range count {
		if _, err := j.ddp.Write(j.source[:size]); err != nil {
			return err
		}
		if n, err := j.ddp.Read(j.recv); err != nil || n != size {
			return errors.Join(err, fmt.Errorf("%d octets came back", n))
		}
	}
	return nil
}
