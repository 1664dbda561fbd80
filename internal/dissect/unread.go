package dissect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// unread is the reason why a packet gives no TCP segment. Its zero value means traffic that has
// nothing to do with TCP, so tables of numbers return it for unknown numbers.
type unread uint8

const (
	other unread = iota
	readable
	damaged
	fragment
	vxlan
	vxlanLinux
	geneve
	gtp
	l2tpUDP
	roce2
	roce1
	gre
	esp
	l2tp
	etherIP
	mplsIP
	mpls
	pppoe
	macsec
	backbone
	unreads
)

// unreadWords are the words of a summary.
var unreadWords = [unreads]string{
	other:      "other traffic",
	damaged:    "cut off or damaged before the end of their headers",
	fragment:   "IP fragments (not put together)",
	vxlan:      "UDP port 4789 (VXLAN)",
	vxlanLinux: "UDP port 8472 (VXLAN)",
	geneve:     "UDP port 6081 (Geneve)",
	gtp:        "UDP port 2152 (GTP)",
	l2tpUDP:    "UDP port 1701 (L2TP)",
	roce2:      "UDP port 4791 (RoCE v2)",
	roce1:      "RoCE v1",
	gre:        "GRE",
	esp:        "ESP",
	l2tp:       "L2TP",
	etherIP:    "EtherIP",
	mplsIP:     "MPLS in IP",
	mpls:       "MPLS",
	pppoe:      "PPPoE",
	macsec:     "MACsec",
	backbone:   "MAC-in-MAC",
}

const (
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86DD
)

// Traffic that may contain TCP or RDMA and is not decoded.
var (
	vlanTags   = []uint16{0x8100, 0x88A8, 0x9100, 0x9200, 0x9300}
	etherTypes = map[uint16]unread{
		0x8847: mpls, 0x8848: mpls, 0x8864: pppoe, 0x88E5: macsec, 0x88E7: backbone, 0x8915: roce1,
	}
	protocols = map[uint8]unread{47: gre, 50: esp, 97: etherIP, 115: l2tp, 137: mplsIP}
	udpPorts  = map[uint16]unread{
		1701: l2tpUDP, 2152: gtp, 4789: vxlan, 4791: roce2, 6081: geneve, 8472: vxlanLinux,
	}
)

// Summary describes the part of a capture that is in no other record.
type Summary struct {
	TCPPackets    int            `json:"tcp_packets"`
	UnreadPackets int            `json:"unread_packets"` // without TCP that can be read
	Unread        map[string]int `json:"unread"`         // the same by reason, in words

	found bool // there are other records
}

func (d *dissector) summary() *Summary {
	s := &Summary{TCPPackets: d.packets[readable], Unread: map[string]int{}, found: d.found}
	for why, n := range d.packets {
		if unread(why) != readable && n > 0 {
			s.Unread[unreadWords[why]] = n
			s.UnreadPackets += n
		}
	}
	return s
}

func (s *Summary) text(b *strings.Builder) {
	if s.TCPPackets+s.UnreadPackets == 0 {
		b.WriteString("the capture has no packets")
	}
	if s.TCPPackets > 0 && !s.found {
		fmt.Fprintf(b, "%s with TCP, but no iWARP", packetCount(s.TCPPackets))
		if s.UnreadPackets > 0 {
			b.WriteString("; ")
		}
	}
	if s.UnreadPackets == 0 {
		return
	}
	fmt.Fprintf(b, "%s without TCP that rddp can read: ", packetCount(s.UnreadPackets))
	reasons := slices.SortedFunc(maps.Keys(s.Unread), func(x, y string) int {
		return cmp.Or(cmp.Compare(s.Unread[y], s.Unread[x]), cmp.Compare(x, y))
	})
	for i, words := range reasons {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%d %s", s.Unread[words], words)
	}
}

func packetCount(n int) string {
	if n == 1 {
		return "1 packet"
	}
	return fmt.Sprintf("%d packets", n)
}
