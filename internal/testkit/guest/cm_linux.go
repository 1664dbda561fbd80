package guest

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A CM is rdma_cm as a program uses it: one open file.
type CM struct{ FD int }

// OpenCM opens rdma_cm, as librdmacm does.
func OpenCM() (*CM, error) {
	version, err := os.ReadFile("/sys/class/misc/rdma_cm/abi_version")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(version)) != "4" {
		return nil, fmt.Errorf("rdma_cm has version %q", version)
	}
	fd, err := unix.Open("/dev/infiniband/rdma_cm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return nil, fmt.Errorf("rdma_cm has mode %o", st.Mode)
	}
	return &CM{fd}, nil
}

// Do sends a command. If out is not 0, Do writes the address of a buffer of that length to in[at:]
// and returns the answer in it.
func (c *CM) Do(cmd uint32, in []byte, at, out int) ([]byte, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	answer := make([]byte, max(out, 1))
	pin.Pin(&answer[0])
	if out > 0 {
		le.PutUint64(in[at:], Address(answer))
	}
	b := le.AppendUint32(nil, cmd)
	b = le.AppendUint16(b, uint16(len(in)))
	b = le.AppendUint16(b, uint16(out))
	b = append(b, in...)
	n, err := unix.Write(c.FD, b)
	if err != nil {
		return nil, err
	}
	if n != len(b) {
		return nil, fmt.Errorf("command %d: %d of %d bytes", cmd, n, len(b))
	}
	return answer[:out], nil
}

// The port spaces of connections and of datagrams.
const (
	TCPSpace = 0x106
	UDPSpace = 0x111
)

// ID creates an id. uid must not be 0.
func (c *CM) ID(uid uint64, space uint16) (uint32, error) {
	in := le.AppendUint64(nil, uid)
	in = le.AppendUint64(in, 0)
	in = le.AppendUint64(in, uint64(space)|2<<16)
	out, err := c.Do(0, in, 8, 4)
	if err != nil {
		return 0, fmt.Errorf("CREATE_ID: %w", err)
	}
	return le.Uint32(out), nil
}

// DestroyID destroys an id and returns the number of its events that the program has taken.
func (c *CM) DestroyID(id uint32) (uint32, error) {
	out, err := c.Do(1, append(make([]byte, 8), words(id, 0)...), 0, 4)
	if err != nil {
		return 0, err
	}
	return le.Uint32(out), nil
}

// sockaddr returns the address of a loopback port, padded to n bytes.
func sockaddr(port uint16, n int) []byte {
	b := le.AppendUint16(nil, 2)
	b = binary.BigEndian.AppendUint16(b, port)
	b = append(b, 127, 0, 0, 1)
	return append(b, make([]byte, n-len(b))...)
}

// Bind binds an id to a loopback port.
func (c *CM) Bind(id uint32, port uint16) error {
	_, err := c.Do(20, append(append(words(id), 16, 0, 0, 0), sockaddr(port, 128)...), 0, 0)
	return err
}

// Listen makes an id listen.
func (c *CM) Listen(id, backlog uint32) error {
	_, err := c.Do(7, words(id, backlog), 0, 0)
	return err
}

// Resolve resolves the address of a loopback port.
func (c *CM) Resolve(id uint32, port uint16) error {
	in := append(words(id, 1000), 0, 0, 16, 0, 0, 0, 0, 0)
	in = append(in, make([]byte, 128)...)
	_, err := c.Do(21, append(in, sockaddr(port, 128)...), 0, 0)
	return err
}

// Route resolves the route.
func (c *CM) Route(id uint32) error {
	_, err := c.Do(4, words(id, 1000), 0, 0)
	return err
}

// Ports returns the ports of an id's two addresses, and whether it has a device.
func (c *CM) Ports(id uint32) (src, dst uint16, device bool, err error) {
	out, err := c.Do(19, append(make([]byte, 8), words(id, 0)...), 0, 280)
	if err != nil {
		return 0, 0, false, err
	}
	return binary.BigEndian.Uint16(out[18:]), binary.BigEndian.Uint16(out[146:]), le.Uint64(out) != 0, nil
}

// InitQP moves a queue pair to INIT with the attributes that rdma_cm gives for the id.
func (c *CM) InitQP(id uint32, q *QP) error {
	out, err := c.Do(11, append(make([]byte, 8), words(id, Init)...), 0, 144)
	if err != nil {
		return err
	}
	return q.Modify(Init, [16]byte{}, 0, func(in []byte) {
		le.PutUint32(in[68:], le.Uint32(out))
		le.PutUint32(in[72:], le.Uint32(out[20:]))
		le.PutUint32(in[88:], le.Uint32(out[36:]))
	})
}

