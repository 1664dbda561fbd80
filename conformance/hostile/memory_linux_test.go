package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

func init() { roles["victim"] = victim }

// victimPatience is how long the server tolerates a peer that does not read or sends nothing, and
// victimStartup how long it tolerates one that sends no Request. Without the tag conformance no
// attack lasts that long, because the good client may be on a busy machine.
var (
	victimPatience = time.Duration(testmode.Count(10, 60)) * time.Second
	victimStartup  = time.Duration(testmode.Count(3, 60)) * time.Second
)

// victim is a typical server: it lends each peer some memory, echoes what it reads, and has time
// limits.
func victim() error {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{
		BadSTagDelay: -1, // the good client has the same address as all others
		Startup:      extsock.StartupRequire, HandshakeTimeout: victimStartup, CloseTimeout: time.Second,
	})
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	var served atomic.Int64
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				continue
			}
			served.Add(1)
			go serveVictim(nc.(*extsock.Conn))
		}
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		json.NewEncoder(os.Stdout).Encode(victimState(served.Load()))
	}
	return nil
}

func serveVictim(c *extsock.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(victimPatience))
	r, err := c.Register(make([]byte, 16<<10), ddp.RemoteRead|ddp.RemoteWrite)
	if err != nil {
		return
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return
	}
	for b := make([]byte, 4<<10); ; {
		c.SetDeadline(time.Now().Add(victimPatience))
		n, err := c.Read(b)
		if err != nil {
			return
		}
		if _, err := c.Write(b[:n]); err != nil {
			return
		}
	}
}

// A victimReport is the server's report about itself.
type victimReport struct {
	Served, Goroutines int64
	Heap               int64   // octets in use
	GC, Busy, Total    float64 // seconds of processor time: garbage collection, not idle, total
}

func victimState(served int64) victimReport {
	s := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"},
	}
	metrics.Read(s)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	total := s[2].Value.Float64()
	return victimReport{
		Served: served, Goroutines: int64(runtime.NumGoroutine()), Heap: int64(m.HeapInuse),
		GC: s[0].Value.Float64(), Busy: total - s[1].Value.Float64(), Total: total,
	}
}

// peakOf returns the maximum number of resident octets of a process so far.
func peakOf(t testing.TB, pid int) (n int64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	if _, rest, ok := bytes.Cut(b, []byte("VmHWM:")); ok {
		fmt.Sscan(string(rest), &n)
	}
	return n << 10
}

// An attack contains what a hostile peer needs to know.
type attack struct {
	address string
	rnd     *rand.Rand
	until   time.Time
}

// A villain is one hostile peer's connection, as plain octets.
type villain struct {
	net.Conn
	tx    *mpa.Sender
	msn   uint32
	h     rdmap.Handle // of the memory that the server lends
	batch *mpa.Batch
}

// invade connects and runs startup as a foreign Initiator of revision 1, or announces a byte
// stream. With wait it fetches the server's Handle, for which it has to send something first.
func invade(a attack, wait bool) (*villain, error) {
	c, err := net.DialTimeout("tcp", a.address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(a.until)
	v := &villain{Conn: c, tx: mpa.NewSender(mpa.Agreement{CRC: true}), batch: mpa.NewBatch(512 << 10)}
	c.Write(mpa.Frame{Revision: 1, CRC: true}.AppendTo(nil))
	if _, err := io.ReadFull(c, make([]byte, mpa.FrameHeaderLen)); err != nil {
		c.Close()
		return nil, err
	}
	if !wait {
		return v, nil
	}
	v.Write(v.send(0))
	rx := mpa.NewReceiver(mpa.Agreement{CRC: true})
	rx.SetBuffer(make([]byte, 128<<10))
	for off := uint64(0); !rx.Next(); {
		n, err := c.Read(rx.Free())
		if err != nil {
			c.Close()
			return nil, err
		}
		rx.Fill(off, n)
		off += uint64(n)
	}
	_, body, err := ddp.ParseUntagged(rx.ULPDU().Data)
	if err == nil {
		v.h, _, err = rdmap.ParseHandle(body)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return v, nil
}

func (v *villain) fpdu(ulpdu []byte) []byte {
	v.batch.Reset()
	v.tx.Append(v.batch, true, ulpdu)
	return slices.Concat(v.batch.Bufs()...)
}

// send returns a Send of n octets.
func (v *villain) send(n int) []byte {
	v.msn++
	h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpSend), QN: ddp.QNSend, MSN: v.msn}
	return v.fpdu(append(h.AppendTo(nil), make([]byte, n)...))
}

