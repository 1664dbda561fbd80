package extsock_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// Tests of RFC 5041 §6.2.2 and §7: what the ULP learns of a fatal error.

// wantMPACode wants an MPA error with this code, and the same in its number, that is not a graceful
// end.
func wantMPACode(t *testing.T, desc string, err error, code mpa.Code) {
	t.Helper()
	var me *mpa.Error
	if !errors.As(err, &me) {
		t.Errorf("%s: %v, want an MPA error", desc, err)
		return
	}
	layer, etype, c := me.TerminateCode()
	if me.Code != code || layer != 2 || etype != 0 || c != uint8(code) || me.Graceful {
		t.Errorf("%s: %v, number %d/%d/%d, want code %d", desc, err, layer, etype, c, code)
	}
}

// fpduWith returns the next FPDU, changed and with the CRC that is right for that.
func (p *rawPeer) fpduWith(change func(b []byte), ulpdu []byte) []byte {
	b := rawpeer.FPDUs(p.tx, ulpdu)
	change(b)
	body := len(b) - 4
	binary.LittleEndian.PutUint32(b[body:], crc32.Checksum(b[:body], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// "any of the following fatal errors on a DDP Stream MUST cause DDP to indicate to the ULP that a
// fatal error has occurred: Underlying LLP Connection or LLP Stream is lost. Underlying LLP reports
// a fatal error." "the DDP layer SHOULD report the error to the ULP (see Section 7.2, DDP Error
// Numbers) and complete all outstanding ULP requests with an error." "All LLP errors reported to
// DDP SHOULD be passed up to the ULP." Each error of MPA's has its number, and each request, sends
// and receives, posted and under way, completes once, with it.
// DDP-5041-6.2.2-1, DDP-5041-6.2.2-2, DDP-5041-6.2.2-4, DDP-5041-6.2.2-5, DDP-5041-7-1
func TestRFC5041_6_2_2_FatalErrorsOfTheLLP(t *testing.T) {
	good := untagged(rdmap.OpSend, 0, 1, 0, 4)
	for _, tt := range []struct {
		desc string
		code mpa.Code
		then func(t *testing.T, p *rawPeer)
	}{
		{"lost inside an FPDU", mpa.CodeClosed, func(t *testing.T, p *rawPeer) {
			p.s.Write(p.fpduWith(func([]byte) {}, good)[:20])
			p.s.(interface{ CloseWrite() error }).CloseWrite()
		}},
		{"CRC", mpa.CodeCRC, func(t *testing.T, p *rawPeer) {
			b := p.fpduWith(func([]byte) {}, good)
			b[len(b)-1] ^= 1
			p.s.Write(b)
		}},
		{"Marker", mpa.CodeMarker, func(t *testing.T, p *rawPeer) {
			p.s.Write(p.fpduWith(func(b []byte) { b[512-32+3] ^= 4 }, make([]byte, 600))) // the first FPDU has 32 octets
		}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, c := rawPair(t, extsock.Config{Markers: true}, func(c *extsock.Conn) {
					for id := range uint64(4) {
						if err := c.PostRecv(rdmap.RecvRequest{ID: id, Buf: make([]byte, 8)}); err != nil {
							t.Fatal(err)
						}
					}
				})
				p.tx = mpa.NewSender(mpa.Agreement{CRC: true, TxMarkers: true})
				p.send(good...)
				if d := complete(t, c.RecvCQ()); d.ID != 0 {
					t.Errorf("completion %v", d)
				}
				h := rdmap.Handle{STag: 1, TO: 1, Len: 8}
				for id := range uint64(20) { // more than may be outstanding, and Sends that wait for them
					wr := rdmap.WorkRequest{ID: id, Op: rdmap.WorkRead, Data: make([]byte, 8), Remote: h}
					if id%5 == 4 {
						wr = rdmap.WorkRequest{ID: id, Op: rdmap.WorkSend, Data: make([]byte, 8), Fence: true}
					}
					if err := c.Post(&wr); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				if n := c.SendCQ().Len(); n != 0 {
					t.Errorf("%d requests completed, though nothing was answered", n)
				}
				tt.then(t, p)
				synctest.Wait()
				for id := range uint64(20) {
					d, err := c.SendCQ().Wait(timeLimit(t))
					if err != nil || d.ID != id {
						t.Fatalf("completion %v, %v, want ID %d", d, err, id)
					}
					wantMPACode(t, "request", d.Err, tt.code)
				}
				for id := range uint64(3) {
					d, err := c.RecvCQ().Wait(timeLimit(t))
					if err != nil || d.ID != id+1 {
						t.Fatalf("completion %v, %v, want ID %d", d, err, id+1)
					}
					wantMPACode(t, "receive", d.Err, tt.code)
				}
				err := postSend(c, nil)
				wantMPACode(t, "PostSend", err, tt.code)
				p.s.Close()
				c.Close()
				settle()
				if n := c.SendCQ().Len() + c.RecvCQ().Len(); n != 0 {
					t.Errorf("%d more completions", n)
				}
			})
		})
	}
	t.Run("startup frame", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			defer b.Close()
			c := extsock.NewConn(a, false, nil)
			defer c.Close()
			f := mpa.Frame{Revision: 1, CRC: true}.AppendTo(nil)
			f[17] = 9 // no such revision
			b.Write(f)
			wantMPACode(t, "EnableDDP", c.EnableDDP(timeLimit(t), nil), mpa.CodeFrame)
		})
	})
}