// A Param holds the parameters that the two ends of a connection send each other.
type Param struct {
	QPN              uint32
	Data             string
	Responder, Depth uint8
}

func (p *Param) bytes() []byte {
	b := words(p.QPN, 0)
	b = append(b, p.Data...)
	b = append(b, make([]byte, 264-len(b))...)
	return append(b, byte(len(p.Data)), 0, p.Responder, p.Depth, 0, 7, 7, 1)
}

// Connect asks for a connection.
func (c *CM) Connect(id uint32, p Param) error {
	_, err := c.Do(6, append(p.bytes(), words(id, 0, 0, 0)...), 0, 0)
	return err
}

// Accept accepts a peer's request.
func (c *CM) Accept(id uint32, uid uint64, p Param) error {
	in := append(le.AppendUint64(nil, uid), p.bytes()...)
	_, err := c.Do(8, append(in, words(id, 0, 0, 0)...), 0, 0)
	return err
}

// Confirm answers a ConnectResponse.
func (c *CM) Confirm(id uint32) error {
	_, err := c.Do(8, append(make([]byte, 8+272), words(id, 0, 0, 0)...), 0, 0)
	return err
}

// Reject rejects a peer's request.
func (c *CM) Reject(id uint32, data string) error {
	in := append(words(id), byte(len(data)), 0, 0, 0)
	in = append(in, data...)
	_, err := c.Do(9, append(in, make([]byte, 264-len(in))...), 0, 0)
	return err
}

// Disconnect ends a connection.
func (c *CM) Disconnect(id uint32) error {
	_, err := c.Do(10, words(id), 0, 0)
	return err
}

// Migrate moves an id from another channel to c.
func (c *CM) Migrate(id uint32, from *CM) (uint32, error) {
	out, err := c.Do(18, append(make([]byte, 8), words(id, uint32(from.FD))...), 0, 4)
	if err != nil {
		return 0, err
	}
	return le.Uint32(out), nil
}

// Events.
const (
	AddrResolved    = 0
	AddrError       = 1
	RouteResolved   = 2
	ConnectRequest  = 4
	ConnectResponse = 5
	Unreachable     = 7
	Rejected        = 8
	Established     = 9
	Disconnected    = 10
	TimewaitExit    = 15
)

// An Event is an event of an id.
type Event struct {
	UID    uint64
	ID     uint32
	Type   uint32
	Status int32
	Param
	// Peer is valid instead of Param if the id is for datagrams.
	Peer Peer
}

// A Peer is a peer's queue pair for datagrams, with its address.
type Peer struct {
	QPN, QKey uint32
	GID       [16]byte
	Data      string
}

// Event takes the next event.
func (c *CM) Event() (e Event, err error) {
	var out []byte
	for {
		if out, err = c.Do(12, make([]byte, 8), 0, 336); err != syscall.EINTR { // signals of Go's runtime
			break
		}
	}
	if err != nil {
		return e, err
	}
	p := out[20:]
	return Event{
		le.Uint64(out), le.Uint32(out[8:]), le.Uint32(out[12:]), int32(le.Uint32(out[16:])),
		Param{le.Uint32(p), string(p[8 : 8+int(p[264])]), p[266], p[267]},
		Peer{le.Uint32(p), le.Uint32(p[4:]), [16]byte(p[8:]), string(p[40 : 40+min(int(p[296]), 255)])},
	}, nil
}

// Want takes the next event and returns an error unless it has this type and uid.
func (c *CM) Want(uid uint64, kind uint32) (Event, error) {
	e, err := c.Event()
	if err == nil && (e.Type != kind || e.UID != uid) {
		err = fmt.Errorf("event %d with status %d of %d, want %d of %d", e.Type, e.Status, e.UID, kind, uid)
	}
	return e, err
}

// Pending reports whether poll finds an event.
func (c *CM) Pending() bool {
	p := []unix.PollFd{{Fd: int32(c.FD), Events: unix.POLLIN}}
	n, _ := unix.Poll(p, 0)
	return n == 1
}

// Await waits until poll finds an event.
func (c *CM) Await() error {
	for {
		p := []unix.PollFd{{Fd: int32(c.FD), Events: unix.POLLIN}}
		if _, err := unix.Poll(p, -1); err != unix.EINTR {
			return err
		}
	}
}

// SetNonblock makes Event fail with EAGAIN if there is no event.
func (c *CM) SetNonblock(on bool) error { return unix.SetNonblock(c.FD, on) }

// Close closes the channel.
func (c *CM) Close() error { return unix.Close(c.FD) }
