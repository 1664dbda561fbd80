package ucma

import (
	"fmt"
	"net/netip"
)

// PrivateDataLen is the room for private data in bytes. A program can pass one byte less.
const PrivateDataLen = 256

// ConnParamLen is the length of a ConnParam in bytes.
const ConnParamLen = 16 + PrivateDataLen

// A ConnParam contains the parameters that the two ends of a connection exchange: the program's in
// CONNECT and ACCEPT, and the peer's in events.
type ConnParam struct {
	QPN         uint32
	PrivateData []byte
	SRQ         bool
	// Responder is the number of the peer's Reads that an end serves at a time, and Initiator the
	// number of its own outstanding Reads. In an event they are the values that the receiver of the
	// event may use.
	Responder, Initiator uint8
	FlowControl          uint8
	RetryCount, RNRetry  uint8
	Valid                bool
}

func parseConnParam(b []byte) (c ConnParam) {
	n := int(b[264])
	return ConnParam{
		QPN: le.Uint32(b), PrivateData: append([]byte(nil), b[8:8+n]...), SRQ: b[265] != 0, Responder: b[266], Initiator: b[267],
		FlowControl: b[268], RetryCount: b[269], RNRetry: b[270], Valid: b[271] != 0,
	}
}

func (c *ConnParam) put(b []byte) {
	le.PutUint32(b, c.QPN)
	b[264] = byte(copy(b[8:8+PrivateDataLen-1], c.PrivateData))
	if c.SRQ {
		b[265] = 1
	}
	b[266], b[267], b[268], b[269], b[270] = c.Responder, c.Initiator, c.FlowControl, c.RetryCount, c.RNRetry
	if c.Valid {
		b[271] = 1
	}
}

// A ConnRequest is the input of CONNECT and ACCEPT.
type ConnRequest struct {
	UID   uint64 // ACCEPT
	ID    uint32
	Param ConnParam
}

// ParseConnect parses the input of CONNECT.
func ParseConnect(in []byte) (r ConnRequest, err error) {
	if len(in) < ConnParamLen+8 {
		return r, ErrShort
	}
	return ConnRequest{ID: le.Uint32(in[ConnParamLen:]), Param: parseConnParam(in)}, nil
}

// ParseAccept parses the input of ACCEPT.
func ParseAccept(in []byte) (r ConnRequest, err error) {
	if len(in) < 8+ConnParamLen+8 {
		return r, ErrShort
	}
	return ConnRequest{UID: le.Uint64(in), ID: le.Uint32(in[8+ConnParamLen:]), Param: parseConnParam(in[8:])}, nil
}

// A Rejection is the input of REJECT.
type Rejection struct {
	ID          uint32
	Reason      uint8
	PrivateData []byte
}

// ParseReject parses the input of REJECT.
func ParseReject(in []byte) (r Rejection, err error) {
	if len(in) < 8+PrivateDataLen {
		return r, ErrShort
	}
	return Rejection{le.Uint32(in), in[5], append([]byte(nil), in[8:8+int(in[4])]...)}, nil
}

// An EventType is the kind of an event.
type EventType uint32

// The events, as librdmacm numbers them.
const (
	AddrResolved    EventType = 0
	AddrError       EventType = 1
	RouteResolved   EventType = 2
	RouteError      EventType = 3
	ConnectRequest  EventType = 4
	ConnectResponse EventType = 5
	ConnectError    EventType = 6
	Unreachable     EventType = 7
	Rejected        EventType = 8
	Established     EventType = 9
	Disconnected    EventType = 10
	DeviceRemoval   EventType = 11
	MulticastJoin   EventType = 12
	MulticastError  EventType = 13
	AddrChange      EventType = 14
	TimewaitExit    EventType = 15
)

var eventNames = [...]string{
	"ADDR_RESOLVED", "ADDR_ERROR", "ROUTE_RESOLVED", "ROUTE_ERROR", "CONNECT_REQUEST", "CONNECT_RESPONSE", "CONNECT_ERROR", "UNREACHABLE",
	"REJECTED", "ESTABLISHED", "DISCONNECTED", "DEVICE_REMOVAL", "MULTICAST_JOIN", "MULTICAST_ERROR", "ADDR_CHANGE", "TIMEWAIT_EXIT",
}

// String returns the name of the event.
func (e EventType) String() string {
	if int(e) < len(eventNames) {
		return eventNames[e]
	}
	return fmt.Sprintf("event %d", uint32(e))
}

// An Event is the answer to GET_EVENT.
type Event struct {
	UID    uint64
	ID     uint32
	Type   EventType
	Status int32 // 0, a negative errno, or InfiniBand's reason of a rejection
	Param  ConnParam
	// Datagram takes the place of Param if the id is for datagrams.
	Datagram *DatagramParam
}

