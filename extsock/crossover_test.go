package extsock_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/rddp/rddp/extsock"
)

// TestLongWritesWithoutReads: a byte stream carries long Writes in both directions if one end, or
// both, take or issue no RDMA Reads, whether startup says so or not. Some of the Writes go by
// rendezvous, which needs none.
func TestLongWritesWithoutReads(t *testing.T) {
	for desc, cfg := range map[string]extsock.Config{"enhanced": {}, "NoEnhanced": {NoEnhanced: true}, "revision 1": {Revision: 1}} {
		for _, depths := range [][4]int{{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, -1, 0}, {0, 0, 0, -1}, {-1, -1, -1, -1}, {-1, 0, -1, 0}} {
			t.Run(fmt.Sprint(desc, depths), func(t *testing.T) {
				extsock.ForgetCrossovers()
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
