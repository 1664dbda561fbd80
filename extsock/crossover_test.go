package extsock_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestLongWritesWithoutReads: a byte stream carries long Writes in both directions even if one end,
// or both, serve or issue no RDMA Reads, whether startup says so or not. Some of the Writes go by
// rendezvous, which needs no RDMA Read.
func TestLongWritesWithoutReads(t *testing.T) {
	for desc, cfg := range map[string]extsock.Config{"enhanced": {}, "NoEnhanced": {NoEnhanced: true}, "revision 1": {Revision: 1}} {
		for _, depths := range [][4]int{{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, -1, 0}, {0, 0, 0, -1}, {-1, -1, -1, -1}, {-1, 0, -1, 0}} {
			t.Run(fmt.Sprint(desc, depths), func(t *testing.T) {
				i, r := side{cfg: cfg}, side{cfg: cfg}
				i.cfg.IRD, i.cfg.ORD, r.cfg.IRD, r.cfg.ORD = depths[0], depths[1], depths[2], depths[3]
				ci, cr := tcpPair(t, i, r)
				const writes = 12
				data := pattern(300<<10, 7)
				for _, d := range [][2]*extsock.Conn{{ci, cr}, {cr, ci}} {
					from, to := d[0], d[1]
					if !from.ConnectionState().ByteStream {
						t.Fatal("no byte stream")
					}
					read := make(chan error, 1)
					go func() {
						n, err := io.Copy(io.Discard, to)
						if err == nil && n != writes*int64(len(data)) {
							err = fmt.Errorf("%d bytes", n)
						}
						read <- err
					}()
					for range writes {
						if _, err := from.Write(data); err != nil {
							t.Fatal(err)
						}
					}
					if err := from.CloseWrite(); err != nil {
						t.Error(err)
					}
					if err := <-read; err != nil {
						t.Errorf("Read = %v", err)
					}
				}
			})
		}
	}
}

// TestCrossover counts the offers of Writes over a long round trip time, to a reader that waits.
// With a Crossover of 0 the connection tries two offers, which are slow, and then offers rarely.
func TestCrossover(t *testing.T) {
	for _, tt := range []struct {
		crossover, length, writes int
		offers                    uint64
	}{
		{-1, 300_000, 10, 0},
		{300_000, 299_999, 10, 0},
		{300_000, 300_000, 10, 10},
		{0, 2<<20 - 1, 10, 0},
		{0, 2 << 20, 35, 2},
		{0, 2 << 20, 36, 3},
	} {
		t.Run(fmt.Sprint(tt.crossover, tt.length, tt.writes), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := side{cfg: extsock.Config{Crossover: tt.crossover}}
				ci, cr := simPair(t, simtoe.Config{Delay: 10 * time.Millisecond, Window: 1 << 20}, s, s)
				read := make(chan error)
				go func() {
					p := make([]byte, tt.length)
					for range tt.writes {
						_, err := io.ReadFull(cr, p)
						read <- err
					}
				}()
				p := make([]byte, tt.length)
				for range tt.writes {
					time.Sleep(time.Second) // the reader waits, and the credits are back
					if _, err := ci.Write(p); err != nil {
						t.Fatal(err)
					}
					if err := <-read; err != nil {
						t.Fatal(err)
					}
				}
				if n := ci.Stats().Offers; n != tt.offers {
					t.Errorf("%d offers, want %d", n, tt.offers)
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
	}
}
