package extsock_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestMovingMemory rewrites a Region at full speed while Reads of it are answered. No FPDU has a
// wrong CRC, every Read succeeds, and no octet comes from outside the Region. A Read Response is a
// snapshot.
//
// Under the race detector the Region is rewritten by Store, which waits for copies; otherwise by
// plain stores.
func TestMovingMemory(t *testing.T) {
	reads := 10_000
	if testmode.Full {
		reads = 1_000_000
	}
	movingMemory(t, 256, reads)
	movingMemory(t, 32<<10, reads/40) // payloads that would be sent without a copy if they were not of a Region
}

// movingMemory is TestMovingMemory with Reads of size octets each.
func movingMemory(t *testing.T, size, reads int) {
	const batch = 64
	ci, cr := tcpPair(t, side{cfg: extsock.Config{Messages: true, IRD: batch, ORD: batch}}, side{cfg: extsock.Config{Messages: true, IRD: batch, ORD: batch}})
	all := make([]byte, 3*size) // octets below 0x80 are beside the Region
	memory := all[size : 2*size : 2*size]
	for i := range memory {
		memory[i] = 0x80
	}
	r := register(t, cr, memory, ddp.RemoteRead)
	var stop atomic.Bool
	var rounds atomic.Int64
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		next := make([]byte, size)
		for n := byte(0); !stop.Load(); n++ {
			if testmode.Race {
				for i := range next {
					next[i] = 0x80 | n
				}
				if err := extsock.Buffer(r).Store(0, next); err != nil {
					t.Error(err)
					return
				}
			} else {
				for i := range memory {
					memory[i] = 0x80 | n
				}
			}
			if rounds.Add(1)%16 == 0 {
				runtime.Gosched() // or the others wait for the scheduler to take this processor away
			}
		}
	}()
	sinks := make([][]byte, batch)
	torn, outside := 0, 0
	ctx := timeLimit(t)
	var completions [batch]rdmap.Completion
	for n := 0; n < reads; n += batch {
		for i := range sinks {
			sinks[i] = append(sinks[i][:0], make([]byte, size)...)
			if err := postRead(ci, r.Handle(), sinks[i]); err != nil {
				t.Fatal(err)
			}
		}
		for taken := 0; taken < batch; {
			k, err := ci.SendCQ().WaitBatch(ctx, completions[:], false)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range completions[:k] {
				if c.Status != rdmap.StatusOK {
					t.Fatalf("%v", c)
				}
			}
			taken += k
		}
		for _, s := range sinks {
			for _, o := range s {
				if o < 0x80 {
					outside++
				}
			}
			if s[0] != s[size-1] {
				torn++
			}
		}
	}
	stop.Store(true)
	wg.Wait()
	if outside > 0 {
		t.Errorf("%d octets from outside the Region", outside)
	}
	stats := ci.Stats()
	t.Logf("%d Reads of %d octets while the memory was rewritten %d times (%d of them saw it change): 0 CRC errors in %d FPDUs, 0 octets from outside",
		reads, size, rounds.Load(), torn, stats.Received.FPDUs)
}

// TestMovingMemoryAnySplit runs one script of all operations between two connections over networks
// that split the stream in different ways. The Completions, the memory and the bytes read are the
// same, and nothing waits for a timer.
func TestMovingMemoryAnySplit(t *testing.T) {
	wires := []simtoe.Config{{}, {MaxSegment: 1}, {MaxSegment: 2}, {MaxSegment: 3}, {MaxSegment: 5}, {MaxSegment: 7}, {MaxSegment: 18}, {MaxSegment: 1499}}
	seeds := uint64(4)
	if testmode.Full {
		seeds = 300
	}
	for seed := range seeds {
		wires = append(wires, simtoe.Config{Seed: seed, Split: true, MaxSegment: 1 + int(seed%97)})
	}
	for _, markers := range []bool{false, true} {
		var want string
		for i, wire := range wires {
			var got string
			var took time.Duration
			bubble(t, func(t *testing.T) {
				begin := time.Now()
				got = splitScript(t, wire, markers)
				took = time.Since(begin)
				settle()
			})
			if i == 0 {
				want = got
			}
			if got != want {
				t.Fatalf("over %+v, Markers %t:\n%s\nin one piece:\n%s", wire, markers, got, want)
			}
			if took > 100*time.Millisecond { // of virtual time
				t.Errorf("over %+v, Markers %t: took %v", wire, markers, took)
			}
		}
	}
	t.Logf("%d networks, with and without Markers: the same events, in less than 100 ms of virtual time", len(wires))
}

// splitScript returns what happened.
func splitScript(t *testing.T, wire simtoe.Config, markers bool) string {
	const size, recvs = 4096, 12
	cfg := extsock.Config{Messages: true, Markers: markers, IRD: 4, ORD: 4}
	responder := postRecvs(cfg, recvs, size)
	ci, cr := simPair(t, wire, side{cfg: cfg}, responder)
	memory := make([]byte, size)
	r := register(t, cr, memory, ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic)
	gone := register(t, cr, make([]byte, 8), ddp.RemoteWrite)
	h := r.Handle()
	var log bytes.Buffer
	var sinks [][]byte
	id := uint64(0)
	post := func(wr rdmap.WorkRequest) {
		id++
		wr.ID = id
		d := do(t, ci, wr)
		fmt.Fprintf(&log, "%v %d: %v, %d octets, original %d\n", d.Op, d.ID, d.Status, d.Len, d.Original)
	}
	for n := range 4 { // every pad
		post(rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: pattern(100+n, byte(n)), Remote: h})
		post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: pattern(50+n, byte(n))})
		sink := make([]byte, 70+n)
		sinks = append(sinks, sink)
		post(rdmap.WorkRequest{Op: rdmap.WorkRead, Data: sink, Remote: h})
	}
	post(rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: pattern(4000, 9), Remote: h})
	post(rdmap.WorkRequest{Op: rdmap.WorkWrite, Remote: h})
	post(rdmap.WorkRequest{Op: rdmap.WorkSend, Solicited: true, Data: pattern(4000, 8)})
	post(rdmap.WorkRequest{Op: rdmap.WorkFetchAdd, Operand: 5, Remote: h})
	post(rdmap.WorkRequest{Op: rdmap.WorkCmpSwap, Operand: 5, Compare: 6, Remote: h})
	post(rdmap.WorkRequest{Op: rdmap.WorkSwap, Operand: 7, Remote: h})
	post(rdmap.WorkRequest{Op: rdmap.WorkImmediate, Immediate: 0x0102030405060708})
	post(rdmap.WorkRequest{Op: rdmap.WorkImmediate, Solicited: true, Immediate: 3})
	post(rdmap.WorkRequest{Op: rdmap.WorkSendInvalidate, Data: pattern(3, 1), Invalidate: gone.Handle().STag})
	post(rdmap.WorkRequest{Op: rdmap.WorkSendInvalidate, Solicited: true, Data: nil, Invalidate: r.Handle().STag})
	for range 9 {
		d := complete(t, cr.RecvCQ())
		sum := crc32.ChecksumIEEE(recvBuffers.get(cr, d.ID)[:d.Len])
		fmt.Fprintf(&log, "receive %d: %d octets %08x, immediate %x, solicited %t, invalidated %t\n", d.ID, d.Len, sum, d.Immediate, d.Solicited, d.HasInvalidated)
	}
	for _, s := range sinks {
		fmt.Fprintf(&log, "read %x\n", crc32.ChecksumIEEE(s))
	}
	fmt.Fprintf(&log, "memory %x\n", crc32.ChecksumIEEE(memory))
	return log.String()
}