// villainies are the attacks of hostile peers, each until its connection ends.
var villainies = []struct {
	name string
	do   func(a attack)
}{
	{"empty Sends", func(a attack) {
		keepSending(a, func(v *villain) []byte { return v.send(0) })
	}},
	{"Sends that it does not read back", func(a attack) {
		keepSending(a, func(v *villain) []byte { return v.send(1000) })
	}},
	{"empty Writes", func(a attack) {
		keepSending(a, func(v *villain) []byte {
			return v.fpdu(ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: 7}.AppendTo(nil))
		})
	}},
	{"Reads that it never reads", func(a attack) {
		v, err := invade(a, true)
		if err != nil {
			return
		}
		defer v.Close()
		for msn := range uint32(16) { // as many as allowed
			h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadRequest), QN: ddp.QNReadRequest, MSN: msn + 1}
			r := rdmap.ReadRequest{SinkSTag: 9, Size: v.h.Len, SourceSTag: v.h.STag, SourceTO: v.h.TO}
			v.Write(v.fpdu(r.AppendTo(h.AppendTo(nil))))
		}
		time.Sleep(time.Until(a.until)) // holding the connection is the attack
	}},
	{"Reads beyond the IRD", func(a attack) {
		msn := uint32(0)
		keepSending(a, func(v *villain) []byte {
			msn++
			h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadRequest), QN: ddp.QNReadRequest, MSN: msn}
			return v.fpdu(rdmap.ReadRequest{SinkSTag: 9}.AppendTo(h.AppendTo(nil)))
		})
	}},
	{"half a startup", func(a attack) {
		c, err := net.DialTimeout("tcp", a.address, 5*time.Second)
		if err != nil {
			return
		}
		defer c.Close()
		c.Write(mpa.Frame{Revision: 1, CRC: true, PrivateData: make([]byte, 100)}.AppendTo(nil)[:a.rnd.IntN(100)])
		c.SetDeadline(a.until)
		c.Read(make([]byte, 1))
	}},
	{"bad STags", func(a attack) {
		keepSending(a, func(v *villain) []byte {
			h := ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: ddp.STag(a.rnd.Uint32()), TO: a.rnd.Uint64()}
			return v.fpdu(append(h.AppendTo(nil), 1))
		})
	}},
	{"malformed FPDUs", func(a attack) {
		keepSending(a, func(v *villain) []byte {
			b := make([]byte, 14+a.rnd.IntN(100))
			for i := range b {
				b[i] = byte(a.rnd.Uint32())
			}
			return v.fpdu(b)
		})
	}},
	{"the beginning of an FPDU", func(a attack) {
		v, err := invade(a, false)
		if err != nil {
			return
		}
		defer v.Close()
		v.Write([]byte{0xf0, 0, 0x41, 0x43})
		v.Read(make([]byte, 1))
	}},
	{"a byte stream that is not read", func(a attack) {
		c, err := extsock.Dial("tcp", a.address, &extsock.Config{Startup: extsock.StartupRequire, RecvDepth: 4, RecvSize: 512})
		if err != nil {
			return
		}
		defer c.Close()
		c.SetDeadline(a.until)
		for p := make([]byte, 10_000); ; {
			if _, err := c.Write(p); err != nil {
				return
			}
		}
	}},
	{"resets", func(a attack) {
		if v, err := invade(a, a.rnd.IntN(2) == 0); err == nil {
			v.Conn.(*net.TCPConn).SetLinger(0)
			v.Close()
		}
	}},
}

