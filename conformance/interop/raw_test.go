//go:build interop

package interop

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A raw is a TCP connection on which a test writes MPA octet by octet, so that it can send siw what
// no correct stack would send.
type raw struct {
	t    *testing.T
	c    net.Conn
	crc  bool
	msns [4]uint32 // last MSN used, by queue
}

const (
	requestKey = "MPA ID Req Frame"
	replyKey   = "MPA ID Rep Frame"
	rawPort    = 7300
	rawLimit   = 20 * time.Second // longest wait for siw to send something or to close
)

// startup returns an MPA Request or Reply.
func startup(key string, flags, revision byte, private []byte) []byte {
	b := append([]byte(key), flags, revision)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(private))), private...)
}

// enhanced returns the header of an enhanced frame: IRD and ORD with the flags above them.
func enhanced(ird, ord uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, ird), ord)
}

// fpdu returns one FPDU without markers. Its CRC field is 0 with CRCs off, as in siw's FPDUs.
func (r *raw) fpdu(ulpdu []byte) []byte {
	b := append(binary.BigEndian.AppendUint16(nil, uint16(len(ulpdu))), ulpdu...)
	b = append(b, make([]byte, (-len(b))&3)...)
	if !r.crc {
		return append(b, 0, 0, 0, 0)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

var (
	tagged      = prototest.Tagged[uint32]
	untagged    = prototest.Untagged[uint32]
	readRequest = prototest.ReadRequest[uint32]
)

// DDP's and RDMAP's control octets of whole messages, versions 1.
const (
	ctlWrite    = 0xc140
	ctlReadReq  = 0x4141
	ctlReadResp = 0xc142
	ctlSend     = 0x4143
)

// send returns the next Send of the connection, in one segment.
func (r *raw) send(payload []byte) []byte {
	r.msns[0]++
	return untagged(ctlSend, 0, r.msns[0], 0, payload)
}

func (r *raw) write(b []byte) {
	r.t.Helper()
	if _, err := r.c.Write(b); err != nil {
		r.t.Fatal(err)
	}
}

// read reads exactly n octets.
func (r *raw) read(n int) []byte {
	r.t.Helper()
	_ = r.c.SetReadDeadline(time.Now().Add(rawLimit))
	b := make([]byte, n)
	if _, err := io.ReadFull(r.c, b); err != nil {
		r.t.Fatalf("reading %d octets from siw: %v", n, err)
	}
	return b
}

// rest reads until siw closes, or sends nothing for rawLimit.
func (r *raw) rest() []byte {
	_ = r.c.SetReadDeadline(time.Now().Add(rawLimit))
	b, err := io.ReadAll(r.c)
	if err != nil {
		return append(b, []byte(fmt.Sprintf("(%v)", err))...)
	}
	return b
}

// nudge sends Writes of length 0, which no program sees, until stop is called. The first one is the
// RTR of a peer-to-peer connection. It goes out before siw is sure to see it (its fault "stall"),
// and siw is not established without it.
func (r *raw) nudge() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(stallPause):
				_, _ = r.c.Write(r.fpdu(tagged(ctlWrite, 1, 0, nil))) // siw may have closed
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// terminate reads one FPDU and returns the first three octets of the Terminate in it. It returns ""
// if siw closes without one, and "reset" if siw's reset may have destroyed it because siw closed
// with unread octets.
func (r *raw) terminate() string {
	r.t.Helper()
	_ = r.c.SetReadDeadline(time.Now().Add(rawLimit))
	b, err := io.ReadAll(r.c)
	switch {
	case len(b) == 0 && errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case err != nil && !errors.Is(err, syscall.ECONNRESET):
		r.t.Errorf("waiting for siw's Terminate: %v", err)
	}
	if len(b) < 23 {
		return hex.EncodeToString(b)
	}
	if control := binary.BigEndian.Uint16(b[2:]); control != 0x4147 {
		r.t.Errorf("siw sent a segment with control octets %04x, want a Terminate: %x", control, b)
	}
	return hex.EncodeToString(b[20:23])
}

// dialSiw connects to a siwpeer as the Initiator. Afterwards siw is in full operation. The peer has
// a region "a" (remote Reads and Writes) with the pattern 1, and 16 receives of 1000 octets.
func dialSiw(t *testing.T, g *Guest, crc bool) (*raw, *Peer, Region) {
	t.Helper()
	p := g.Peer(t)
	p.Do("listen port=%d", rawPort)
	p.Send("request")
	p.Send("mr len=4096")
	p.Send("fill seed=1")
	p.Send("recv n=16 len=1000")
	p.Send("accept ird=2 ord=2")
	r := dialRaw(t, g)
	r.crc = crc
	flags := byte(0x10)
	if crc {
		flags |= 0x40
	}
	r.write(startup(requestKey, flags, 2, enhanced(4, 2)))
	p.MustReply()
	region := p.MustReply().Region()
	for range 3 {
		p.MustReply()
	}
	if got := r.read(24); string(got[:16]) != replyKey || got[16] != flags {
		t.Fatalf("siw's MPA Reply is %x", got)
	}
	return r, p, region
}

func dialRaw(t *testing.T, g *Guest) *raw {
	t.Helper()
	c, err := net.Dial("tcp", g.Forward(t, rawPort))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &raw{t: t, c: c}
}

// A Send, a Write and a Read by hand. The tests below rely on them.
func TestRawSpeaksMPA(t *testing.T) {
	for _, crc := range []bool{false, true} {
		t.Run(fmt.Sprintf("CRC=%t", crc), func(t *testing.T) {
			g := Start(t)
			r, p, a := dialSiw(t, g, crc)
			r.write(r.fpdu(tagged(ctlWrite, a.STag, a.TO+8, []byte("written"))))
			r.write(r.fpdu(r.send([]byte("sent"))))
			if c := p.Wait("rq", 1)[0]; string(c.Data) != "sent" {
				t.Errorf("siw got %+v", c)
			}
			if got := p.Dump("a", 8, 7); string(got) != "written" {
				t.Errorf("memory holds %q", got)
			}
			r.write(r.fpdu(untagged(ctlReadReq, 1, 1, 0, readRequest(7, 9, 7, a.STag, a.TO+8))))
			want := r.fpdu(tagged(ctlReadResp, 7, 9, []byte("written")))
			if got := r.read(len(want)); string(got) != string(want) {
				t.Errorf("the Read Response is %x, want %x", got, want)
			}
		})
	}
}

// siw's Reply to all kinds of Requests: octets 16 and 17 and the Private Data, or "" if it just
// closes.
func TestSiwReply(t *testing.T) {
	for _, tt := range []struct {
		desc, request, want string
	}{
		{"revision 1", "00 01 0000", "00 01 0000"},
		{"revision 1, CRC", "40 01 0000", "40 01 0000"},
		{"revision 0", "00 00 0000", "00 00 0000"},
		{"revision 2, not enhanced", "00 02 0000", "00 02 0000"},
		{"revision 2", "10 02 0004 0003 0002", "10 02 0004 0004 0003"},
		{"revision 2, CRC", "50 02 0004 0003 0002", "50 02 0004 0004 0003"},
		{"depths left to the ULP", "10 02 0004 3fff 3fff", "10 02 0004 0080 0004"},
		{"revision 3", "10 03 0004 0003 0002", ""},
		{"markers", "80 01 0000", "20 01 0000"},
		{"enhanced header cut", "10 02 0002 0000", "30 02 0000"},
		{"peer-to-peer, all RTRs", "10 02 0004 c003 c002", "10 02 0004 8004 8003"},
		{"peer-to-peer, Read", "10 02 0004 8003 4002", "10 02 0004 8004 4003"},
		{"peer-to-peer, Send", "10 02 0004 c003 0002", "10 02 0004 8004 8003"},
		{"Private Data of 257", "00 01 0101" + strings.Repeat("00", 257), ""},
		{"octets behind the Request", "00 01 0000 ffff", ""},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			g := Start(t)
			p := g.Peer(t)
			p.Do("listen port=%d", rawPort)
			p.Send("request")
			p.Send("accept")
			r := dialRaw(t, g)
			request, err := hex.DecodeString(strings.ReplaceAll(tt.request, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			r.write(append([]byte(requestKey), request...))
			want, _ := hex.DecodeString(strings.ReplaceAll(tt.want, " ", ""))
			if tt.want != "" {
				want = append([]byte(replyKey), want...)
				if got := r.read(len(want)); string(got) != string(want) {
					t.Errorf("siw's Reply is %x, want %x", got[16:], want[16:])
				}
				if want[16]&0x20 == 0 {
					// Peer-to-peer connections must get their RTR, or siw may crash the kernel.
					stop := r.nudge()
					defer stop()
					p.MustReply()
					p.MustReply()
				}
				return
			}
			if got := r.rest(); len(got) != 0 {
				t.Errorf("siw's Reply is %q, want none", got)
			}
		})
	}
}
