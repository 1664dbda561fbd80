package ucma

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var le = binary.LittleEndian

// ErrShort means that the program has passed fewer bytes than the type needs.
var ErrShort = errors.New("ucma: too short")

// A Command is the number of a command.
type Command uint32

// The commands. Not all are served.
const (
	CreateID     Command = 0
	DestroyID    Command = 1
	BindIP       Command = 2
	ResolveIP    Command = 3
	ResolveRoute Command = 4
	QueryRoute   Command = 5
	Connect      Command = 6
	Listen       Command = 7
	Accept       Command = 8
	Reject       Command = 9
	Disconnect   Command = 10
	InitQPAttr   Command = 11
	GetEvent     Command = 12
	GetOption    Command = 13 // the kernel does not have it either
	SetOption    Command = 14
	Notify       Command = 15
	JoinIPMcast  Command = 16
	LeaveMcast   Command = 17
	MigrateID    Command = 18
	Query        Command = 19
	Bind         Command = 20
	ResolveAddr  Command = 21
	JoinMcast    Command = 22

	commands = 23
)

var commandNames = [commands]string{
	"CREATE_ID", "DESTROY_ID", "BIND_IP", "RESOLVE_IP", "RESOLVE_ROUTE", "QUERY_ROUTE", "CONNECT", "LISTEN", "ACCEPT", "REJECT", "DISCONNECT",
	"INIT_QP_ATTR", "GET_EVENT", "GET_OPTION", "SET_OPTION", "NOTIFY", "JOIN_IP_MCAST", "LEAVE_MCAST", "MIGRATE_ID", "QUERY", "BIND",
	"RESOLVE_ADDR", "JOIN_MCAST",
}

// String returns the kernel's name of the command.
func (c Command) String() string {
	if c.Exists() {
		return commandNames[c]
	}
	return fmt.Sprintf("command %d", uint32(c))
}

// Exists reports whether there is such a command.
func (c Command) Exists() bool { return c < commands }

// HeaderLen is the length in bytes of the header of a command.
const HeaderLen = 8

// MaxIn is the length in bytes of the longest command, without its header.
const MaxIn = 8 + ConnParamLen + 16

// A Header begins each write.
type Header struct {
	Command Command
	In      int // bytes after the header
	Out     int // room for the answer, in bytes
}

// ParseHeader parses the header at the front of b.
func ParseHeader(b []byte) (h Header, rest []byte, err error) {
	if len(b) < HeaderLen {
		return h, nil, ErrShort
	}
	return Header{Command(le.Uint32(b)), int(le.Uint16(b[4:])), int(le.Uint16(b[6:]))}, b[HeaderLen:], nil
}

// A PortSpace is the kind of connections that an id is for.
type PortSpace uint16

// The port spaces.
const (
	IPoIB PortSpace = 0x0002
	TCP   PortSpace = 0x0106
	UDP   PortSpace = 0x0111
	IB    PortSpace = 0x013f
)

// Datagrams reports whether the ids of s are for datagrams.
func (s PortSpace) Datagrams() bool { return s == UDP || s == IPoIB }

// An IDRequest is the input of CREATE_ID.
type IDRequest struct {
	UID       uint64 // events about the id carry it
	Response  uint64
	PortSpace PortSpace
	QPType    uint8 // of PortSpace IB
}

// ParseCreateID parses the input of CREATE_ID.
func ParseCreateID(in []byte) (r IDRequest, err error) {
	if len(in) < 24 {
		return r, ErrShort
	}
	return IDRequest{le.Uint64(in), le.Uint64(in[8:]), PortSpace(le.Uint16(in[16:])), in[18]}, nil
}

// A Numbers is the input of a command that consists of an id, at most one other number, and the
// address of the answer if there is one.
type Numbers struct {
	Response  uint64
	ID, Other uint32
}

// ParseAnswered parses the input of a command with an answer: DESTROY_ID, QUERY and QUERY_ROUTE
// (the option), INIT_QP_ATTR (the state of the QP) and MIGRATE_ID (a descriptor of the channel that
// has the id).
func ParseAnswered(in []byte) (n Numbers, err error) {
	if len(in) < 16 {
		return n, ErrShort
	}
	return Numbers{le.Uint64(in), le.Uint32(in[8:]), le.Uint32(in[12:])}, nil
}

// ParsePlain parses the input of a command without an answer: RESOLVE_ROUTE (the timeout), LISTEN
// (the backlog), NOTIFY (the event).
func ParsePlain(in []byte) (n Numbers, err error) {
	if len(in) < 8 {
		return n, ErrShort
	}
	return Numbers{ID: le.Uint32(in), Other: le.Uint32(in[4:])}, nil
}

// ParseDisconnect parses the input of DISCONNECT.
func ParseDisconnect(in []byte) (id uint32, err error) {
	if len(in) < 4 {
		return 0, ErrShort
	}
	return le.Uint32(in), nil
}

// ParseGetEvent parses the input of GET_EVENT: the address for the event.
func ParseGetEvent(in []byte) (response uint64, err error) {
	if len(in) < 8 {
		return 0, ErrShort
	}
	return le.Uint64(in), nil
}

// An Option is the input of SET_OPTION.
type Option struct {
	Value       uint64 // an address in the program
	ID          uint32
	Level, Name uint32
	Len         uint32
}

// ParseSetOption parses the input of SET_OPTION.
func ParseSetOption(in []byte) (o Option, err error) {
	if len(in) < 24 {
		return o, ErrShort
	}
	return Option{le.Uint64(in), le.Uint32(in[8:]), le.Uint32(in[12:]), le.Uint32(in[16:]), le.Uint32(in[20:])}, nil
}

// The options of SET_OPTION, by level and name.
const (
	LevelID = 0
	LevelIB = 1

	OptionTOS        = 0 // 1 byte
	OptionReuse      = 1 // 4 bytes
	OptionAFOnly     = 2 // 4 bytes
	OptionAckTimeout = 3 // 1 byte
	OptionPath       = 1 // of LevelIB
)
