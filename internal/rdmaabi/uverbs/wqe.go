package uverbs

import "fmt"

// A SendOp is the operation of a send work request.
type SendOp uint32

// The operations.
const (
	OpWrite     SendOp = 0
	OpWriteImm  SendOp = 1
	OpSend      SendOp = 2
	OpSendImm   SendOp = 3
	OpRead      SendOp = 4
	OpCmpSwap   SendOp = 5
	OpFetchAdd  SendOp = 6
	OpLocalInv  SendOp = 7
	OpBindMW    SendOp = 8
	OpSendInval SendOp = 9
	// OpAtomicWrite writes 8 bytes atomically.
	OpAtomicWrite SendOp = 15
)

// String returns the name of the operation.
func (o SendOp) String() string {
	names := [...]string{
		"Write", "Write with Immediate", "Send", "Send with Immediate", "Read", "CmpSwap", "FetchAdd", "Local Invalidate", "Bind MW",
		"Send with Invalidate",
	}
	switch {
	case o == OpAtomicWrite:
		return "Atomic Write"
	case int(o) < len(names):
		return names[o]
	}
	return fmt.Sprintf("operation %d", uint32(o))
}

// SendFlags are the flags of a send work request.
type SendFlags uint32

// The flags.
const (
	Fence     SendFlags = 1 << 0
	Signaled  SendFlags = 1 << 1
	Solicited SendFlags = 1 << 2
	Inline    SendFlags = 1 << 3
)

// A SGE is an entry of a scatter/gather list: local memory.
type SGE struct {
	Addr uint64
	Len  uint32
	LKey uint32
}

// SGELen is the length of an SGE in bytes.
const SGELen = 16

// sendHeaderLen and recvHeaderLen are the lengths in bytes of the entries of a send and of a
// receive queue, without the list or the inline data.
const (
	sendHeaderLen = 208
	recvHeaderLen = 40
)

// SendElementLen returns the length in bytes of the entries of a send queue.
func SendElementLen(maxSGE, maxInline uint32) uint32 {
	return sendHeaderLen + max(SGELen*maxSGE, maxInline)
}

// RecvElementLen returns the length in bytes of the entries of a receive queue.
func RecvElementLen(maxSGE uint32) uint32 { return recvHeaderLen + SGELen*max(maxSGE, 1) }

// A SendWR is one entry of a send queue.
type SendWR struct {
	ID        uint64
	Op        SendOp
	Flags     SendFlags
	Immediate [4]byte // as the program has written it; also the key that a Send invalidates
	Addr      uint64  // in the peer's memory
	RKey      uint32
	// Operand is the number that FetchAdd adds and CmpSwap compares with; Swap is the number that
	// CmpSwap stores.
	Operand, Swap uint64
	Bind          Bind   // of OpBindMW
	Len           uint32 // bytes of the whole list, or of the inline data
	SGEs          []byte // the list, not parsed; or the inline data
}

// A Bind contains the arguments of OpBindMW.
type Bind struct {
	Addr, Len            uint64
	LKey, OldKey, NewKey uint32
	Access               Access
}

// InvalidateKey returns the key that a Send with Invalidate, or a Local Invalidate, names.
func (w *SendWR) InvalidateKey() uint32 { return le.Uint32(w.Immediate[:]) }

// ParseSendWR parses an entry of a send queue. b must be a copy that the program can't change.
// w.SGEs aliases it.
func ParseSendWR(b []byte) (w SendWR, err error) {
	if len(b) < sendHeaderLen {
		return w, ErrShort
	}
	w = SendWR{ID: le.Uint64(b), Op: SendOp(le.Uint32(b[12:])), Flags: SendFlags(le.Uint32(b[16:])), Len: le.Uint32(b[184:])}
	copy(w.Immediate[:], b[20:])
	switch w.Op {
	case OpCmpSwap, OpFetchAdd:
		w.Addr, w.Operand, w.Swap, w.RKey = le.Uint64(b[24:]), le.Uint64(b[32:]), le.Uint64(b[40:]), le.Uint32(b[48:])
	case OpBindMW:
		w.Bind = Bind{
			Addr: le.Uint64(b[24:]), Len: le.Uint64(b[32:]), LKey: le.Uint32(b[40:]), OldKey: le.Uint32(b[44:]), NewKey: le.Uint32(b[48:]),
			Access: Access(le.Uint32(b[52:])),
		}
	default:
		w.Addr, w.RKey = le.Uint64(b[24:]), le.Uint32(b[32:])
	}
	room := b[sendHeaderLen:]
	if w.Op == OpAtomicWrite { // its data are in the place of inline data
		w.Flags, w.Len = w.Flags|Inline, 8
	}
	n := uint64(w.Len)
	if w.Flags&Inline == 0 {
		n = SGELen * uint64(le.Uint32(b[196:]))
	}
	if n > uint64(len(room)) {
		return w, ErrShort
	}
	w.SGEs = room[:n]
	return w, nil
}

// A Destination is the destination of a work request of a UD QP. It takes the place of the peer's
// memory in the entry.
type Destination struct {
	QPN, QKey uint32
	AH        uint32 // number of the AH; 0 means that DGID has its address
	DGID      GID
}

// ParseDestination parses the destination in an entry of a send queue.
func ParseDestination(b []byte) (d Destination, err error) {
	if len(b) < sendHeaderLen {
		return d, ErrShort
	}
	return Destination{
		QPN: le.Uint32(b[24:]) & 0xffffff, QKey: le.Uint32(b[28:]), AH: le.Uint32(b[36:]), DGID: GID(b[64:]),
	}, nil
}

// A RecvWR is one entry of a receive queue.
type RecvWR struct {
	ID   uint64
	SGEs []byte // the list, not parsed
}

// ParseRecvWR parses an entry of a receive queue. b must be a copy, and w.SGEs aliases it.
func ParseRecvWR(b []byte) (w RecvWR, err error) {
	if len(b) < recvHeaderLen {
		return w, ErrShort
	}
	n := SGELen * uint64(le.Uint32(b[28:]))
	if n > uint64(len(b)-recvHeaderLen) {
		return RecvWR{ID: le.Uint64(b)}, ErrShort
	}
	return RecvWR{ID: le.Uint64(b), SGEs: b[recvHeaderLen:][:n]}, nil
}

// ParseSGE parses the first entry of a list. ok is false at its end.
func ParseSGE(list []byte) (s SGE, rest []byte, ok bool) {
	if len(list) < SGELen {
		return s, nil, false
	}
	return SGE{le.Uint64(list), le.Uint32(list[8:]), le.Uint32(list[12:])}, list[SGELen:], true
}
