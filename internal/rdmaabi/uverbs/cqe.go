package uverbs

import "fmt"

// A WCStatus is the status of a completion, as verbs number it.
type WCStatus uint32

// The statuses.
const (
	Success          WCStatus = 0
	LocalLengthErr   WCStatus = 1
	LocalQPErr       WCStatus = 2
	LocalProtErr     WCStatus = 4
	FlushErr         WCStatus = 5
	MWBindErr        WCStatus = 6
	BadResponseErr   WCStatus = 7
	LocalAccessErr   WCStatus = 8
	RemoteInvalidErr WCStatus = 9
	RemoteAccessErr  WCStatus = 10
	RemoteOpErr      WCStatus = 11
	RetryExceeded    WCStatus = 12
	RNRRetryExceeded WCStatus = 13
	RemoteAbortedErr WCStatus = 16
	FatalErr         WCStatus = 19
	ResponseTimeout  WCStatus = 20
	GeneralErr       WCStatus = 21
	highestWCStatus           = GeneralErr
)

// String returns the name of the status.
func (s WCStatus) String() string {
	names := map[WCStatus]string{
		Success: "success", LocalLengthErr: "local length error", LocalQPErr: "local QP operation error", LocalProtErr: "local protection error",
		FlushErr: "flushed", MWBindErr: "memory bind error", BadResponseErr: "bad response", LocalAccessErr: "local access error",
		RemoteInvalidErr: "remote invalid request", RemoteAccessErr: "remote access error", RemoteOpErr: "remote operation error",
		RetryExceeded: "retry counter exceeded", RNRRetryExceeded: "RNR retry counter exceeded", RemoteAbortedErr: "remote abort",
		FatalErr: "fatal error", ResponseTimeout: "response timeout", GeneralErr: "general error",
	}
	if n, ok := names[s]; ok {
		return n
	}
	return fmt.Sprintf("status %d", uint32(s))
}

// Valid reports whether verbs define the status s.
func (s WCStatus) Valid() bool { return s <= highestWCStatus }

// A WCOp is the operation of a completion.
type WCOp uint32

// The operations.
const (
	WCSend     WCOp = 0
	WCWrite    WCOp = 1
	WCRead     WCOp = 2
	WCCmpSwap  WCOp = 3
	WCFetchAdd WCOp = 4
	WCBindMW   WCOp = 5
	WCLocalInv WCOp = 6
	// WCAtomicWrite has its number from libibverbs, which uses WCRecv as a bit.
	WCAtomicWrite WCOp = 9
	WCRecv        WCOp = 128
	WCRecvImm     WCOp = 129
)

// WCOpOf returns the operation of the completion of a send work request.
func WCOpOf(o SendOp) WCOp {
	switch o {
	case OpWrite, OpWriteImm:
		return WCWrite
	case OpRead:
		return WCRead
	case OpCmpSwap:
		return WCCmpSwap
	case OpFetchAdd:
		return WCFetchAdd
	case OpBindMW:
		return WCBindMW
	case OpLocalInv:
		return WCLocalInv
	case OpAtomicWrite:
		return WCAtomicWrite
	}
	return WCSend
}

// WCFlags are the flags of a completion.
type WCFlags uint32

// The flags.
const (
	WCHasGRH   WCFlags = 1 << 0
	WCHasImm   WCFlags = 1 << 1
	WCHasInval WCFlags = 1 << 3
	completion         = 48
	// CQElementLen is the length in bytes of the entries of a completion queue.
	CQElementLen = 64
)

// A WC is a completion.
type WC struct {
	ID        uint64
	Status    WCStatus
	Op        WCOp
	Len       uint32
	Immediate [4]byte // also the key that a Send has invalidated
	QPN       uint32
	SrcQPN    uint32
	Flags     WCFlags
	Packet    Packet // of a datagram
}

// A Packet is the kind of packet that carried a datagram. InfiniBand does not define how a
// completion reports that for RoCE. Programs look in the field that mlx5 uses: the service level,
// which RoCE does not use.
type Packet uint8

// The packets, with mlx5's bit for UDP.
const (
	PacketIPv6 Packet = 1<<3 | 1
	PacketIPv4 Packet = 1<<3 | 2
)

// Put writes the entry to b, which has CQElementLen bytes.
func (w *WC) Put(b []byte) {
	clear(b[:completion])
	le.PutUint64(b, w.ID)
	le.PutUint32(b[8:], uint32(w.Status))
	le.PutUint32(b[12:], uint32(w.Op))
	le.PutUint32(b[20:], w.Len)
	copy(b[24:], w.Immediate[:])
	le.PutUint32(b[28:], w.QPN)
	le.PutUint32(b[32:], w.SrcQPN)
	le.PutUint32(b[36:], uint32(w.Flags))
	b[44] = byte(w.Packet)
	b[46] = 1 // port
}

// ParseWC parses an entry of a completion queue, as a program does.
func ParseWC(b []byte) (w WC, err error) {
	if len(b) < completion {
		return w, ErrShort
	}
	w = WC{
		ID: le.Uint64(b), Status: WCStatus(le.Uint32(b[8:])), Op: WCOp(le.Uint32(b[12:])), Len: le.Uint32(b[20:]),
		QPN: le.Uint32(b[28:]), SrcQPN: le.Uint32(b[32:]), Flags: WCFlags(le.Uint32(b[36:])), Packet: Packet(b[44]),
	}
	copy(w.Immediate[:], b[24:])
	return w, nil
}
