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

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// BenchmarkNextToTCP measures against plain Go TCP: loopback, one connection, two processes. Each
// iteration is one round of TCP and one of rddp, so that both meet the same machine. The metrics
// are medians over the rounds. x-tcp is the median of the ratios of the rounds: rddp's throughput
// divided by TCP's for write, stream and short, and rddp's time divided by TCP's for pingpong.
func BenchmarkNextToTCP(b *testing.B) {
	peer := startBenchPeer(b)
	for _, crc := range []bool{true, false} {
		for _, size := range []int{64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("write/size=%d/crc=%v", size, crc), func(b *testing.B) {
				j := newVerbsJob(b, peer, crc)
				throughput(b, 512<<20, size, newTCPJob(b, peer).bulk, j.write)
			})
			b.Run(fmt.Sprintf("stream/size=%d/crc=%v", size, crc), func(b *testing.B) {
				throughput(b, 512<<20, size, newTCPJob(b, peer).bulk, newStreamJob(b, peer, crc).bulk)
			})
		}
	}
	for _, crc := range []bool{true, false} {
		b.Run(fmt.Sprintf("message pingpong/size=64/crc=%v", crc), func(b *testing.B) {
			latency(b, newTCPJob(b, peer).pingPong, newVerbsJob(b, peer, crc).pingPong)
		})
		b.Run(fmt.Sprintf("stream pingpong/size=64/crc=%v", crc), func(b *testing.B) {
			latency(b, newTCPJob(b, peer).pingPong, newStreamJob(b, peer, crc).pingPong)
		})
		b.Run(fmt.Sprintf("short/size=64/crc=%v", crc), func(b *testing.B) {
			const count = 1 << 20
			tcp, own, ratio := rounds(b, count*64, 64, newTCPJob(b, peer).short, newStreamJob(b, peer, crc).short)
			b.ReportMetric(tcp/count*1e9, "tcp-ns")
			b.ReportMetric(own/count*1e9, "rddp-ns")
			b.ReportMetric(1/ratio, "x-tcp")
		})
	}
}

func throughput(b *testing.B, total, size int, tcp, own func(total, size int) error) {
	t, o, ratio := rounds(b, total, size, tcp, own)
	b.ReportMetric(float64(total)/t/1e9, "tcp-GB/s")
	b.ReportMetric(float64(total)/o/1e9, "rddp-GB/s")
	b.ReportMetric(1/ratio, "x-tcp")
}

func latency(b *testing.B, tcp, own func(count, size int) error) {
	const count = 20000
	t, o, ratio := rounds(b, count, 64, tcp, own)
	b.ReportMetric(t/count*1e6, "tcp-us")
	b.ReportMetric(o/count*1e6, "rddp-us")
	b.ReportMetric(ratio, "x-tcp")
}

// rounds runs both jobs in every iteration. It returns the median time of each in seconds, and the
// median of own's time divided by tcp's.
func rounds(b *testing.B, total, size int, tcp, own func(total, size int) error) (t, o, ratio float64) {
	var ts, os, ratios []float64
	for b.Loop() {
		begin := time.Now()
		if err := tcp(total, size); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if err := own(total, size); err != nil {
			b.Fatal(err)
		}
		t, o := middle.Sub(begin).Seconds(), time.Since(middle).Seconds()
		ts, os, ratios = append(ts, t), append(os, o), append(ratios, o/t)
	}
	return median(ts), median(os), median(ratios)
}

func median(f []float64) float64 {
	slices.Sort(f)
	return f[len(f)/2]
}

// benchDepth is the number of Work Requests under way at once.
const benchDepth = 16

// A benchPeer has the addresses at which the other process listens: for plain TCP, and with and
// without CRC for verbs and for the byte stream.
type benchPeer struct {
	tcp           string
	verbs, stream map[bool]string // by CRC
}

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
	var a [5]string
	if _, err := fmt.Fscan(out, &a[0], &a[1], &a[2], &a[3], &a[4]); err != nil {
		b.Fatal(err)
	}
	return benchPeer{a[0], map[bool]string{true: a[1], false: a[3]}, map[bool]string{true: a[2], false: a[4]}}
}

const benchPeerEnv = "RDDP_BENCH_PEER"

// runBenchPeer is the other process: it ends when its standard input does.
func runBenchPeer() error {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go serveBench(tcp, servePlainBench)
	fmt.Print(tcp.Addr())
	for _, noCRC := range []bool{false, true} {
		for _, serve := range []func(net.Conn) error{serveVerbsBench, servePlainBench} {
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{NoCRC: noCRC, Startup: extsock.StartupRequire})
			if err != nil {
				return err
			}
			go serveBench(l, serve)
			fmt.Print(" ", l.Addr())
		}
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

// The kinds of jobs on a plain connection. Each job begins with a head of kind(8), total(8) and
// size(8).
const (
	benchBulk  = iota // total octets come, and are read size at a time into the places of a ring, as RDMA Writes land
	benchEcho         // total messages of size octets are sent back
	benchShort        // total octets come, and are read as they come
)

// servePlainBench serves jobs. The last octets of bulk and short are answered with one octet.
func servePlainBench(c net.Conn) error {
	ring := make([]byte, benchDepth<<20)
	var head [24]byte
	for {
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return err
		}
		kind, total, size := binary.BigEndian.Uint64(head[:]), int(binary.BigEndian.Uint64(head[8:])), int(binary.BigEndian.Uint64(head[16:]))
		if kind == benchShort {
			if _, err := io.CopyBuffer(onlyWriter{io.Discard}, io.LimitReader(c, int64(total)), ring[:64<<10]); err != nil {
				return err
			}
			total = 0
		}
		if kind == benchEcho {
			total *= size
		}
		for at := 0; total > 0; total -= size {
			if at+size > len(ring) {
				at = 0
			}
			if _, err := io.ReadFull(c, ring[at:at+size]); err != nil {
				return err
			}
			if kind == benchEcho {
				if _, err := c.Write(ring[at : at+size]); err != nil {
					return err
				}
			}
			at += size
		}
		if kind != benchEcho {
			if _, err := c.Write(ring[:1]); err != nil {
				return err
			}
		}
	}
}

