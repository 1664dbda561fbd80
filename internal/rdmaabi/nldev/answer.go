package nldev

import (
	"cmp"
	"encoding/binary"
	"slices"
	"syscall"
)

// Attributes of requests and answers.
const (
	attrDevIndex      = 1
	attrDevName       = 2
	attrPortIndex     = 3
	attrCaps          = 4
	attrNodeGUID      = 6
	attrSystemGUID    = 7
	attrPortState     = 12
	attrPhysState     = 13
	attrNodeType      = 14
	attrSummary       = 15
	attrSummaryEntry  = 16
	attrSummaryName   = 17
	attrSummaryCount  = 18
	attrQP            = 19
	attrQPEntry       = 20
	attrLQPN          = 21
	attrRQPN          = 22
	attrRQPSN         = 23
	attrSQPSN         = 24
	attrPathMigration = 25
	attrType          = 26
	attrState         = 27
	attrPID           = 28
	attrID            = 30
	attrIDEntry       = 31
	attrPortSpace     = 32
	attrSrc           = 33
	attrDst           = 34
	attrCQ            = 35
	attrCQEntry       = 36
	attrEntries       = 37
	attrUsers         = 38
	attrMR            = 40
	attrMREntry       = 41
	attrMRLen         = 45
	attrPD            = 46
	attrPDEntry       = 47
	attrInterface     = 50
	attrInterfaceName = 51
	attrPDN           = 60
	attrCQN           = 61
	attrMRN           = 62
	attrIDN           = 63
	attrContextN      = 64
	attrNetMode       = 66
	attrProtocol      = 67
	attrCharDevType   = 69
	attrCharDevName   = 70
	attrCharDevABI    = 71
	attrCharDev       = 72
	attrDriver        = 73
	attrStatRes       = 75
	attrModeration    = 84
	attrContext       = 86
	attrContextEntry  = 87
	attrSRQ           = 88
	attrSRQEntry      = 89
	attrSRQN          = 90
	attrMinRange      = 91
	attrMaxRange      = 92
	attrCopyOnFork    = 93
)

// A NodeType is the kind of a device.
type NodeType uint8

// The types.
const (
	ChannelAdapter NodeType = 1
	RNIC           NodeType = 4
)

// A Device is what the answers say of the one device.
type Device struct {
	Name     string
	NodeType NodeType
	Protocol string
	GUID     [8]byte
	Caps     uint64
	// the network interface of the port
	Interface      string
	InterfaceIndex uint32
	Files          []File
}

// A File is a device file.
type File struct {
	Type, Name   string
	Major, Minor uint32
	ABI          uint64
	// OfDevice says that requests for the file name the device, and Driver is its driver then.
	OfDevice bool
	Driver   uint32
}

// A Socket is the program's socket.
type Socket struct {
	Port   uint32
	Capped bool // errors repeat only the header of a request
}

const (
	onlyIndex = 0 // the number of the device, as that of the first device in the kernel
	onlyPort  = 1
)

// The states of the port.
const (
	active = 4
	linkUp = 5
)

// pageLen is the maximum length in bytes of the attributes of a message. Programs have room for
// that much at least. A message has at least one object.
const pageLen = 3 << 10

// longest is the length in bytes of answers above which further requests in the same datagram find
// the device busy. One dump may be longer.
const longest = 1 << 20

// Answer returns the answers to the requests in b, of which each is a datagram. It calls objects at
// most once, if a request asks for objects.
func Answer(b []byte, s Socket, d *Device, objects func() []Object) (all [][]byte) {
	a := &answers{socket: s, device: d, objects: objects}
	for {
		h, message, rest, ok := parseMessage(b)
		if !ok {
			return a.all
		}
		b = rest
		var e syscall.Errno
		acknowledge := h.flags&flagAck != 0
		if h.flags&flagRequest != 0 && h.kind >= leastType {
			a.header = h
			dumped := false
			if e = syscall.EBUSY; a.len < longest {
				e, dumped = a.answer(message[headerLen:])
			}
			if dumped {
				continue
			}
		}
		if acknowledge || e != 0 {
			a.acknowledge(h, message, e)
		}
	}
}

// answers are the answers so far, and the request that is being answered.
type answers struct {
	header
	socket  Socket
	device  *Device
	objects func() []Object
	got     [kinds][]Object // by kind, in the order of their numbers
	all     [][]byte
	len     int // of all, in bytes
}

