package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// "Interoperability is dependent on MPA protocol version negotiation (e.g., MPA marker and MPA
// CRC)" (RFC 5040 §4.1): all that rddp negotiates is the IETF's MPA, so RV is 01b with every
// outcome, and the RDMA Consortium's 00b with none.
//
// RDMAP-5040-4.1-17
func TestRFC5040_4_1_VersionWithEveryStartup(t *testing.T) {
	for _, crc := range []bool{true, false} {
		for _, markers := range []bool{true, false} {
			t.Run(fmt.Sprintf("crc=%t/markers=%t", crc, markers), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
					a.SetReadDeadline(prototest.Deadline(t))
					p, c := rawOver(t, a, b, mpa.Frame{CRC: crc, Markers: markers}, extsock.Config{NoCRC: !crc, Markers: markers, Messages: true})
					p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
					if n, err := c.Read(make([]byte, 10)); n != 4 || err != nil {
						t.Fatalf("a Send with RV 01b: Read = %d, %v", n, err)
					}
					if _, err := c.Write([]byte("hello")); err != nil {
						t.Fatal(err)
					}
					if u, err := p.next(); err != nil || u[1]&0xC0 != 0x40 {
						t.Errorf("sent %x, %v, want RV 01b", u, err)
					}
					old := untagged(rdmap.OpSend, 0, 2, 0, 4)
					old[1] &^= 0xC0
					p.send(old...)
					p.wantTerminate(0, 2, 5)
				})
			})
		}
	}
	t.Run("revision 0", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			c := extsock.NewConn(b, false, nil)
			defer c.Close()
			defer a.Close()
			request := mpa.Frame{Revision: 1, CRC: true}.AppendTo(nil)
			request[17] = 0
			a.Write(request)
			if err := c.EnableDDP(timeLimit(t), nil); err == nil {
				t.Error("the RDMA Consortium's MPA is accepted")
			}
		})
	})
}

// "The ULP is responsible for transitioning the LLP Stream into RDMA-enabled mode" (RFC 5040 §6.1):
// before it has, an FPDU is octets like any others, and no operation can be posted.
//
// RDMAP-5040-6.1-1
func TestRFC5040_6_1_TheULPSwitches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci, cr := extsock.NewConn(a, true, &extsock.Config{Messages: true}), extsock.NewConn(b, false, &extsock.Config{Messages: true})
		defer ci.Close()
		defer cr.Close()
		memory := make([]byte, 4)
		r := register(t, cr, memory, ddp.RemoteWrite)
		batch := mpa.NewBatch(512 << 10)
		mpa.NewSender(mpa.Agreement{CRC: true}).Append(batch, false, tagged(rdmap.OpWrite, r.Handle().STag, r.Handle().TO))
		fpdu := bytes.Join(batch.Bufs(), nil)
		if _, err := ci.Write(fpdu); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(fpdu))
		if _, err := io.ReadFull(cr, got); err != nil || !bytes.Equal(got, fpdu) {
			t.Errorf("in TCP mode an FPDU comes as %x, %v", got, err)
		}
		write := rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte{1, 2, 3, 4}, Remote: r.Handle()}
		if err := ci.Post(&write); !errors.Is(err, extsock.ErrMode) {
			t.Errorf("Post in TCP mode: %v, want ErrMode", err)
		}
		if !bytes.Equal(memory, make([]byte, 4)) {
			t.Error("memory is written in TCP mode")
		}
		if err := switchBoth(timeLimit(t), ci, cr); err != nil {
			t.Fatal(err)
		}
		do(t, ci, write)
		do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte{5}})
		if _, err := cr.Read(make([]byte, 1)); err != nil || !bytes.Equal(memory, []byte{1, 2, 3, 4}) {
			t.Errorf("in RDMA mode the Write leaves %x (%v)", memory, err)
		}
	})
}

// relayed makes a connection through a relay, which keeps all octets of each direction. kept waits
// until both directions have ended, and returns their octets.
func relayed() (a, b net.Conn, kept func() (there, back []byte)) {
	var there, back bytes.Buffer
	var ended sync.WaitGroup
	a, x := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	y, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	carry := func(to, from net.Conn, kept *bytes.Buffer) {
		io.Copy(to, io.TeeReader(from, kept))
		to.(interface{ CloseWrite() error }).CloseWrite()
	}
	ended.Go(func() { carry(y, x, &there) })
	ended.Go(func() { carry(x, y, &back) })
	return a, b, func() ([]byte, []byte) { ended.Wait(); return there.Bytes(), back.Bytes() }
}

