package extsock_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// Tests of RFC 5042 for the only ULP of this module: the byte stream, which grants the memory of a
// Read that waits.

// grantFor offers n octets to a byte stream and returns the handle that it grants.
func (p *rawPeer) grantFor(msn, n uint32) rdmap.Handle {
	p.t.Helper()
	p.segment(msn, 0, true, binary.BigEndian.AppendUint32([]byte{1, 0, 0, 0}, n)...)
	u, err := p.next()
	if err != nil {
		p.t.Fatal(err)
	}
	_, payload, err := ddp.ParseUntagged(u)
	if err != nil || len(payload) != 20 || payload[0] != 2 {
		p.t.Fatalf("the offer is answered by %x (%v), want a grant", u, err)
	}
	h, _, _ := rdmap.ParseHandle(payload[4:])
	return h
}

// "Before the local ULP operates on a buffer that was written by the Remote Peer …, the local ULP
// MUST ensure the buffer can no longer be modified by invalidating the STag for remote access"
// (appendix A): here, before Read returns. "a local ULP MUST … ensure that no stale data is
// contained in a buffer before remote read access rights are granted": none are. "The ULP must set
// the base and bounds … to expose only the data", "If a peer only intends a buffer to be exposed
// for remote write access, it must set the access rights to the buffer to only enable remote write
// access."
//
// SEC-5042-6.2.2-1, SEC-5042-6.3.2-1, SEC-5042-6.3.3-1, SEC-5042-6.3.4-1, SEC-5042-6.3.5-1,
// SEC-5042-A-1, SEC-5042-A-2
func TestRFC5042_A_ByteStreamLendsMemory(t *testing.T) {
	const n, want = 40_000, 60_000 // octets offered, to a Read of so many
	write := func(h rdmap.Handle, off int) []byte { return tagged(rdmap.OpWrite, h.STag, h.TO+uint64(off)) }
	fill := func(p *rawPeer, h rdmap.Handle) {
		header := ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: h.STag, TO: h.TO}
		p.send(append(header.AppendTo(nil), bytes.Repeat([]byte{0xaa}, n)...)...)
	}
	done := func(p *rawPeer) { p.segment(2, 0, true, binary.BigEndian.AppendUint32([]byte{3, 0, 0, 0}, n)...) }
	untouched := bytes.Repeat([]byte{0xaa}, want+20)
	for _, tt := range []struct {
		desc               string
		layer, etype, code uint8
		attack             func(p *rawPeer, h rdmap.Handle, read <-chan int, memory []byte)
	}{
		{"Write once more when the Read has returned", 1, 1, 0, func(p *rawPeer, h rdmap.Handle, read <-chan int, memory []byte) {
			fill(p, h)
			p.send(write(h, 0)...)
			p.send(write(h, n-4)...)
			done(p)
			if got := <-read; got != n || !bytes.Equal(memory[10:14], []byte{1, 2, 3, 4}) || !bytes.Equal(memory[10+n-4:10+n], []byte{1, 2, 3, 4}) {
				t.Errorf("Read = %d, of which what was placed is missing", got)
			}
			copy(memory, untouched) // it is the program's
			p.send(write(h, 0)...)
		}},
		{"Read Request when the Read has returned", 0, 1, 0, func(p *rawPeer, h rdmap.Handle, read <-chan int, _ []byte) {
			fill(p, h)
			done(p)
			<-read
			p.send(readRequest(h.STag, h.TO, 4)...)
		}},
		{"Read Request", 0, 1, 2, func(p *rawPeer, h rdmap.Handle, _ <-chan int, _ []byte) {
			p.send(readRequest(h.STag, h.TO, 4)...)
		}},
		{"FetchAdd", 0, 1, 2, func(p *rawPeer, h rdmap.Handle, _ <-chan int, _ []byte) {
			header := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpAtomicRequest), QN: 1, MSN: 1}
			p.send(rdmap.AtomicRequest{STag: h.STag, TO: h.TO, Data: 1}.AppendTo(header.AppendTo(nil))...)
		}},
		{"Write behind what was offered, still in the Read's memory", 1, 1, 1, func(p *rawPeer, h rdmap.Handle, _ <-chan int, _ []byte) {
			p.send(write(h, n-3)...)
		}},
		{"Write before it", 1, 1, 1, func(p *rawPeer, h rdmap.Handle, _ <-chan int, _ []byte) { p.send(write(h, -1)...) }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, c := rawStreamPair(t, extsock.Config{}, 32)
				memory := bytes.Clone(untouched)
				read := make(chan int, 1)
				go func() {
					n, _ := c.Read(memory[10:][:want])
					read <- n
				}()
				synctest.Wait()
				h := p.grantFor(1, n)
				if h.Len != n {
					t.Errorf("%d octets are granted, want %d", h.Len, n)
				}
				tt.attack(p, h, read, memory)
				p.wantTerminate(tt.layer, tt.etype, tt.code)
				p.s.Close()
				var te *rdmap.TerminateError
				var de *ddp.Error
				if _, err := c.Read(make([]byte, 1)); !errors.As(err, &te) && !errors.As(err, &de) {
					t.Errorf("Read = %v, want the fault", err)
				}
				c.Close()
				if !bytes.Equal(memory, untouched) {
					t.Error("the program's memory has changed")
				}
				settle()
			})
		})
	}
}
