package nldev

import (
	"encoding/binary"
	"net/netip"
)

// A kind is a kind of object. The kinds are in the order in which the kernel counts them.
type kind uint8

const (
	ofPD kind = iota
	ofCQ
	ofQP
	ofID
	ofMR
	ofContext
	ofSRQ
	kinds
)

// layouts has, for each kind, the command that asks for objects, the name in the summary, and the
// attributes of the table, of an entry, and of the number of an object.
var layouts = [kinds]struct {
	get                  command
	name                 string
	table, entry, number uint16
	atPort               bool // objects belong to a port
}{
	ofPD:      {pdGet, "pd", attrPD, attrPDEntry, attrPDN, false},
	ofCQ:      {cqGet, "cq", attrCQ, attrCQEntry, attrCQN, false},
	ofQP:      {qpGet, "qp", attrQP, attrQPEntry, attrLQPN, true},
	ofID:      {idGet, "cm_id", attrID, attrIDEntry, attrIDN, true},
	ofMR:      {mrGet, "mr", attrMR, attrMREntry, attrMRN, false},
	ofContext: {ctxGet, "ctx", attrContext, attrContextEntry, attrContextN, false},
	ofSRQ:     {srqGet, "srq", attrSRQ, attrSRQEntry, attrSRQN, false},
}

// An Object is an object of the device. Its number is unique among the objects of its kind.
type Object interface {
	kind() kind
	number() uint32
	// appendTo appends the attributes.
	appendTo(b []byte) []byte
}

// A Context is a device that a process has opened.
type Context struct {
	Number uint32
	PID    int
}

// A PD is a Protection Domain. Users is the number of objects that use it.
type PD struct {
	Number, Context uint32
	PID             int
	Users           int
}

// A CQ is a completion queue. Users is the number of queue pairs that use it.
type CQ struct {
	Number, Context uint32
	PID             int
	Users           int
	Entries         uint32
}

// An MR is a memory region. Its key is not shown: the kernel shows keys to administrators only.
type MR struct {
	Number, PD uint32
	PID        int
	Len        uint64
}

// A QP is a queue pair. Type and State have the kernel's numbers.
type QP struct {
	Number, PD   uint32
	PID          int
	Type, State  uint8
	Connected    bool // the type is one with a peer
	Peer         uint32
	RQPSN, SQPSN uint32
}

// An SRQ is a shared receive queue. QPs are the numbers of the queue pairs that use it, in their
// order. If they need more than a message has room for, the last ones are not shown.
type SRQ struct {
	Number, PD uint32
	PID        int
	QPs        []uint32
}

// An ID is an id of rdma_cm. Space and State have the kernel's numbers. QP is 0 if it has none.
type ID struct {
	Number   uint32
	PID      int
	Space    uint16
	State    uint8
	QP       uint32
	QPType   uint8
	Src, Dst netip.AddrPort
}

func (Context) kind() kind { return ofContext }
func (PD) kind() kind      { return ofPD }
func (CQ) kind() kind      { return ofCQ }
func (MR) kind() kind      { return ofMR }
func (QP) kind() kind      { return ofQP }
func (SRQ) kind() kind     { return ofSRQ }
func (ID) kind() kind      { return ofID }

func (o Context) number() uint32 { return o.Number }
func (o PD) number() uint32      { return o.Number }
func (o CQ) number() uint32      { return o.Number }
func (o MR) number() uint32      { return o.Number }
func (o QP) number() uint32      { return o.Number }
func (o SRQ) number() uint32     { return o.Number }
func (o ID) number() uint32      { return o.Number }

func (o Context) appendTo(b []byte) []byte {
	return appendPID(append32(b, attrContextN, o.Number), o.PID)
}

func (o PD) appendTo(b []byte) []byte {
	b = append64(b, attrUsers, uint64(o.Users))
	b = append32(append32(b, attrPDN, o.Number), attrContextN, o.Context)
	return appendPID(b, o.PID)
}

func (o CQ) appendTo(b []byte) []byte {
	b = append64(append32(b, attrEntries, o.Entries), attrUsers, uint64(o.Users))
	b = append8(b, attrModeration, 0)
	b = append32(append32(b, attrCQN, o.Number), attrContextN, o.Context)
	return appendPID(b, o.PID)
}

func (o MR) appendTo(b []byte) []byte {
	b = append64(b, attrMRLen, o.Len)
	b = append32(append32(b, attrMRN, o.Number), attrPDN, o.PD)
	return appendPID(b, o.PID)
}

func (o QP) appendTo(b []byte) []byte {
	b = append32(append32(b, attrPortIndex, onlyPort), attrLQPN, o.Number)
	b = appendPID(append32(b, attrPDN, o.PD), o.PID)
	if o.Connected {
		b = append32(append32(b, attrRQPN, o.Peer), attrRQPSN, o.RQPSN)
	}
	b = append32(b, attrSQPSN, o.SQPSN)
	if o.Connected {
		b = append8(b, attrPathMigration, 0) // no other path replaces it
	}
	return append8(append8(b, attrType, o.Type), attrState, o.State)
}

func (o SRQ) appendTo(b []byte) []byte {
	b = append32(b, attrSRQN, o.Number)
	b = append32(append8(b, attrType, 0), attrPDN, o.PD) // the basic type
	b = nested(b, attrQP, func(b []byte) []byte {
		const mostPairs = pageLen - 256 // the rest of the message is shorter than 256
		for at, left := len(b), o.QPs; len(left) > 0 && len(b)-at < mostPairs; {
			n := 1
			for n < len(left) && left[n] == left[n-1]+1 {
				n++
			}
			b = nested(b, attrQPEntry, func(b []byte) []byte {
				if n == 1 {
					return append32(b, attrLQPN, left[0])
				}
				return append32(append32(b, attrMinRange, left[0]), attrMaxRange, left[n-1])
			})
			left = left[n:]
		}
		return b
	})
	return appendPID(b, o.PID)
}

func (o ID) appendTo(b []byte) []byte {
	b = append32(b, attrPortIndex, onlyPort)
	if o.QP != 0 {
		b = append8(append32(b, attrLQPN, o.QP), attrType, o.QPType)
	}
	b = append8(append32(b, attrPortSpace, uint32(o.Space)), attrState, o.State)
	b = appendAddress(appendAddress(b, attrSrc, o.Src), attrDst, o.Dst)
	return appendPID(append32(b, attrIDN, o.Number), o.PID)
}

func appendPID(b []byte, pid int) []byte { return append32(b, attrPID, uint32(pid)) }

// appendAddress appends a struct sockaddr_storage, or nothing if there is no address.
func appendAddress(b []byte, kind uint16, a netip.AddrPort) []byte {
	if !a.IsValid() {
		return b
	}
	const (
		storageLen = 128
		inet       = 2
		inet6      = 10
	)
	var s [storageLen]byte
	binary.BigEndian.PutUint16(s[2:], a.Port())
	if a.Addr().Is4() {
		native.PutUint16(s[:], inet)
		v4 := a.Addr().As4()
		copy(s[4:], v4[:])
	} else {
		native.PutUint16(s[:], inet6)
		v6 := a.Addr().As16()
		copy(s[8:], v6[:])
	}
	return appendBytes(b, kind, s[:])
}