// answer answers one request. dumped is true if the answer has its own end.
func (a *answers) answer(in []byte) (e syscall.Errno, dumped bool) {
	c := command(a.kind & (1<<clientShift - 1))
	if a.kind>>clientShift != clientNLDEV || c > highest {
		return syscall.EINVAL, false
	}
	attrs, e := parseAttributes(in)
	switch {
	case c.is(setCommands):
		return syscall.EOPNOTSUPP, false
	case a.flags&flagDump == 0 || c.is(noDump):
		if e == 0 {
			e = a.one(c, &attrs)
		}
		return e, false
	}
	if e == 0 {
		e = a.dump(c, &attrs)
	}
	a.done(e)
	return 0, true
}

// one answers a request for one thing.
func (a *answers) one(c command, in *attributes) syscall.Errno {
	switch c {
	case sysGet:
		a.add(0, append8(append8(nil, attrNetMode, 1), attrCopyOnFork, 1)) // the device reads memory through its owner
		return 0
	case getCharDev:
		return a.charDev(in)
	}
	if in.device == nil || *in.device != onlyIndex || in.port != nil && *in.port != onlyPort {
		return syscall.EINVAL
	}
	switch c {
	case get:
		a.add(0, a.device.appendTo(nil))
		return 0
	case portGet:
		if in.port == nil {
			return syscall.EINVAL
		}
		a.add(0, a.device.appendPort(nil))
		return 0
	case resGet:
		a.add(0, a.summary())
		return 0
	}
	k, ok := kindOf(c)
	if !ok || in.numbers[k] == nil || layouts[k].atPort != (in.port != nil) {
		return syscall.EINVAL
	}
	for _, o := range a.of(k) {
		if o.number() == *in.numbers[k] {
			a.add(0, o.appendTo(a.device.handle()))
			return 0
		}
	}
	return syscall.ENOENT
}

// dump answers a request for all things of a kind, except for the end of the answer.
func (a *answers) dump(c command, in *attributes) syscall.Errno {
	switch c {
	case get:
		a.add(flagMulti, a.device.appendTo(nil))
		return 0
	case resGet:
		a.add(flagMulti, a.summary())
		return 0
	case statGet: // there are no counters
		if in.statOf == nil || *in.statOf != attrQP && *in.statOf != attrMR {
			return syscall.EINVAL
		}
	}
	if in.device == nil || *in.device != onlyIndex {
		return syscall.EINVAL
	}
	if c == portGet {
		a.add(flagMulti, a.device.appendPort(nil))
		return 0
	}
	if in.port != nil && *in.port != onlyPort {
		return syscall.EINVAL
	}
	if c == statGet {
		return 0
	}
	k, ok := kindOf(c)
	if !ok {
		return syscall.EINVAL
	}
	for left := a.of(k); len(left) > 0; {
		a.add(flagMulti, nested(a.device.handle(), layouts[k].table, func(b []byte) []byte {
			for first := true; len(left) > 0; first = false {
				entry := nested(nil, layouts[k].entry, left[0].appendTo)
				if !first && len(b)+len(entry) > pageLen {
					break
				}
				b, left = append(b, entry...), left[1:]
			}
			return b
		}))
	}
	return 0
}

// charDev answers a request for a device file.
func (a *answers) charDev(in *attributes) syscall.Errno {
	switch {
	case in.charType == nil, in.device != nil && *in.device != onlyIndex, in.port != nil:
		return syscall.EINVAL // no file belongs to a port
	}
	for _, f := range a.device.Files {
		if f.Type == *in.charType && f.OfDevice == (in.device != nil) {
			a.add(0, f.appendTo(nil))
			return 0
		}
	}
	return syscall.ENOENT
}

// summary returns the attributes that count the objects.
func (a *answers) summary() []byte {
	return nested(a.device.handle(), attrSummary, func(b []byte) []byte {
		for k := range kinds {
			b = nested(b, attrSummaryEntry, func(b []byte) []byte {
				return append64(appendText(b, attrSummaryName, layouts[k].name), attrSummaryCount, uint64(len(a.of(k))))
			})
		}
		return b
	})
}

// kindOf returns the kind of the objects that a command asks for.
func kindOf(c command) (k kind, ok bool) {
	for k := range kinds {
		if layouts[k].get == c {
			return k, true
		}
	}
	return 0, false
}