// A DatagramParam describes a peer for datagrams in an event: its queue pair, and how to reach it.
type DatagramParam struct {
	QPN, QKey   uint32
	GID         [16]byte // of the peer
	Source      uint8    // the index of the own GID
	PrivateData []byte
}

// QKey is the QKey of all queue pairs that rdma_cm makes ready for datagrams.
const QKey = 0x01234567

func (d *DatagramParam) put(b []byte) {
	const hops = 64
	le.PutUint32(b, d.QPN)
	le.PutUint32(b[4:], d.QKey)
	copy(b[8:], d.GID[:])
	b[28], b[29] = d.Source, hops
	b[37], b[38] = 1, 1 // by GID, from the only port
	b[40+PrivateDataLen] = byte(copy(b[40:40+PrivateDataLen-1], d.PrivateData))
}

// EventLen is the length in bytes of an event, and LeastEventLen is the minimum room that a program
// must have for one, because older programs know only that part.
const (
	EventLen      = 336
	LeastEventLen = EventLen - 12
)

// AppendTo appends the event.
func (e *Event) AppendTo(b []byte) []byte {
	b, o := extend(b, EventLen)
	le.PutUint64(o, e.UID)
	le.PutUint32(o[8:], e.ID)
	le.PutUint32(o[12:], uint32(e.Type))
	le.PutUint32(o[16:], uint32(e.Status))
	if e.Datagram != nil {
		e.Datagram.put(o[20:])
	} else {
		e.Param.put(o[20:])
	}
	return b
}

// AppendNumber appends an answer that is one number: a new id, or a number of events.
func AppendNumber(b []byte, n uint32) []byte { return le.AppendUint32(b, n) }

// A Route is the answer to QUERY and QUERY_ROUTE: the device and the addresses of an id.
type Route struct {
	GUID     [8]byte // of the device; 0 if the id has none
	Src, Dst netip.AddrPort
}

// The options of QUERY.
const (
	QueryAddr = 0
	QueryPath = 1
	QueryGID  = 2
)

// noIndex means that the device has no index, so that librdmacm uses the GUID.
const noIndex = 0xffffffff

// AppendAddr appends the answer to QUERY with QueryAddr.
func (r *Route) AppendAddr(b []byte) []byte {
	b, o := extend(b, 280)
	copy(o, r.GUID[:])
	if r.GUID != ([8]byte{}) {
		o[8] = 1
		le.PutUint16(o[10:], 0xffff)
	}
	le.PutUint16(o[12:], uint16(putAddress(o[16:], r.Src)))
	le.PutUint16(o[14:], uint16(putAddress(o[16+storageLen:], r.Dst)))
	le.PutUint32(o[272:], noIndex)
	return b
}

// AppendGIDs appends the answer to QUERY with QueryGID: the addresses in InfiniBand's own family.
func (r *Route) AppendGIDs(b []byte) []byte {
	b, o := extend(b, 280)
	copy(o, r.GUID[:])
	if r.GUID != ([8]byte{}) {
		o[8] = 1
		le.PutUint16(o[10:], 0xffff)
	}
	for i, a := range []netip.AddrPort{r.Src, r.Dst} {
		if !a.IsValid() {
			continue
		}
		le.PutUint16(o[12+2*i:], ibLen)
		s := o[16+storageLen*i:]
		le.PutUint16(s, ib)
		le.PutUint16(s[2:], 0xffff)
		gid := a.Addr().As16()
		copy(s[8:], gid[:])
	}
	le.PutUint32(o[272:], noIndex)
	return b
}

// AppendPaths appends the answer to QUERY with QueryPath: an iWARP device has no paths.
func AppendPaths(b []byte) []byte { return append(b, make([]byte, 8)...) }

// AppendRoute appends the answer to QUERY_ROUTE.
func (r *Route) AppendRoute(b []byte) []byte {
	b, o := extend(b, 208)
	copy(o, r.GUID[:])
	putAddress(o[136:], r.Src)
	putAddress(o[164:], r.Dst)
	if r.GUID != ([8]byte{}) {
		o[196] = 1
	}
	le.PutUint32(o[200:], noIndex)
	return b
}

// The parts of the answer to INIT_QP_ATTR that are used.
const (
	qpAttrLen = 144
	maskState = 1 << 0
	maskPKey  = 1 << 4
	maskPort  = 1 << 5
	maskQKey  = 1 << 6
)

// AppendInitDatagramQPAttr appends the answer to INIT_QP_ATTR for a queue pair for datagrams.
func AppendInitDatagramQPAttr(b []byte, state uint32) []byte {
	b, o := extend(b, qpAttrLen)
	le.PutUint32(o, maskState|maskPKey|maskPort|maskQKey)
	le.PutUint32(o[4:], state)
	le.PutUint32(o[20:], QKey)
	o[133] = 1
	return b
}

// extend appends n zeros to b, and returns b and the new part.
func extend(b []byte, n int) (all, added []byte) {
	b = append(b, make([]byte, n)...)
	return b, b[len(b)-n:]
}
