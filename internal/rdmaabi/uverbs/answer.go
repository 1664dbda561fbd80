package uverbs

// A Device is the answer to QUERY_DEVICE. Fields of the answer that Device does not have are 0.
type Device struct {
	GUID                       [8]byte
	MaxMRSize                  uint64
	MaxQP, MaxQPWR             uint32
	Caps                       uint32
	MaxSGE, MaxReadSGE         uint32 // MaxReadSGE is of an RDMA Read
	MaxCQ, MaxCQE, MaxMR       uint32
	MaxPD, MaxRead, MaxMW      uint32
	MaxAH, MaxSRQ, MaxSRQWR    uint32
	MaxSRQSGE                  uint32
	AckDelay                   uint8
	Atomics                    uint32 // AtomicNone or AtomicHCA
	VendorID, PartID, Hardware uint32
	Paging                     Paging // in the extended answer only
}

// The values of Device.Atomics.
const (
	AtomicNone = 0 // there are none
	AtomicHCA  = 1 // they are atomic to each other
)

// The capabilities of Device.Caps.
const (
	CapCurrentState = 1 << 7 // a change may state the current state of a QP
	CapPortActive   = 1 << 10
	CapSystemGUID   = 1 << 11
	CapRNR          = 1 << 12
	CapWindow       = 1 << 17 // memory windows of type 1
	CapInvalidate   = 1 << 21 // Send with Invalidate, Local Invalidate
	CapWindow2B     = 1 << 24 // memory windows of type 2 that belong to a QP
)

// deviceLen is the length of the answer to QUERY_DEVICE in bytes, and deviceExLen that of the
// extended one.
const (
	deviceLen   = 176
	deviceExLen = 304
)

// appendDevice appends the answer to QUERY_DEVICE, or to the extended command.
func appendDevice(b []byte, d *Device, extended bool) []byte {
	n := deviceLen
	if extended {
		n = deviceExLen
	}
	b, o := extend(b, n)
	copy(o[8:], d.GUID[:])
	copy(o[16:], d.GUID[:])
	le.PutUint64(o[24:], d.MaxMRSize)
	le.PutUint64(o[32:], 0xfffff000) // page sizes
	for i, v := range [...]uint32{
		d.VendorID, d.PartID, d.Hardware, d.MaxQP, d.MaxQPWR, d.Caps, d.MaxSGE, d.MaxReadSGE, d.MaxCQ, d.MaxCQE, d.MaxMR, d.MaxPD,
		d.MaxRead, 0, d.MaxRead * 1024, d.MaxRead, 0, d.Atomics, 0, 0, d.MaxMW, 0, 0, 0, 0, 0, d.MaxAH, 0, 0, d.MaxSRQ, d.MaxSRQWR, d.MaxSRQSGE,
	} {
		le.PutUint32(o[40+4*i:], v)
	}
	le.PutUint16(o[168:], 1) // partition keys
	o[170], o[171] = d.AckDelay, 1
	if extended {
		le.PutUint32(o[deviceLen+4:], deviceExLen)
		d.Paging.put(o[deviceLen+8:])
	}
	return b
}

// Paging says which operations may use memory that was registered with the right OnDemand, by type
// of QP.
type Paging struct {
	Implicit   bool // also all present and future memory of a program
	RC, UC, UD PagingUse
}

// A PagingUse is a set of uses of such memory.
type PagingUse uint32

// The uses, as verbs number them.
const (
	PagingSend PagingUse = 1 << iota
	PagingReceive
	PagingWrite
	PagingRead
	PagingAtomic
	PagingSharedReceive
)

// put writes o in the form of the extended QUERY_DEVICE. The zero Paging means that there is none.
func (o *Paging) put(b []byte) {
	if *o == (Paging{}) {
		return
	}
	b[0] = 1
	if o.Implicit {
		b[0] |= 2
	}
	for i, v := range [...]PagingUse{o.RC, o.UC, o.UD} {
		le.PutUint32(b[8+4*i:], uint32(v))
	}
}

// appendPort appends the answer to QUERY_PORT for an active port with a table of gids GIDs.
func appendPort(b []byte, gids uint32) []byte {
	b, o := extend(b, 40)
	const (
		capIPBasedGIDs = 1 << 26
		active         = 4
		linkUp         = 5
		ethernet       = 2
		width4x        = 2
		speedEDR       = 32
	)
	le.PutUint32(o, capIPBasedGIDs)
	le.PutUint32(o[4:], MaxMessage)
	le.PutUint32(o[16:], gids)
	le.PutUint16(o[20:], 1)
	o[26], o[27], o[28], o[30] = active, MTU, MTU, 1
	o[34], o[35], o[36], o[37] = width4x, speedEDR, linkUp, ethernet
	return b
}

// MTU is the number of the largest and of the active MTU of a port: 4096 bytes.
const MTU = 5

// MaxMessage is the maximum length in bytes of the message of a work request.
const MaxMessage = 1 << 31

// AppendWords appends numbers of 32 bits. Most answers consist of them.
func AppendWords(b []byte, words ...uint32) []byte {
	for _, w := range words {
		b = le.AppendUint32(b, w)
	}
	return b
}

// appendExtension appends the additional fields of extended answers of CREATE_CQ, CREATE_QP and
// MODIFY_QP: a mask, which is 0, and the length of the whole answer.
func appendExtension(b []byte) []byte { return AppendWords(b, 0, uint32(len(b))+8) }

// appendCreateQP appends the answer to CREATE_QP.
func appendCreateQP(b []byte, handle, qpn uint32, c Caps) []byte {
	b = AppendWords(b, handle, qpn)
	b, o := extend(b, 24)
	c.put(o)
	return b
}

// A Mapping is the place of a queue in the file that the program maps.
type Mapping struct {
	Offset uint64
	Size   uint32
}

// AppendTo appends the 16 bytes of m, as the rxe provider reads them.
func (m Mapping) AppendTo(b []byte) []byte {
	b = le.AppendUint64(b, m.Offset)
	return AppendWords(b, m.Size, 0)
}

// AppendCompletionEvent appends the event of a CQ's channel.
func AppendCompletionEvent(b []byte, userHandle uint64) []byte { return le.AppendUint64(b, userHandle) }

// ParseEvent returns the handle of the object that an event of either kind is about.
func ParseEvent(b []byte) (userHandle uint64, err error) {
	if len(b) < 8 {
		return 0, ErrShort
	}
	return le.Uint64(b), nil
}

// An EventType is the kind of an asynchronous event.
type EventType uint32

// The events that the device raises.
const (
	EventCQError     EventType = 0
	EventQPFatal     EventType = 1
	EventQPRequest   EventType = 2
	EventQPAccess    EventType = 3
	EventEstablished EventType = 4
	EventSQDrained   EventType = 5
	EventDeviceFatal EventType = 8
	EventPortActive  EventType = 9
	EventPortErr     EventType = 10
	EventLIDChange   EventType = 11
	EventPKeyChange  EventType = 12
	EventSMChange    EventType = 13
	EventLimit       EventType = 15
	EventLastWQE     EventType = 16
	EventReregister  EventType = 17
	EventGIDChange   EventType = 18
	asyncEventLen              = 16
)

// AppendAsyncEvent appends an asynchronous event.
func AppendAsyncEvent(b []byte, userHandle uint64, e EventType) []byte {
	b = le.AppendUint64(b, userHandle)
	return AppendWords(b, uint32(e), 0)
}