// keepSending sends what next returns, many at a time, and reads nothing, until the server ends the
// connection.
func keepSending(a attack, next func(v *villain) []byte) {
	v, err := invade(a, false)
	if err != nil {
		return
	}
	defer v.Close()
	for {
		var b []byte
		for len(b) < 2<<10 {
			b = append(b, next(v)...)
		}
		if _, err := v.Write(b); err != nil {
			return
		}
		// This is about memory, and the villains share this process with the good client.
		time.Sleep(time.Duration(20+a.rnd.IntN(80)) * time.Millisecond)
	}
}

// TestHostilePeers runs a thousand hostile peers at once, with all attacks, against one server
// under a memory limit. Its resident memory stays below the limit, and a good client is served
// meanwhile. With full counts, the server must not spend its time on garbage collection either.
func TestHostilePeers(t *testing.T) {
	const limit = 256 << 20
	peers, duration := testmode.Count(1000, 110), time.Duration(testmode.Count(10, 1))*time.Second
	if testmode.Race {
		peers /= 2 // the detector takes several times the memory that the program uses, beyond GOMEMLIMIT
	}
	server := startChild(t, "victim", "GOMEMLIMIT=256MiB")
	address := server.line(t)
	random := seeded(t)
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	var attacks atomic.Int64
	var wg sync.WaitGroup
	for i := range peers {
		a := attack{address, rand.New(rand.NewPCG(random.Uint64(), uint64(i))), time.Now().Add(duration)}
		wg.Go(func() {
			for ctx.Err() == nil {
				villainies[i%len(villainies)].do(a)
				attacks.Add(1)
				time.Sleep(time.Duration(a.rnd.IntN(10)) * time.Millisecond) // no peer has the processor to itself
			}
		})
	}
	var times []time.Duration
	for ctx.Err() == nil {
		d, err := goodClient(address)
		if err != nil {
			t.Errorf("the good client: %v", err)
		}
		times = append(times, d...)
	}
	var r victimReport
	if err := json.Unmarshal([]byte(server.ask(t, "report")), &r); err != nil {
		t.Fatal(err)
	}
	peak := peakOf(t, server.cmd.Process.Pid)
	wg.Wait()
	server.end(t)
	slices.Sort(times)
	t.Logf("%d peers, %d attacks in %v; %d connections served, %d goroutines, heap %d MiB, peak RSS %d MiB",
		peers, attacks.Load(), duration, r.Served, r.Goroutines, r.Heap>>20, peak>>20)
	t.Logf("GC took %.1f %% of the processor time, %.1f %% of what was not idle", 100*r.GC/r.Total, 100*r.GC/r.Busy)
	if len(times) == 0 {
		t.Fatal("the good client was never served")
	}
	t.Logf("the good client: %d round trips, median %v, p99 %v, longest %v", len(times), times[len(times)/2],
		times[len(times)*99/100], times[len(times)-1])
	if peak > limit {
		t.Errorf("RSS was %d octets, the limit is %d", peak, limit)
	}
	if testmode.Full && r.GC/r.Total > 0.25 { // a share of one second says little on a machine with other work
		t.Errorf("GC took %.0f %% of the processor time", 100*r.GC/r.Total)
	}
}

// goodClient uses the server for a moment, and returns how long each round trip took.
func goodClient(address string) (times []time.Duration, err error) {
	c, err := extsock.Dial("tcp", address, &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return nil, err
	}
	for i := range 20 {
		begin := time.Now()
		want := scenario.Pattern(i, 64)
		if _, err := c.Remote(h).WriteAt(want, int64(64*i)); err != nil {
			return times, err
		}
		got := make([]byte, 64)
		if _, err := c.Remote(h).ReadAt(got, int64(64*i)); err != nil {
			return times, err
		}
		if err := scenario.Same("what was written", got, i); err != nil {
			return times, err
		}
		if _, err := c.Write(want); err != nil {
			return times, err
		}
		if _, err := io.ReadFull(c, got); err != nil {
			return times, err
		}
		if err := scenario.Same("the echo", got, i); err != nil {
			return times, err
		}
		times = append(times, time.Since(begin))
	}
	return times, nil
}