// The same for a connection that TCP reports as lost: MPA has no error number for that, but the
// program gets TCP's error. DDP-5041-6.2.2-1, DDP-5041-6.2.2-5
func TestRFC5041_6_2_2_ConnectionLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{CutAfter: 4000, CutHow: simtoe.RST}, simtoe.Config{})
		ci, cr := switched(t, a, b, postRecvs(extsock.Config{}, 2, 8), postRecvs(extsock.Config{}, 3, 3000))
		r := register(t, cr, make([]byte, 8), ddp.RemoteRead)
		do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: make([]byte, 2000)})
		complete(t, cr.RecvCQ())
		for id, wr := range []rdmap.WorkRequest{
			{Op: rdmap.WorkSend, Data: make([]byte, 2500)}, // the cut lies in it
			{Op: rdmap.WorkRead, Data: make([]byte, 8), Remote: r.Handle()},
		} {
			wr.ID = uint64(id)
			if err := ci.Post(&wr); err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Error(err)
			}
		}
		synctest.Wait()
		for desc, c := range map[string]*extsock.Conn{"source": ci, "sink": cr} {
			for range 2 {
				d, err := c.RecvCQ().Wait(timeLimit(t))
				if err != nil || d.Status == rdmap.StatusOK || !errors.Is(d.Err, syscall.ECONNRESET) || errors.Is(d.Err, io.EOF) {
					t.Errorf("%s: receive %v, %v, want the reset", desc, d, err)
				}
			}
			if n := c.RecvCQ().Len(); n != 0 {
				t.Errorf("%s: %d more completions", desc, n)
			}
			if err := postSend(c, nil); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%s: PostSend = %v, want the reset", desc, err)
			}
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// A DDP Stream whose queue is run over ends at once and for good: there is one Terminate, and
// buffers that are posted behind it do not bring the stream back. "If there is not an associated
// buffer, DDP implementations MAY choose to disable the stream for the reception and report an
// error to the ULP at the Data Sink."
// DDP-5041-7.1-6, DDP-5041-7.1-7
func TestRFC5041_7_1_QueueRunOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{}, func(c *extsock.Conn) {
			if err := c.PostRecv(rdmap.RecvRequest{ID: 1, Buf: make([]byte, 8)}); err != nil {
				t.Fatal(err)
			}
		})
		for msn := range uint32(10) {
			p.send(untagged(rdmap.OpSend, 0, msn+1, 0, 4)...)
		}
		if d := complete(t, c.RecvCQ()); d.ID != 1 {
			t.Errorf("completion %v", d)
		}
		p.wantTerminate(1, 2, 2) // one, and then the FIN
		var e *ddp.Error
		if err := c.PostRecv(rdmap.RecvRequest{ID: 2, Buf: make([]byte, 8)}); err == nil {
			t.Error("PostRecv behind the end of the stream succeeds")
		}
		if err := postSend(c, nil); !errors.As(err, &e) || e.Code != ddp.CodeNoBuffer {
			t.Errorf("PostSend = %v, want the reason", err)
		}
		p.s.Close()
		c.Close()
		settle()
		if n := c.RecvCQ().Len(); n != 0 {
			t.Errorf("%d more completions", n)
		}
	})
}
