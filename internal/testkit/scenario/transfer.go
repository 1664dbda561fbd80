package scenario

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/badlink"
)

const (
	lossyBlock   = 1 << 20
	lossySlots   = 8 // blocks of memory for RDMA Writes
	LossyTimeout = 4 * time.Minute
)

// LossyData generates the octets of a transfer, block by block. All blocks differ, and so do all
// transfers.
type LossyData struct {
	block []byte
	n     uint64
}

func NewLossyData(transfer byte) *LossyData {
	d := &LossyData{block: make([]byte, lossyBlock)}
	r := rand.NewChaCha8([32]byte{transfer})
	r.Read(d.block)
	return d
}

func (d *LossyData) Next(left int64) []byte {
	d.n++
	for i := 0; i+8 <= len(d.block); i += 512 {
		binary.BigEndian.PutUint64(d.block[i:], d.n*0x9e3779b97f4a7c15+uint64(i))
	}
	return d.block[:min(left, lossyBlock)]
}

// exchangeStreams writes octets to c and closes that direction, and meanwhile reads to the end. It
// returns the SHA-256 sums of the octets written and of those read.
func exchangeStreams(c *extsock.Conn, transfer byte, octets int64) (out, in []byte, err error) {
	written := make(chan error, 1)
	sent := sha256.New()
	go func() { written <- writeStream(c, sent, transfer, octets) }()
	received := sha256.New()
	n, err := io.CopyBuffer(received, struct{ io.Reader }{c}, make([]byte, 256<<10))
	if err == nil && n != octets {
		err = io.ErrUnexpectedEOF
	}
	err = errors.Join(err, <-written)
	return sent.Sum(nil), received.Sum(nil), err
}

func writeStream(c *extsock.Conn, sum hash.Hash, transfer byte, octets int64) error {
	d := NewLossyData(transfer)
	for left := octets; left > 0; {
		b := d.Next(left)
		sum.Write(b)
		if _, err := c.Write(b); err != nil {
			return err
		}
		left -= int64(len(b))
	}
	return c.CloseWrite()
}

func SendWrites(c *extsock.Conn, transfer byte, octets int64) ([]byte, error) {
	b := make([]byte, rdmap.HandleLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return nil, err
	}
	m, sum, d := c.Remote(h), sha256.New(), NewLossyData(transfer)
	written, free := 0, lossySlots
	for left := octets; left > 0; written++ {
		if free == 0 {
			n, err := c.Read(b)
			if err != nil {
				return nil, err
			}
			free += n
		}
		block := d.Next(left)
		sum.Write(block)
		if _, err := m.WriteAt(block, int64(written%lossySlots)*lossyBlock); err != nil {
			return nil, err
		}
		var note [4]byte
		binary.BigEndian.PutUint32(note[:], uint32(len(block)))
		if _, err := c.Write(note[:]); err != nil {
			return nil, err
		}
		free--
		left -= int64(len(block))
	}
	_, err = io.ReadFull(c, make([]byte, lossySlots-free))
	return sum.Sum(nil), err
}

func ReceiveWrites(c *extsock.Conn, octets int64) ([]byte, error) {
	memory := make([]byte, lossySlots*lossyBlock)
	r, err := c.Register(memory, ddp.RemoteWrite)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return nil, err
	}
	sum := sha256.New()
	var note [4]byte
	for slot := 0; octets > 0; slot++ {
		if _, err := io.ReadFull(c, note[:]); err != nil {
			return nil, err
		}
		n := int64(binary.BigEndian.Uint32(note[:]))
		sum.Write(memory[slot%lossySlots*lossyBlock:][:n])
		if _, err := c.Write([]byte{1}); err != nil {
			return nil, err
		}
		octets -= n
	}
	return sum.Sum(nil), nil
}

// LossyFaults are 5 % loss, 10 % reordering and 1 % duplication.
var LossyFaults = badlink.Faults{Loss: 0.05, Reorder: 0.10, Duplicate: 0.01, Queue: 5000}

// WantLossy checks that both directions of a link had about as many faults as LossyFaults says.
func WantLossy(t *testing.T, link interface{ Stats() (ab, ba badlink.Stats) }) {
	t.Helper()
	ab, ba := link.Stats()
	for i, s := range []badlink.Stats{ab, ba} {
		t.Logf("%s: %d packets, %d lost, %d late, %d twice, %d dropped, %d refused", []string{"there", "back"}[i], s.In, s.Lost, s.Reordered,
			s.Duplicated, s.QueueDrops, s.Refused)
		arrived := s.In - s.Lost
		for _, fault := range []struct {
			n, of       uint64
			probability float64
		}{{s.Lost, s.In, LossyFaults.Loss}, {s.Reordered, arrived, LossyFaults.Reorder}, {s.Duplicated, arrived, LossyFaults.Duplicate}} {
			want := fault.probability * float64(fault.of)
			if math.Abs(float64(fault.n)-want) > 5*math.Sqrt(want) || fault.n == 0 && want > 10 {
				t.Errorf("of %d packets, %d had a fault of probability %v", fault.of, fault.n, fault.probability)
			}
		}
	}
}