// ulpdus returns the ULPDUs of the FPDUs after a startup frame, and how many octets belong to no
// FPDU.
func ulpdus(t *testing.T, octets []byte) (all [][]byte, rest int) {
	t.Helper()
	n, err := mpa.FrameLen(octets[:mpa.FrameHeaderLen])
	if err != nil {
		t.Fatal(err)
	}
	octets = octets[n:]
	rx := rawpeer.NewReceiver(mpa.Agreement{CRC: true})
	for done := 0; done < len(octets); {
		n := copy(rx.Free(), octets[done:])
		rx.Fill(uint64(done), n)
		for done += n; rx.Next(); {
			all = append(all, bytes.Clone(rx.ULPDU().Data))
		}
		if err := rx.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all, len(octets) - int(rx.Edge())
}

// "Once in RDMA enabled mode, an implementation MUST send only RDMA Messages across the transport
// Stream until the RDMAP Stream is torn down" (RFC 5040 §6.1): from the startup frame to the FIN
// there is nothing else, in a byte stream either.
//
// RDMAP-5040-6.1-2
func TestRFC5040_6_1_OnlyRDMAMessages(t *testing.T) {
	for _, messages := range []bool{true, false} {
		for _, fault := range []bool{true, false} {
			t.Run(fmt.Sprintf("messages=%t/fault=%t", messages, fault), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					a, b, kept := relayed()
					mode := side{cfg: extsock.Config{Messages: messages}}
					ci, cr := switched(t, a, b, mode, mode)
					octets := pattern(60_000, 1)
					for _, c := range [][2]*extsock.Conn{{ci, cr}, {cr, ci}} {
						written := make(chan error, 1)
						go func() { _, err := c[0].Write(octets); written <- err }()
						if _, err := io.ReadFull(c[1], make([]byte, len(octets))); err != nil {
							t.Fatal(err)
						}
						if err := <-written; err != nil {
							t.Fatal(err)
						}
						writeAndRead(t, c[0], c[1], 5000, 3)
						atomics(t, c[0], c[1])
					}
					if fault {
						post(t, ci, 1, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, 4), Remote: rdmap.Handle{STag: 9}})
						time.Sleep(time.Millisecond) // Post may put the Write off
					}
					ci.Close()
					cr.Close()
					settle()
					there, back := kept()
					for n, octets := range [][]byte{there, back} {
						all, rest := ulpdus(t, octets)
						if rest != 0 || len(all) < 10 {
							t.Errorf("end %d sends %d FPDUs and %d octets that are none", n, len(all), rest)
						}
						for i, u := range all {
							wantRDMAMessage(t, u)
							if isTerminate := u[1]&0xF == byte(rdmap.OpTerminate); isTerminate != (fault && n == 1 && i == len(all)-1) {
								t.Errorf("end %d, FPDU %d of %d: Terminate %t", n, i, len(all), isTerminate)
							}
						}
					}
				})
			})
		}
	}
}

// wantRDMAMessage checks that a ULPDU is a segment of an RDMA Message (RFC 5040 figure 4, RFC 7306
// §4.1).
func wantRDMAMessage(t *testing.T, u []byte) {
	t.Helper()
	op, rv := rdmap.ParseControl(u[1])
	isTagged := op == rdmap.OpWrite || op == rdmap.OpReadResponse
	if op > rdmap.OpAtomicResponse || rv != 1 || u[0]&3 != 1 || ddp.IsTagged(u) != isTagged {
		t.Errorf("no RDMA Message: %x", u[:min(len(u), 18)])
		return
	}
	if isTagged {
		return
	}
	h, _, err := ddp.ParseUntagged(u)
	want := map[rdmap.Opcode]ddp.QN{rdmap.OpReadRequest: 1, rdmap.OpAtomicRequest: 1, rdmap.OpTerminate: 2, rdmap.OpAtomicResponse: 3}[op]
	if err != nil || h.QN != want {
		t.Errorf("%v on queue %d, want %d (%v)", op, h.QN, want, err)
	}
}

// "It is the ULP's responsibility to set the maximum number of outstanding, inbound RDMA Read
// Requests", and the outbound ones (RFC 5040 §6.1): it does in the Config of each connection, and
// startup makes the two ends agree. "It is recommended that the ULP set the maximum number of …
// inbound RDMA Read Requests equal to the maximum number of … outbound" ones.
//
// RDMAP-5040-6.1-4, RDMAP-5040-6.1-7
func TestRFC5040_6_1_TheULPSetsDepths(t *testing.T) {
	for _, tt := range []struct {
		desc                 string
		i, r                 extsock.Config
		ird, ord, rird, rord int
	}{
		{"nothing set", extsock.Config{}, extsock.Config{}, 16, 16, 16, 16},
		{"equal", extsock.Config{IRD: 3, ORD: 5}, extsock.Config{IRD: 5, ORD: 3}, 3, 5, 5, 3},
		{"none one way", extsock.Config{IRD: -1, ORD: 5}, extsock.Config{IRD: 5, ORD: -1}, 0, 5, 5, 0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, simtoe.Config{}, side{cfg: tt.i}, side{cfg: tt.r})
				ird, ord := depthsOf(ci)
				rird, rord := depthsOf(cr)
				if ird != tt.ird || ord != tt.ord || rird != tt.rird || rord != tt.rord {
					t.Errorf("IRD and ORD are %d, %d and %d, %d, want %d, %d and %d, %d",
						ird, ord, rird, rord, tt.ird, tt.ord, tt.rird, tt.rord)
				}
			})
		})
	}
}

