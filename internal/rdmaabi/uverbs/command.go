package uverbs

import "fmt"

// A Command is the number of a command. Extended commands have an additional bit.
type Command uint32

// Extended is the bit of extended commands, which have the fields of the command of the same number
// and more.
const Extended Command = 0x80000000

// The commands that the supervisor serves.
const (
	GetContext        Command = 0
	QueryDevice       Command = 1
	QueryPort         Command = 2
	AllocPD           Command = 3
	DeallocPD         Command = 4
	CreateAH          Command = 5
	DestroyAH         Command = 8
	RegMR             Command = 9
	ReregMR           Command = 11
	DeregMR           Command = 13
	AllocMW           Command = 14
	DeallocMW         Command = 16
	CreateCompChannel Command = 17
	CreateCQ          Command = 18
	ResizeCQ          Command = 19
	DestroyCQ         Command = 20
	ReqNotifyCQ       Command = 23
	CreateQP          Command = 24
	QueryQP           Command = 25
	ModifyQP          Command = 26
	DestroyQP         Command = 27
	CreateSRQ         Command = 32
	ModifySRQ         Command = 33
	QuerySRQ          Command = 34
	DestroySRQ        Command = 35
)

var commandNames = map[Command]string{
	GetContext: "GET_CONTEXT", QueryDevice: "QUERY_DEVICE", QueryPort: "QUERY_PORT", AllocPD: "ALLOC_PD", DeallocPD: "DEALLOC_PD",
	CreateAH: "CREATE_AH", DestroyAH: "DESTROY_AH", RegMR: "REG_MR", ReregMR: "REREG_MR", DeregMR: "DEREG_MR",
	AllocMW: "ALLOC_MW", DeallocMW: "DEALLOC_MW", CreateCompChannel: "CREATE_COMP_CHANNEL", CreateCQ: "CREATE_CQ", ResizeCQ: "RESIZE_CQ",
	DestroyCQ: "DESTROY_CQ", ReqNotifyCQ: "REQ_NOTIFY_CQ", CreateQP: "CREATE_QP", QueryQP: "QUERY_QP", ModifyQP: "MODIFY_QP",
	DestroyQP: "DESTROY_QP", CreateSRQ: "CREATE_SRQ", ModifySRQ: "MODIFY_SRQ", QuerySRQ: "QUERY_SRQ", DestroySRQ: "DESTROY_SRQ",
}

// String returns the kernel's name of the command.
func (c Command) String() string {
	name, ok := commandNames[c&^Extended]
	switch {
	case !ok:
		return fmt.Sprintf("command 0x%x", uint32(c))
	case c&Extended != 0:
		return name + "_EX"
	}
	return name
}

// responseLen is the length of the address of the answer with which the input of most commands
// begins, in bytes. Extended commands, and commands without an answer, do not have it.
const responseLen = 8

// body returns the fields of the input of a command that has an answer. There must be at least n
// bytes of fields.
func body(in []byte, extended bool, n int) ([]byte, error) {
	if !extended {
		n += responseLen
	}
	if len(in) < n {
		return nil, ErrShort
	}
	if !extended {
		in = in[responseLen:]
	}
	return in, nil
}

// parseHandle parses the input of a command without an answer whose only field is a handle:
// DEALLOC_PD, DESTROY_AH, DEREG_MR, DEALLOC_MW.
func parseHandle(in []byte) (uint32, error) {
	if len(in) < 4 {
		return 0, ErrShort
	}
	return le.Uint32(in), nil
}

// parseAnsweredHandle is parseHandle for a command with an answer: DESTROY_CQ, DESTROY_QP,
// DESTROY_SRQ, QUERY_QP, QUERY_SRQ.
func parseAnsweredHandle(in []byte) (uint32, error) {
	b, err := body(in, false, 4)
	if err != nil {
		return 0, err
	}
	return le.Uint32(b), nil
}

// parsePort parses the input of QUERY_PORT and returns the number of the port.
func parsePort(in []byte) (uint8, error) {
	b, err := body(in, false, 1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// Access is the set of rights of an MR or a QP.
type Access uint32

// The rights, as verbs number them.
const (
	LocalWrite   Access = 1 << 0
	RemoteWrite  Access = 1 << 1
	RemoteRead   Access = 1 << 2
	RemoteAtomic Access = 1 << 3
	MWBind       Access = 1 << 4
	ZeroBased    Access = 1 << 5
	OnDemand     Access = 1 << 6
	HugeTLB      Access = 1 << 7
	FlushGlobal  Access = 1 << 8
	FlushPersist Access = 1 << 9
	// OptionalAccess are the rights that a device may ignore, such as relaxed ordering.
	OptionalAccess Access = 0x3ff << 20
)

// A MemoryRegion is the input of REG_MR, and of REREG_MR with Handle and Flags.
type MemoryRegion struct {
	Handle uint32 // REREG_MR
	Flags  uint32 // REREG_MR
	Start  uint64 // address in the program
	Len    uint64 // bytes
	VA     uint64 // the address by which work requests and peers name Start
	PD     uint32
	Access Access
}

// Keys are the lkey and the rkey of an MR. They may be equal.
type Keys struct{ Local, Remote uint32 }

// The flags of REREG_MR: what changes.
const (
	ReregTranslation = 1 << iota
	ReregPD
	ReregAccess
)

// parseRegMR parses the input of REG_MR.
func parseRegMR(in []byte) (m MemoryRegion, err error) {
	b, err := body(in, false, 32)
	if err != nil {
		return m, err
	}
	m.parse(b)
	return m, nil
}

// parseReregMR parses the input of REREG_MR.
func parseReregMR(in []byte) (m MemoryRegion, err error) {
	b, err := body(in, false, 40)
	if err != nil {
		return m, err
	}
	m.Handle, m.Flags = le.Uint32(b), le.Uint32(b[4:])
	m.parse(b[8:])
	return m, nil
}

func (m *MemoryRegion) parse(b []byte) {
	m.Start, m.Len, m.VA = le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])
	m.PD, m.Access = le.Uint32(b[24:]), Access(le.Uint32(b[28:]))
}

