package extsock_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
)

// "When this bit is '1' in either the MPA Request Frame or MPA Reply Frame, CRCs MUST be generated
// and checked by both endpoints." "The default configuration for a connection MUST be to use CRCs".
// "M: [...] When this bit is '1' in an MPA Request Frame, the Initiator declares that Markers are
// REQUIRED in FPDUs sent from the Responder. When set to '1' in an MPA Reply Frame, this bit
// declares that Markers are REQUIRED in FPDUs sent from the Initiator."
//
// From what the Config and the peer's frame say to the octets of FPDUs, as either end: a Send of
// "hello" comes and one goes, then one comes whose CRC field holds zeros. MPA-5044-1.2-2,
// MPA-5044-4.4-2, MPA-5044-4.4-4, MPA-5044-4.4-5, MPA-5044-4.4-8, MPA-5044-4.4-9,
// MPA-5044-7.1.1-12, MPA-5044-7.1.1-14, MPA-5044-7.1.1-15, MPA-5044-7.1.1-16, MPA-5044-C.1-3,
// DDP-5041-3-8, MPA-5044-4.3-1, MPA-5044-7.1.1-7 to MPA-5044-7.1.1-11, MPA-5044-4.1-9,
// MPA-5044-4.1-10, MPA-5044-7.1.1-17, MPA-5044-4.3-10, MPA-5044-4.3-12, MPA-5044-7.1.2-20,
// MPA-5044-7.1-5, MPA-5044-7.1.1-1, MPA-5044-7.1.1-2, MPA-5044-7.1.1-4, MPA-5044-7.1.1-23,
// MPA-5044-7.1.1-28, MPA-5044-7.1-2
func TestRFC5044_7_1_1_FromFlagsToFPDUs(t *testing.T) {
	const ulpdu, pad = "4143 00000000 00000000 00000001 00000000 68656c6c6f", "000000"
	hello := func(markers, crc bool) string {
		switch {
		case markers && crc:
			return "00000000 0017" + ulpdu + pad + "7a61e971"
		case crc:
			return "0017" + ulpdu + pad + "b990b10c"
		case markers:
			return "00000000 0017" + ulpdu + pad + "00000000"
		}
		return "0017" + ulpdu + pad + "00000000"
	}
	flags := func(m, c bool) string {
		v := 0
		if m {
			v |= 0x80
		}
		if c {
			v |= 0x40
		}
		return fmt.Sprintf("%02x 01 0000", v)
	}
	read := func(c *extsock.Conn) (string, error) {
		p := make([]byte, 9)
		n, err := c.Read(p)
		return string(p[:n]), err
	}
	for bits := range 1 << 5 {
		initiator, ownM, ownC, peerM, peerC := bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0, bits&16 != 0
		t.Run(fmt.Sprintf("Initiator %t, own M=%t C=%t, peer's M=%t C=%t", initiator, ownM, ownC, peerM, peerC), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := plainInitiator
				if ownM {
					cfg.Markers = true
				}
				if !ownC {
					cfg.NoCRC = true // by default there are CRCs
				}
				crc := ownC || peerC
				c, far := against(t, initiator, cfg)
				defer far.close(c)
				done := enable(c, "")
				if initiator {
					far.hear(requestKey + flags(ownM, ownC))
					far.say(replyKey + flags(peerM, peerC))
				} else {
					far.say(requestKey + flags(peerM, peerC))
					far.hear(replyKey + flags(ownM, crc))
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				far.say(hello(ownM, crc))
				if got, err := read(c); got != "hello" || err != nil {
					t.Fatalf("Read = %q, %v", got, err)
				}
				if _, err := c.Write([]byte("hello")); err != nil {
					t.Fatal(err)
				}
				far.hear(hello(peerM, crc))
				far.say("0017 4143 00000000 00000000 00000002 00000000 68656c6c6f" + pad + "00000000")
				got, err := read(c)
				if e := (*mpa.Error)(nil); crc && (!errors.As(err, &e) || e.Code != mpa.CodeCRC) || !crc && (got != "hello" || err != nil) {
					t.Errorf("with a CRC of zeros: Read = %q, %v", got, err)
				}
			})
		})
	}
}

// "the amount of Private Data MUST not exceed the PD_Length or the application buffer", which has
// room for all that a frame can have, 512 octets: in a Request for its program, in a Reply for the
// one that has asked.
// MPA-5044-7.1.1-31, MPA-5044-7.1.2-24
func TestRFC5044_7_1_2_RoomForPrivateData(t *testing.T) {
	data := pattern(512, 1)
	bubble(t, func(t *testing.T) {
		c, far := against(t, false, plainInitiator)
		defer far.close(c)
		far.say(requestKey + "40 01 0200" + hex.EncodeToString(data))
		req, err := c.ReceiveRequest(t.Context())
		if err != nil || !bytes.Equal(req.PrivateData, data) {
			t.Fatalf("ReceiveRequest = %+v, %v", req, err)
		}
		if err := req.Accept(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
	bubble(t, func(t *testing.T) {
		c, far := against(t, true, plainInitiator)
		defer far.close(c)
		done := enable(c, "")
		far.hear(requestKey + "40 01 0000")
		far.say(replyKey + "40 01 0200" + hex.EncodeToString(data))
		if err := <-done; err != nil || !bytes.Equal(c.ConnectionState().PeerPrivateData, data) {
			t.Errorf("EnableDDP = %v, Private Data %x", err, c.ConnectionState().PeerPrivateData)
		}
	})
}