// "There are three methods for terminating an RDMAP Stream: ULP Graceful Termination, RDMAP
// Abortive Termination, and LLP Abortive Termination" (RFC 5040 §6.2). After the first "either side
// of the Stream can initiate LLP Graceful Termination"; the last comes "without an RDMAP Terminate
// Message". The program can tell which it was.
//
// RDMAP-5040-6.2-1 to RDMAP-5040-6.2-3
func TestRFC5040_6_2_ThreeWaysToEnd(t *testing.T) {
	for _, tt := range []struct {
		desc string
		wire simtoe.Config
		end  func(ci, cr *extsock.Conn) (other *extsock.Conn)
		want func(err error) bool
		term uint64
	}{
		{"graceful, by the Initiator", simtoe.Config{}, func(ci, cr *extsock.Conn) *extsock.Conn { ci.Close(); return cr },
			func(err error) bool { return err == io.EOF }, 0},
		{"graceful, by the Responder", simtoe.Config{}, func(ci, cr *extsock.Conn) *extsock.Conn { cr.Close(); return ci },
			func(err error) bool { return err == io.EOF }, 0},
		{"RDMAP abortive", simtoe.Config{}, func(ci, _ *extsock.Conn) *extsock.Conn {
			ci.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, 4), Remote: rdmap.Handle{STag: 9}})
			return ci
		}, func(err error) bool { var te *rdmap.TerminateError; return errors.As(err, &te) && te.Remote }, 1},
		{"LLP abortive", simtoe.Config{CutAfter: 1000, CutHow: simtoe.RST}, func(ci, cr *extsock.Conn) *extsock.Conn {
			ci.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: make([]byte, 2000)})
			return cr
		}, func(err error) bool {
			var te *rdmap.TerminateError
			return err != nil && err != io.EOF && !errors.As(err, &te)
		}, 0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, tt.wire, inMessages, inMessages)
				other := tt.end(ci, cr)
				if n, err := other.Read(make([]byte, 10)); n != 0 || !tt.want(err) {
					t.Errorf("Read = %d, %v", n, err)
				}
				ci.Close()
				cr.Close()
				settle()
				sent := ci.Stats().Sent.Terminates + cr.Stats().Sent.Terminates
				if sent != tt.term {
					t.Errorf("%d Terminates are sent, want %d", sent, tt.term)
				}
			})
		})
	}
}

// The inbound Reads that the ULP has set (RFC 5040 §6.1) are what the stream takes: while an answer
// is stuck on its way, as many requests may wait as the Config says, and one more ends the stream.
//
// RDMAP-5040-6.1-4, RDMAP-5040-6.1-5, RDMAP-5040-6.1-9
func TestRFC5040_6_1_IRDOfTheULPCounts(t *testing.T) {
	for _, ird := range []int{1, 2, 5} {
		bubble(t, func(t *testing.T) {
			wire := simtoe.Config{Window: 4096}
			a, b := simtoe.Pair(wire, wire)
			p, c := rawOver(t, a, b, mpa.Frame{CRC: true}, extsock.Config{IRD: ird, Messages: true})
			source := register(t, c, make([]byte, 1<<20), ddp.RemoteRead)
			ask := func(msn uint32) error {
				h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadRequest), QN: ddp.QNReadRequest, MSN: msn}
				r := rdmap.ReadRequest{SinkSTag: 9, Size: 1 << 20, SourceSTag: source.Handle().STag, SourceTO: source.Handle().TO}
				p.send(r.AppendTo(h.AppendTo(nil))...)
				synctest.Wait()
				return c.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Unsignaled: true})
			}
			for msn := range uint32(ird + 1) { // the first is being answered, and takes no room any more
				if err := ask(msn + 1); err != nil {
					t.Fatalf("IRD %d, request %d: %v", ird, msn+1, err)
				}
			}
			var e *ddp.Error
			err := ask(uint32(ird + 2))
			if !errors.As(err, &e) || e.Code != ddp.CodeNoBuffer {
				t.Errorf("IRD %d, one request too many: %v", ird, err)
			}
			a.Close()
			c.Close()
			settle()
		})
	}
}