// A MemoryWindow is the input of ALLOC_MW.
type MemoryWindow struct {
	PD   uint32
	Type uint8 // 1 or 2
}

// parseAllocMW parses the input of ALLOC_MW.
func parseAllocMW(in []byte) (w MemoryWindow, err error) {
	b, err := body(in, false, 8)
	if err != nil {
		return w, err
	}
	return MemoryWindow{PD: le.Uint32(b), Type: b[4]}, nil
}

// A CQ is the input of CREATE_CQ.
type CQ struct {
	UserHandle uint64 // completion events carry it
	CQE        uint32 // entries
	Vector     uint32
	Channel    int32  // descriptor of the channel; -1 means none
	Flags      uint32 // of the extended command
}

// parseCreateCQ parses the input of CREATE_CQ.
func parseCreateCQ(in []byte, extended bool) (c CQ, err error) {
	n := 24
	if extended {
		n = 32
	}
	b, err := body(in, extended, n)
	if err != nil {
		return c, err
	}
	c = CQ{UserHandle: le.Uint64(b), CQE: le.Uint32(b[8:]), Vector: le.Uint32(b[12:]), Channel: int32(le.Uint32(b[16:]))}
	if extended {
		c.Flags = le.Uint32(b[24:])
	}
	return c, nil
}

// parseResizeCQ parses the input of RESIZE_CQ.
func parseResizeCQ(in []byte) (handle, cqe uint32, err error) {
	b, err := body(in, false, 8)
	if err != nil {
		return 0, 0, err
	}
	return le.Uint32(b), le.Uint32(b[4:]), nil
}

// parseReqNotify parses the input of REQ_NOTIFY_CQ.
func parseReqNotify(in []byte) (handle uint32, solicitedOnly bool, err error) {
	if len(in) < 8 {
		return 0, false, ErrShort
	}
	return le.Uint32(in), le.Uint32(in[4:]) != 0, nil
}

// A SRQ is the input of CREATE_SRQ.
type SRQ struct {
	UserHandle    uint64
	PD            uint32
	MaxWR, MaxSGE uint32
	Limit         uint32
}

// parseCreateSRQ parses the input of CREATE_SRQ.
func parseCreateSRQ(in []byte) (s SRQ, err error) {
	b, err := body(in, false, 24)
	if err != nil {
		return s, err
	}
	return SRQ{
		UserHandle: le.Uint64(b), PD: le.Uint32(b[8:]), MaxWR: le.Uint32(b[12:]), MaxSGE: le.Uint32(b[16:]), Limit: le.Uint32(b[20:]),
	}, nil
}

// An SRQState is the answer to QUERY_SRQ.
type SRQState struct{ MaxWR, MaxSGE, Limit uint32 }

// A SRQChange is the input of MODIFY_SRQ.
type SRQChange struct {
	Handle uint32
	Mask   uint32
	MaxWR  uint32
	Limit  uint32
}

// The bits of SRQChange.Mask.
const (
	SRQMaxWR = 1 << iota
	SRQLimit
)

// parseModifySRQ parses the input of MODIFY_SRQ.
func parseModifySRQ(in []byte) (c SRQChange, err error) {
	if len(in) < 16 {
		return c, ErrShort
	}
	return SRQChange{le.Uint32(in), le.Uint32(in[4:]), le.Uint32(in[8:]), le.Uint32(in[12:])}, nil
}

// parseModifySRQDriver parses the data that rxe's provider adds to MODIFY_SRQ: the address in the
// program for the Mapping of a ring of another size.
func parseModifySRQDriver(in []byte) (addr uint64, err error) {
	if len(in) < 8 {
		return 0, ErrShort
	}
	return le.Uint64(in), nil
}

// parseCreateAH parses the input of CREATE_AH. The address of an AH is its DGID.
func parseCreateAH(in []byte) (pd uint32, a Address, err error) {
	b, err := body(in, false, 48)
	if err != nil {
		return 0, a, err
	}
	copy(a.DGID[:], b[16:])
	a.Flow, a.SGIDIndex, a.HopLimit, a.TrafficClass = le.Uint32(b[32:]), b[36], b[37], b[38]
	a.SL, a.Global, a.Port = b[42], b[45] != 0, b[46]
	return le.Uint32(b[8:]), a, nil
}

// PostSendLen is the length in bytes of a POST_SEND that a program writes.
const PostSendLen = 32

const postSend = 28 // the command's number

// ParsePostSend parses a POST_SEND that a program writes to the device, and returns the handle of
// the queue pair that it is for.
func ParsePostSend(b []byte) (qp uint32, err error) {
	if len(b) < PostSendLen || le.Uint32(b) != postSend || le.Uint16(b[4:]) != PostSendLen/4 {
		return 0, ErrShort
	}
	return le.Uint32(b[16:]), nil
}