// of returns the objects of a kind, in the order of their numbers.
func (a *answers) of(k kind) []Object {
	if a.objects != nil { // once for all requests of a datagram
		for _, o := range a.objects() {
			a.got[o.kind()] = append(a.got[o.kind()], o)
		}
		for _, some := range a.got {
			slices.SortFunc(some, func(x, y Object) int { return cmp.Compare(x.number(), y.number()) })
		}
		a.objects = nil
	}
	return a.got[k]
}

// add adds a message with attributes.
func (a *answers) add(flags uint16, attrs []byte) { a.message(a.kind, flags, attrs) }

// done ends a dump.
func (a *answers) done(e syscall.Errno) {
	a.message(typeDone, flagMulti, native.AppendUint32(nil, -uint32(e)))
}

// acknowledge adds an NLMSG_ERROR, which also says that there was no error.
func (a *answers) acknowledge(h header, request []byte, e syscall.Errno) {
	var flags uint16
	if e == 0 || a.socket.Capped {
		request, flags = request[:headerLen], flagCapped
	}
	a.header = h
	a.message(typeError, flags, append(native.AppendUint32(nil, -uint32(e)), request...))
}

func (a *answers) message(kind, flags uint16, body []byte) {
	b := native.AppendUint32(make([]byte, 0, headerLen+len(body)), uint32(headerLen+len(body)))
	b = native.AppendUint16(native.AppendUint16(b, kind), flags)
	b = native.AppendUint32(native.AppendUint32(b, a.seq), a.socket.Port)
	b = append(b, body...)
	a.all, a.len = append(a.all, b), a.len+len(b)
}

// handle returns the attributes by which each answer names the device.
func (d *Device) handle() []byte {
	return appendText(append32(nil, attrDevIndex, onlyIndex), attrDevName, d.Name)
}

func (d *Device) appendTo(b []byte) []byte {
	b = append32(append(b, d.handle()...), attrPortIndex, onlyPort) // the last port
	b = append64(b, attrCaps, d.Caps)
	guid := binary.BigEndian.Uint64(d.GUID[:])
	b = append64(append64(b, attrNodeGUID, guid), attrSystemGUID, guid)
	b = append8(append8(b, attrNodeType, uint8(d.NodeType)), attrModeration, 0)
	return appendText(b, attrProtocol, d.Protocol)
}

func (d *Device) appendPort(b []byte) []byte {
	b = append32(append(b, d.handle()...), attrPortIndex, onlyPort)
	b = append8(append8(b, attrPortState, active), attrPhysState, linkUp)
	if d.InterfaceIndex == 0 {
		return b
	}
	return appendText(append32(b, attrInterface, d.InterfaceIndex), attrInterfaceName, d.Interface)
}

func (f *File) appendTo(b []byte) []byte {
	if f.OfDevice {
		b = append32(b, attrDriver, f.Driver)
	}
	number := uint64(f.Minor&0xff | f.Major<<8 | f.Minor&^0xff<<12)
	b = append64(append64(b, attrCharDev, number), attrCharDevABI, f.ABI)
	return appendText(b, attrCharDevName, f.Name)
}

// appendBytes appends an attribute.
func appendBytes(b []byte, kind uint16, value []byte) []byte {
	b = native.AppendUint16(native.AppendUint16(b, uint16(attrLen+len(value))), kind)
	b = append(b, value...)
	return append(b, make([]byte, align(len(value))-len(value))...)
}

func append8(b []byte, kind uint16, v uint8) []byte { return appendBytes(b, kind, []byte{v}) }

func append32(b []byte, kind uint16, v uint32) []byte {
	return appendBytes(b, kind, native.AppendUint32(nil, v))
}

func append64(b []byte, kind uint16, v uint64) []byte {
	return appendBytes(b, kind, native.AppendUint64(nil, v))
}

func appendText(b []byte, kind uint16, s string) []byte {
	return appendBytes(b, kind, append([]byte(s), 0))
}

// nested appends an attribute that consists of the attributes that fill appends.
func nested(b []byte, kind uint16, fill func([]byte) []byte) []byte {
	at := len(b)
	b = fill(native.AppendUint16(native.AppendUint16(b, 0), kind))
	native.PutUint16(b[at:], uint16(len(b)-at))
	return b
}