// onlyWriter hides ReadFrom, so that io.CopyBuffer uses its buffer.
type onlyWriter struct{ io.Writer }

// serveVerbsBench sends the handle of a ring for RDMA Writes and then echoes every message.
func serveVerbsBench(nc net.Conn) error {
	c := nc.(*extsock.Conn)
	r, err := c.Register(make([]byte, benchDepth<<20), ddp.RemoteWrite)
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

// A plainJob is the client of servePlainBench.
type plainJob struct {
	c      net.Conn
	source []byte
	recv   [64]byte
}

func newTCPJob(b *testing.B, p benchPeer) *plainJob {
	b.Helper()
	c, err := net.Dial("tcp", p.tcp)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return &plainJob{c: c, source: make([]byte, benchDepth<<20)}
}

func newStreamJob(b *testing.B, p benchPeer, crc bool) *plainJob {
	b.Helper()
	return &plainJob{c: benchDial(b, p.stream[crc], extsock.Config{NoCRC: !crc}), source: make([]byte, benchDepth<<20)}
}

func benchDial(b *testing.B, address string, cfg extsock.Config) *extsock.Conn {
	b.Helper()
	cfg.Startup = extsock.StartupRequire
	c, err := extsock.Dial("tcp", address, &cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

func (j *plainJob) begin(kind uint64, total, size int) error {
	head := binary.BigEndian.AppendUint64(nil, kind)
	head = binary.BigEndian.AppendUint64(head, uint64(total))
	_, err := j.c.Write(binary.BigEndian.AppendUint64(head, uint64(size)))
	return err
}

func (j *plainJob) bulk(total, size int) error { return j.send(benchBulk, total, size) }

func (j *plainJob) short(total, size int) error { return j.send(benchShort, total, size) }

func (j *plainJob) send(kind uint64, total, size int) error {
	if err := j.begin(kind, total, size); err != nil {
		return err
	}
	for at := 0; total > 0; total -= size {
		if at+size > len(j.source) {
			at = 0
		}
		if _, err := j.c.Write(j.source[at : at+size]); err != nil {
			return err
		}
		at += size
	}
	_, err := io.ReadFull(j.c, j.recv[:1])
	return err
}

func (j *plainJob) pingPong(count, size int) error {
	if err := j.begin(benchEcho, count, size); err != nil {
		return err
	}
	for range count {
		if _, err := j.c.Write(j.source[:size]); err != nil {
			return err
		}
		if _, err := io.ReadFull(j.c, j.recv[:size]); err != nil {
			return err
		}
	}
	return nil
}

// A verbsJob is the client of serveVerbsBench.
type verbsJob struct {
	c      *extsock.Conn
	ring   rdmap.Handle
	source []byte
	recv   [64]byte
}

func newVerbsJob(b *testing.B, p benchPeer, crc bool) *verbsJob {
	b.Helper()
	c := benchDial(b, p.verbs[crc], extsock.Config{NoCRC: !crc, Messages: true})
	j := &verbsJob{c: c, source: make([]byte, benchDepth<<20)}
	if _, err := c.Read(j.recv[:]); err != nil {
		b.Fatal(err)
	}
	var err error
	if j.ring, _, err = rdmap.ParseHandle(j.recv[:]); err != nil {
		b.Fatal(err)
	}
	return j
}

// write does RDMA Writes into the peer's ring, benchDepth at a time, and sends a message behind
// them.
func (j *verbsJob) write(total, size int) error {
	ctx := context.Background()
	var done [benchDepth]rdmap.Completion
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
			if err := j.c.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: j.source[at : at+size], Remote: h}); err != nil {
				return err
			}
			at, total, underway = at+size, total-size, underway+1
		}
		n := j.c.SendCQ().Poll(done[:])
		if n == 0 {
			d, err := j.c.SendCQ().Wait(ctx)
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

// pingPong sends a message and waits for the answer, count times.
func (j *verbsJob) pingPong(count, size int) error {
	for range count {
		if _, err := j.c.Write(j.source[:size]); err != nil {
			return err
		}
		if n, err := j.c.Read(j.recv[:]); err != nil || n != size {
			return errors.Join(err, fmt.Errorf("%d octets came back", n))
		}
	}
	return nil
}
