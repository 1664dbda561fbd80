package hostile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/badlink"
)

// forgedLen is the length in bytes of an FPDU that forged makes.
const forgedLen = 2 + ddp.TaggedHeaderLen + 4 + 4

// forged returns n bytes that an application may send like any others. They contain FPDUs with
// valid CRCs that write to the victim. Some have forged Markers before or after them, which point
// to them.
func forged(random *rand.Rand, n int, victim rdmap.Handle) (payload []byte) {
	tx, batch := mpa.NewSender(mpa.Agreement{CRC: true}), mpa.NewBatch(mpa.MinBuffer)
	for len(payload) < n {
		marker := random.IntN(8)
		if marker == 0 {
			payload = append(payload, 0, 0, 0, 0)
		}
		to := victim.TO + uint64(random.IntN(int(victim.Len)-4))
		tx.Append(batch, true, prototest.Tagged(prototest.ControlTagged, victim.STag, to, []byte("evil")))
		for _, b := range batch.Bufs() {
			payload = append(payload, b...)
		}
		batch.Reset()
		if marker == 1 {
			payload = binary.BigEndian.AppendUint32(payload, forgedLen)
		}
	}
	return payload[:n]
}

// beginsForged reports whether a receiver that trusts the beginning of a run would find an FPDU for
// the victim there.
func beginsForged(run []byte, victim ddp.STag) bool {
	rx := mpa.NewReceiver(mpa.Agreement{CRC: true})
	rx.SetBuffer(make([]byte, mpa.MinBuffer))
	rx.Fill(0, copy(rx.Free(), run))
	if !rx.Next() {
		return false
	}
	h, _, err := ddp.ParseTagged(rx.ULPDU().Data)
	return err == nil && h.STag == victim
}

// TestForgedFPDUs: an application sends data full of FPDUs with valid CRCs, which write to a Region
// of the receiving end that the application does not use. The link loses, reorders and cuts packets
// at random, so the data arrive early in runs that begin with such an FPDU. No byte must be placed
// in that Region, with and without Markers, for 1,000 seeds each; without the tag conformance for
// 20.
func TestForgedFPDUs(t *testing.T) {
	for _, markers := range []bool{false, true} {
		t.Run(fmt.Sprintf("Markers %t", markers), func(t *testing.T) {
			var runs, traps, placed atomic.Uint64
			seeds := testmode.Count(1000, 20)
			prototest.EachSeed(t, seeds, testmode.Count(100, 20), func(t *testing.T, seed uint64) {
				placed.Add(attackWithForged(t, seed, markers, &runs, &traps))
			})
			t.Logf("%d seeds: %d early runs, %d of them began with a forged FPDU; %d FPDUs were placed early, 0 bytes in the victim",
				seeds, runs.Load(), traps.Load(), placed.Load())
			if traps.Load() == 0 {
				t.Error("no early run began with a forged FPDU")
			}
			if (placed.Load() > 0) != markers {
				t.Errorf("%d FPDUs were placed early", placed.Load())
			}
		})
	}
}

// attackWithForged sends forged data over one connection. It counts the early runs, and the early
// runs that begin with a forged FPDU, and returns the number of FPDUs placed early.
func attackWithForged(t *testing.T, seed uint64, markers bool, runs, traps *atomic.Uint64) (placed uint64) {
	const rounds, length = 4, 12_000
	random := rand.New(rand.NewPCG(seed, 4))
	a, b := badUserStreams(t, seed, badlink.Faults{Loss: 0.02, Duplicate: 0.01, Split: 0.5, Merge: 0.2, Reorder: 0.25})
	var stag atomic.Uint32
	w := &watched{Stream: a, early: func(run []byte, _ uint64) {
		runs.Add(1)
		if beginsForged(run, ddp.STag(stag.Load())) {
			traps.Add(1)
		}
	}}
	ci, cr := ddpOver(t, w, b, extsock.Config{Markers: markers}, extsock.Config{MaxFPDU: 200 + random.IntN(1200)})
	if s := ci.ConnectionState(); s.ReceivesMarkers != markers {
		t.Fatalf("ReceivesMarkers = %t", s.ReceivesMarkers)
	}
	memory, sink := make([]byte, 4096), make([]byte, rounds*length)
	victim, err := ci.Register(memory, ddp.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	region, err := ci.Register(sink, ddp.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	stag.Store(uint32(victim.Handle().STag))
	data := forged(random, 2*rounds*length, victim.Handle())
	wrote := make(chan error, 1)
	go func() { wrote <- writeAndSend(cr, region.Handle(), data, length) }()
	got := make([]byte, rounds*length)
	readThrough(t, ci, cr, got)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	wantRounds(t, data, sink, got, length)
	if n := len(memory) - bytes.Count(memory, []byte{0}); n > 0 {
		t.Errorf("%d bytes of the victim have been written", n)
	}
	return ci.Stats().EarlyFPDUs
}

// writeAndSend sends data in pieces of length bytes, alternately by RDMA Write to the next place of
// h and in the byte stream.
func writeAndSend(c *extsock.Conn, h rdmap.Handle, data []byte, length int) error {
	for at := 0; at < len(data); at += 2 * length {
		place, err := h.Slice(int64(at/2), length)
		if err != nil {
			return err
		}
		if err := c.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data[at : at+length], Remote: place}); err != nil {
			return err
		}
		if _, err := c.Write(data[at+length : at+2*length]); err != nil {
			return err
		}
	}
	return nil
}