// A Pairing makes a connection between two hosts.
type Pairing func() (a, b net.Conn, err error)

// LossyPair makes a connection in DDP mode.
func LossyPair(t *testing.T, pair Pairing) (ends [2]*extsock.Conn) {
	t.Helper()
	a, b, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	cfg := &extsock.Config{CloseTimeout: time.Minute, HandshakeTimeout: time.Minute}
	ends = [2]*extsock.Conn{extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)}
	if err := SwitchEnds(t, ends[:]...); err != nil {
		t.Fatal(err)
	}
	return ends
}

// SwitchEnds switches the ends of a connection to DDP mode. They are closed when t ends.
func SwitchEnds(t *testing.T, ends ...*extsock.Conn) error {
	t.Helper()
	ctx := prototest.TimeLimit(t)
	errs := make(chan error, len(ends))
	for _, c := range ends {
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(LossyTimeout))
		go func() { errs <- c.EnableDDP(ctx, nil) }()
	}
	var err error
	for range ends {
		err = errors.Join(err, <-errs)
	}
	return err
}

// LossyPairs makes several connections in DDP mode.
func LossyPairs(t *testing.T, pair Pairing, connections int) (list [][2]*extsock.Conn) {
	t.Helper()
	for range connections {
		list = append(list, LossyPair(t, pair))
	}
	return list
}

// A LossyMove moves octets each way between two hosts, divided among several connections. It
// returns SHA-256 sums of the octets that each host sent, and of those received from it.
type LossyMove func(t *testing.T, connections [][2]*extsock.Conn, octets int64) (sent, received [2][]byte)

// MoveWantsSame moves octets, checks that the sums are equal, and logs the speed. If nothing
// arrives any more, the test fails within seconds and logs how much each end has received.
func MoveWantsSame(t *testing.T, move LossyMove, connections [][2]*extsock.Conn, octets int64) {
	t.Helper()
	prototest.Watch(t, func() uint64 { return arrived(connections) }, func() {
		for i, ends := range connections {
			for k, c := range ends {
				t.Logf("connection %d, %v: %d octets sent, of which the peer has received %d", i, c.LocalAddr(), c.Stats().Sent.Octets,
					ends[1-k].Stats().Received.Octets)
				c.SetDeadline(time.Now())
			}
		}
	})
	begin := time.Now()
	sent, received := move(t, connections, octets)
	elapsed := time.Since(begin)
	for i := range sent {
		t.Logf("SHA-256 sent %.16x…, received %.16x…", sent[i], received[i])
		if !bytes.Equal(sent[i], received[i]) || len(sent[i]) == 0 {
			t.Errorf("sent %x, received %x", sent[i], received[i])
		}
	}
	t.Logf("%d octets each way on %d connections in %v, %.1f MB/s", octets, len(connections), elapsed, 2*float64(octets)/elapsed.Seconds()/1e6)
}

// arrived returns the number of octets received on connections.
func arrived(connections [][2]*extsock.Conn) (n uint64) {
	for _, ends := range connections {
		for _, c := range ends {
			n += c.Stats().Received.Octets
		}
	}
	return n
}

// sums holds the sums of several connections, by direction and number.
type sums [2][][]byte

func newSums(connections int) (s sums) {
	for i := range s {
		s[i] = make([][]byte, connections)
	}
	return s
}

// all returns one sum for each direction, or nil where the sum of a connection is missing.
func (s sums) all() (total [2][]byte) {
	for i, list := range s {
		if slices.ContainsFunc(list, func(sum []byte) bool { return len(sum) == 0 }) {
			continue
		}
		sum := sha256.Sum256(bytes.Join(list, nil))
		total[i] = sum[:]
	}
	return total
}

// LossyStreams exchanges byte streams: each connection carries octets both ways.
func LossyStreams(t *testing.T, connections [][2]*extsock.Conn, octets int64) (sent, received [2][]byte) {
	octets /= int64(len(connections))
	out, in := newSums(len(connections)), newSums(len(connections))
	var wg sync.WaitGroup
	for k, ends := range connections {
		for i, c := range ends {
			wg.Go(func() {
				var err error
				if out[i][k], in[1-i][k], err = exchangeStreams(c, byte(2*k+i), octets); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	return out.all(), in.all()
}

// LossyWrites makes each host write to the other's memory. Each connection carries Writes one way,
// so the number of connections is even.
func LossyWrites(t *testing.T, connections [][2]*extsock.Conn, octets int64) (sent, received [2][]byte) {
	octets /= int64(len(connections) / 2)
	out, in := newSums(len(connections)/2), newSums(len(connections)/2)
	var wg sync.WaitGroup
	for k, ends := range connections {
		from := k % 2
		wg.Go(func() {
			var err error
			if out[from][k/2], err = SendWrites(ends[from], byte(k), octets); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			var err error
			if in[from][k/2], err = ReceiveWrites(ends[1-from], octets); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return out.all(), in.all()
}
