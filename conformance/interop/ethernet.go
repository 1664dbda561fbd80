//go:build interop

package interop

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"sync"
)

// An Ethernet is the wire at the guest's eth0: a device that carries IPv4 packets, such as
// toe/usertcp and toe/badlink use. It adds and removes the Ethernet headers. To the guest it is a
// host with the address HostIP, for which it answers ARP requests.
type Ethernet struct {
	conn net.Conn // each write is one frame
	once sync.Once
}

const (
	ethernetHeader = 14
	ethernetMTU    = 1500
	typeIPv4       = 0x0800
	typeARP        = 0x0806
	arpLen         = 28
	arpRequest     = 1
	arpReply       = 2
)

// The hardware addresses of the two ends. guest.sh also contains the guest's.
var (
	guestMAC = []byte{0x52, 0x54, 0x00, 0x12, 0x34, 0x56}
	hostMAC  = []byte{0x52, 0x54, 0x00, 0x12, 0x34, 0x02}
)

// newEthernet returns a wire and its far end, which is for QEMU.
func newEthernet() (*Ethernet, *os.File, error) {
	ends, err := datagrams()
	if err != nil {
		return nil, nil, err
	}
	defer ends[0].Close()
	conn, err := net.FileConn(ends[0])
	if err != nil {
		ends[1].Close()
		return nil, nil, err
	}
	return &Ethernet{conn: conn}, ends[1], nil
}

// MTU returns the length of the longest packet.
func (e *Ethernet) MTU() int { return ethernetMTU }

// Read waits for an IPv4 packet from the guest. Meanwhile it answers ARP requests.
func (e *Ethernet) Read(p []byte) (int, error) {
	var b [ethernetHeader + ethernetMTU]byte
	for {
		n, err := e.conn.Read(b[:])
		if err != nil {
			return 0, err
		}
		if n < ethernetHeader {
			continue
		}
		switch payload := b[ethernetHeader:n]; binary.BigEndian.Uint16(b[12:]) {
		case typeIPv4:
			return copy(p, payload), nil
		case typeARP:
			if reply := answerARP(payload); reply != nil {
				if err := e.send(typeARP, reply); err != nil {
					return 0, err
				}
			}
		}
	}
}

// answerARP returns the reply to an ARP request for HostIP, and nil for everything else (RFC 826).
func answerARP(b []byte) []byte {
	const op, sender, target = 6, 8, 18 // where they begin; the addresses have 6 and 4 octets
	host := netip.MustParseAddr(HostIP).As4()
	if len(b) < arpLen || binary.BigEndian.Uint16(b[op:]) != arpRequest || [4]byte(b[target+6:]) != host {
		return nil
	}
	reply := append([]byte(nil), b[:arpLen]...)
	binary.BigEndian.PutUint16(reply[op:], arpReply)
	copy(reply[target:], b[sender:target])
	copy(reply[sender:], hostMAC)
	copy(reply[sender+6:], host[:])
	return reply
}

// Write sends an IPv4 packet to the guest.
func (e *Ethernet) Write(p []byte) (int, error) { return len(p), e.send(typeIPv4, p) }

func (e *Ethernet) send(kind uint16, payload []byte) error {
	b := make([]byte, 0, ethernetHeader+ethernetMTU)
	b = append(append(b, guestMAC...), hostMAC...)
	b = append(binary.BigEndian.AppendUint16(b, kind), payload...)
	_, err := e.conn.Write(b)
	return err
}

// Close ends a Read that waits. Further calls do nothing.
func (e *Ethernet) Close() error {
	if e == nil {
		return nil
	}
	var err error
	e.once.Do(func() { err = e.conn.Close() })
	return err
}
