package uverbs

import (
	"fmt"
	"math/bits"
	"strings"
	"syscall"
)

// A QPType is a transport of verbs.
type QPType uint8

// The types.
const (
	RC  QPType = 2
	UC  QPType = 3
	UD  QPType = 4
	Raw QPType = 8
	XRC QPType = 9
)

// Connected reports whether a QP of the type is connected to another one.
func (t QPType) Connected() bool { return t == RC || t == UC }

// String returns the name of the type.
func (t QPType) String() string {
	switch t {
	case RC:
		return "RC"
	case UC:
		return "UC"
	case UD:
		return "UD"
	case Raw:
		return "raw packet"
	case XRC, XRC + 1:
		return "XRC"
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Caps are the sizes of a QP's queues.
type Caps struct{ MaxSendWR, MaxRecvWR, MaxSendSGE, MaxRecvSGE, MaxInline uint32 }

func parseCaps(b []byte) Caps {
	return Caps{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[16:])}
}

func (c Caps) put(b []byte) {
	for i, v := range [...]uint32{c.MaxSendWR, c.MaxRecvWR, c.MaxSendSGE, c.MaxRecvSGE, c.MaxInline} {
		le.PutUint32(b[4*i:], v)
	}
}

// A QP is the input of CREATE_QP.
type QP struct {
	UserHandle          uint64
	PD                  uint32
	SendCQ, RecvCQ, SRQ uint32
	Caps                Caps
	SignalAll           bool
	Type                QPType
	HasSRQ              bool
	Flags               uint32 // of the extended command
}

// A CreatedQP is the answer to CREATE_QP. The rings are at SQ and RQ. The size of RQ is 0 if the QP
// has an SRQ.
type CreatedQP struct {
	Handle, Num uint32
	Caps        Caps // what it has, at least what was asked for
	SQ, RQ      Mapping
}

// parseCreateQP parses the input of CREATE_QP.
func parseCreateQP(in []byte, extended bool) (q QP, err error) {
	n := 48
	if extended {
		n = 56
	}
	b, err := body(in, extended, n)
	if err != nil {
		return q, err
	}
	q = QP{
		UserHandle: le.Uint64(b), PD: le.Uint32(b[8:]), SendCQ: le.Uint32(b[12:]), RecvCQ: le.Uint32(b[16:]), SRQ: le.Uint32(b[20:]),
		Caps: parseCaps(b[24:]), SignalAll: b[44] != 0, Type: QPType(b[45]), HasSRQ: b[46] != 0,
	}
	if extended {
		q.Flags = le.Uint32(b[52:])
	}
	return q, nil
}

// A GID is the address of a port: an IPv6 address, or an IPv4 address mapped into one.
type GID [16]byte

// An Address says how to reach a port.
type Address struct {
	DGID         GID
	Flow         uint32
	DLID         uint16
	SGIDIndex    uint8
	HopLimit     uint8
	TrafficClass uint8
	SL           uint8
	SrcPath      uint8
	StaticRate   uint8
	Global       bool
	Port         uint8
}

// addressLen is the length in bytes of an Address in MODIFY_QP and QUERY_QP.
const addressLen = 32

func parseAddress(b []byte) (a Address) {
	copy(a.DGID[:], b)
	a.Flow, a.DLID = le.Uint32(b[16:]), le.Uint16(b[20:])
	a.SGIDIndex, a.HopLimit, a.TrafficClass, a.SL = b[24], b[25], b[26], b[27]
	a.SrcPath, a.StaticRate, a.Global, a.Port = b[28], b[29], b[30] != 0, b[31]
	return a
}

func (a *Address) put(b []byte) {
	copy(b, a.DGID[:])
	le.PutUint32(b[16:], a.Flow)
	le.PutUint16(b[20:], a.DLID)
	b[24], b[25], b[26], b[27], b[28], b[29], b[31] = a.SGIDIndex, a.HopLimit, a.TrafficClass, a.SL, a.SrcPath, a.StaticRate, a.Port
	if a.Global {
		b[30] = 1
	}
}

// A State is the state of a QP, as verbs number it.
type State uint8

// The states.
const (
	Reset State = iota
	Init
	RTR
	RTS
	SQD
	SQE
	Err
)

// String returns the name of the state.
func (s State) String() string {
	if names := [...]string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}; int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// A Mask selects the attributes of a QP that a MODIFY_QP sets.
type Mask uint32

// The attributes.
const (
	MaskState        Mask = 1 << 0
	MaskCurState     Mask = 1 << 1
	MaskSQDNotify    Mask = 1 << 2
	MaskAccess       Mask = 1 << 3
	MaskPKey         Mask = 1 << 4
	MaskPort         Mask = 1 << 5
	MaskQKey         Mask = 1 << 6
	MaskAddress      Mask = 1 << 7
	MaskMTU          Mask = 1 << 8
	MaskTimeout      Mask = 1 << 9
	MaskRetry        Mask = 1 << 10
	MaskRNRRetry     Mask = 1 << 11
	MaskRQPSN        Mask = 1 << 12
	MaskMaxRead      Mask = 1 << 13
	MaskAltPath      Mask = 1 << 14
	MaskMinRNRTimer  Mask = 1 << 15
	MaskSQPSN        Mask = 1 << 16
	MaskMaxDestRead  Mask = 1 << 17
	MaskPathMig      Mask = 1 << 18
	MaskCap          Mask = 1 << 19
	MaskDestQPN      Mask = 1 << 20
	MaskRateLimit    Mask = 1 << 25
	knownAttributes       = 1<<21 - 1
	optionalExtended Mask = MaskRateLimit
)

// maskNames are the names of libibverbs for the bits of a Mask.
var maskNames = [...]string{
	"STATE", "CUR_STATE", "EN_SQD_ASYNC_NOTIFY", "ACCESS_FLAGS", "PKEY_INDEX", "PORT", "QKEY", "AV", "PATH_MTU", "TIMEOUT", "RETRY_CNT", "RNR_RETRY",
	"RQ_PSN", "MAX_QP_RD_ATOMIC", "ALT_PATH", "MIN_RNR_TIMER", "SQ_PSN", "MAX_DEST_RD_ATOMIC", "PATH_MIG_STATE", "CAP", "DEST_QPN",
}

// String returns the names of libibverbs, such as "IBV_QP_STATE, IBV_QP_AV".
func (m Mask) String() string {
	var names []string
	for ; m != 0; m &= m - 1 {
		if bit := bits.TrailingZeros32(uint32(m)); bit < len(maskNames) {
			names = append(names, "IBV_QP_"+maskNames[bit])
		} else if 1<<bit == MaskRateLimit {
			names = append(names, "IBV_QP_RATE_LIMIT")
		} else {
			names = append(names, fmt.Sprintf("%#x", 1<<bit))
		}
	}
	return strings.Join(names, ", ")
}

// Attributes are the attributes of a QP that MODIFY_QP sets and QUERY_QP returns.
type Attributes struct {
	Address     Address
	AltAddress  Address
	QKey        uint32
	RQPSN       uint32
	SQPSN       uint32
	DestQPN     uint32
	Access      Access
	PKey        uint16
	AltPKey     uint16
	State       State
	CurState    State
	MTU         uint8
	PathMig     uint8
	MaxRead     uint8
	MaxDestRead uint8
	MinRNRTimer uint8
	Port        uint8
	Timeout     uint8
	Retry       uint8
	RNRRetry    uint8
	AltPort     uint8
	AltTimeout  uint8
	SQDNotify   bool // MODIFY_QP only: raise an event when the send queue has been drained
	Draining    bool // QUERY_QP only: work requests that had begun before SQD are still in progress
}

// A Change is the input of MODIFY_QP.
type Change struct {
	Handle uint32
	Mask   Mask
	To     Attributes
}

// parseModifyQP parses the input of MODIFY_QP, extended or not: the fields begin at the same place,
// because the command itself has no answer.
func parseModifyQP(in []byte) (c Change, err error) {
	if len(in) < 110 {
		return c, ErrShort
	}
	c.Handle, c.Mask = le.Uint32(in[64:]), Mask(le.Uint32(in[68:]))
	c.To = Attributes{
		Address: parseAddress(in), AltAddress: parseAddress(in[addressLen:]),
		QKey: le.Uint32(in[72:]), RQPSN: le.Uint32(in[76:]), SQPSN: le.Uint32(in[80:]), DestQPN: le.Uint32(in[84:]),
		Access: Access(le.Uint32(in[88:])), PKey: le.Uint16(in[92:]), AltPKey: le.Uint16(in[94:]),
		State: State(in[96]), CurState: State(in[97]), MTU: in[98], PathMig: in[99], MaxRead: in[101], MaxDestRead: in[102],
		MinRNRTimer: in[103], Port: in[104], Timeout: in[105], Retry: in[106], RNRRetry: in[107], AltPort: in[108], AltTimeout: in[109],
		SQDNotify: in[100] != 0,
	}
	return c, nil
}

// Apply sets the attributes of a that c names, except the state.
func (c *Change) Apply(a *Attributes) {
	n := &c.To
	set := func(m Mask, f func()) {
		if c.Mask&m != 0 {
			f()
		}
	}
	set(MaskSQDNotify, func() { a.SQDNotify = n.SQDNotify })
	set(MaskAccess, func() { a.Access = n.Access })
	set(MaskPKey, func() { a.PKey = n.PKey })
	set(MaskPort, func() { a.Port = n.Port })
	set(MaskQKey, func() { a.QKey = n.QKey })
	set(MaskAddress, func() { a.Address = n.Address })
	set(MaskMTU, func() { a.MTU = n.MTU })
	set(MaskTimeout, func() { a.Timeout = n.Timeout })
	set(MaskRetry, func() { a.Retry = n.Retry })
	set(MaskRNRRetry, func() { a.RNRRetry = n.RNRRetry })
	set(MaskRQPSN, func() { a.RQPSN = n.RQPSN & 0xffffff })
	set(MaskMaxRead, func() { a.MaxRead = n.MaxRead })
	set(MaskAltPath, func() {
		a.AltAddress, a.AltPKey, a.AltPort, a.AltTimeout = n.AltAddress, n.AltPKey, n.AltPort, n.AltTimeout
	})
	set(MaskMinRNRTimer, func() { a.MinRNRTimer = n.MinRNRTimer & 31 })
	set(MaskSQPSN, func() { a.SQPSN = n.SQPSN & 0xffffff })
	set(MaskMaxDestRead, func() { a.MaxDestRead = n.MaxDestRead })
	set(MaskPathMig, func() { a.PathMig = n.PathMig })
	set(MaskDestQPN, func() { a.DestQPN = n.DestQPN & 0xffffff })
}

// transitions are the changes of state that a program may request: the attributes that it must set
// with each change, and those that it may set.
//
//	RESET ──▶ INIT ──▶ RTR ──▶ RTS ◀──▶ SQD
//
// A QP can go from every state to RESET, and from every state except RESET to ERR.
var transitions = map[QPType]map[[2]State]attributes{RC: rcTransitions, UC: ucTransitions, UD: udTransitions}

// attributes are those of one transition.
type attributes struct{ need, may Mask }

var udTransitions = map[[2]State]attributes{
	{Reset, Init}: {need: MaskPKey | MaskPort | MaskQKey},
	{Init, Init}:  {may: MaskPKey | MaskPort | MaskQKey},
	{Init, RTR}:   {may: MaskPKey | MaskQKey},
	{RTR, RTS}:    {need: MaskSQPSN, may: MaskCurState | MaskQKey},
	{RTS, RTS}:    {may: MaskCurState | MaskQKey},
	{RTS, SQD}:    {may: MaskSQDNotify},
	{SQD, RTS}:    {may: MaskCurState | MaskQKey},
	{SQD, SQD}:    {may: MaskPKey | MaskQKey},
}

var ucTransitions = map[[2]State]attributes{
	{Reset, Init}: {need: MaskPKey | MaskPort | MaskAccess},
	{Init, Init}:  {may: MaskPKey | MaskPort | MaskAccess},
	{Init, RTR}:   {need: MaskAddress | MaskMTU | MaskDestQPN | MaskRQPSN, may: MaskAltPath | MaskAccess | MaskPKey},
	{RTR, RTS}:    {need: MaskSQPSN, may: MaskCurState | MaskAltPath | MaskAccess | MaskPathMig},
	{RTS, RTS}:    {may: MaskCurState | MaskAccess | MaskAltPath | MaskPathMig},
	{RTS, SQD}:    {may: MaskSQDNotify},
	{SQD, RTS}:    {may: MaskCurState | MaskAltPath | MaskAccess | MaskPathMig},
	{SQD, SQD}:    {may: MaskAddress | MaskCurState | MaskAltPath | MaskAccess | MaskPKey | MaskPathMig},
}

var rcTransitions = map[[2]State]attributes{
	{Reset, Init}: {need: MaskPKey | MaskPort | MaskAccess},
	{Init, Init}:  {may: MaskPKey | MaskPort | MaskAccess},
	{Init, RTR}: {
		need: MaskAddress | MaskMTU | MaskDestQPN | MaskRQPSN | MaskMaxDestRead | MaskMinRNRTimer,
		may:  MaskAltPath | MaskAccess | MaskPKey,
	},
	{RTR, RTS}: {
		need: MaskTimeout | MaskRetry | MaskRNRRetry | MaskSQPSN | MaskMaxRead,
		may:  MaskCurState | MaskAltPath | MaskAccess | MaskMinRNRTimer | MaskPathMig,
	},
	{RTS, RTS}: {may: MaskCurState | MaskAccess | MaskAltPath | MaskPathMig | MaskMinRNRTimer},
	{RTS, SQD}: {may: MaskSQDNotify},
	{SQD, RTS}: {may: MaskCurState | MaskAltPath | MaskAccess | MaskMinRNRTimer | MaskPathMig},
	{SQD, SQD}: {
		may: MaskAddress | MaskTimeout | MaskRetry | MaskRNRRetry | MaskMaxRead | MaskMaxDestRead |
			MaskCurState | MaskAltPath | MaskAccess | MaskPKey | MaskMinRNRTimer | MaskPathMig,
	},
}

// Check returns an error if a program may not make change c to a QP of type q in state from.
func (c *Change) Check(q QPType, from State) error {
	to := from
	if c.Mask&MaskState != 0 {
		to = c.To.State
	}
	got := c.Mask &^ (MaskState | MaskCurState)
	t, ok := transitions[q][[2]State{from, to}]
	if to == Reset || to == Err {
		t, ok = attributes{}, to == Reset || from != Reset
	} else {
		got &^= MaskRateLimit
	}
	switch {
	case c.Mask&^(knownAttributes|optionalExtended) != 0:
		return c.refuse(from, to, "%v is not an attribute", c.Mask&^(knownAttributes|optionalExtended))
	case c.Mask&MaskCurState != 0 && c.To.CurState != from:
		return c.refuse(from, to, "cur_qp_state is %v", c.To.CurState)
	case !ok:
		return c.refuse(from, to, "there is no such transition of a queue pair of type %v", q)
	case t.need&^got != 0:
		if missing := t.need &^ got; bits.OnesCount32(uint32(missing)) > 1 {
			return c.refuse(from, to, "%v are missing", missing)
		}
		return c.refuse(from, to, "%v is missing", t.need&^got)
	case got&^(t.need|t.may) != 0:
		return c.refuse(from, to, "%v may not be set", got&^(t.need|t.may))
	}
	return nil
}

func (c *Change) refuse(from, to State, format string, args ...any) error {
	return Refuse(syscall.EINVAL, "%v to %v: "+format, append([]any{from, to}, args...)...)
}

// A QPState is the answer to QUERY_QP.
type QPState struct {
	Attributes
	Caps      Caps
	SignalAll bool
}

// appendQueryQP appends the answer to QUERY_QP.
func appendQueryQP(b []byte, a *QPState) []byte {
	b, o := extend(b, 128)
	a.Address.put(o)
	a.AltAddress.put(o[addressLen:])
	a.Caps.put(o[64:])
	le.PutUint32(o[84:], a.QKey)
	le.PutUint32(o[88:], a.RQPSN)
	le.PutUint32(o[92:], a.SQPSN)
	le.PutUint32(o[96:], a.DestQPN)
	le.PutUint32(o[100:], uint32(a.Access))
	le.PutUint16(o[104:], a.PKey)
	le.PutUint16(o[106:], a.AltPKey)
	o[108], o[109], o[110], o[111] = byte(a.State), byte(a.State), a.MTU, a.PathMig
	o[113], o[114], o[115], o[116], o[117], o[118], o[119] = a.MaxRead, a.MaxDestRead, a.MinRNRTimer, a.Port, a.Timeout, a.Retry, a.RNRRetry
	o[120], o[121] = a.AltPort, a.AltTimeout
	if a.Draining {
		o[112] = 1
	}
	if a.SignalAll {
		o[122] = 1
	}
	return b
}

// extend appends n zeros to b, and returns b and the new part.
func extend(b []byte, n int) (all, added []byte) {
	b = append(b, make([]byte, n)...)
	return b, b[len(b)-n:]
}
