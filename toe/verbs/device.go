package verbs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

const (
	sysVerbs = "/sys/class/infiniband_verbs"
	sysIB    = "/sys/class/infiniband"
	devIB    = "/dev/infiniband"
)

// A Device is an open RDMA device. Its methods may be called from any goroutine.
type Device struct {
	name   string
	rnic   bool // not a channel adapter, which speaks InfiniBand's protocol
	limits uverbs.Device
	*provider
	file  *os.File // of uverbs
	async *os.File // its asynchronous events
	cm    *os.File // rdma_cm
	pd    uint32
	watch sync.WaitGroup // the goroutines that read events
	// regions guards the field closed of all Regions. It is held for reading while a work request
	// is put into a queue. One lock serves the Regions of all Segments, because a Post that waited
	// for one Region with another one locked could deadlock.
	regions locks.RWMutex[locks.Leaf]

	mu     locks.Mutex[locks.VerbsDevice]
	closed bool
	err    error // why the device has failed
	uids   uint64
	ends   map[uint64]*end
	open   map[*Region]bool // the Regions that are not closed
}

// Open opens a device by its name, such as "siw0". If name is "", it opens the first device that
// this package can use, RNICs before others. If there is none, the error is an [UnavailableError]
// with the reason of the first device.
func Open(name string) (*Device, error) {
	entries, err := os.ReadDir(sysVerbs)
	if err != nil {
		return nil, failed("listing devices", err)
	}
	var all []candidate
	var first error
	rnics := 0
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "uverbs") {
			continue
		}
		c, err := look(e.Name())
		switch {
		case err != nil:
			first = cmp.Or(first, err)
		case name != "" && name != c.name:
		case c.rnic:
			all = slices.Insert(all, rnics, c)
			rnics++
		default:
			all = append(all, c)
		}
	}
	for _, c := range all {
		d, err := c.open()
		if err == nil {
			return d, nil
		}
		first = cmp.Or(first, err)
	}
	if first == nil {
		first = unavailable(NoDevice, fmt.Errorf("no device %s in %s", name, sysVerbs))
	}
	return nil, first
}

// A candidate is a device that may be opened.
type candidate struct {
	name, path string
	rnic       bool
}

func (c candidate) open() (*Device, error) {
	d := &Device{name: c.name, rnic: c.rnic, ends: make(map[uint64]*end), open: make(map[*Region]bool)}
	if err := d.start(c.path); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// look looks at the device that the kernel calls uverbsN.
func look(uverbsN string) (candidate, error) {
	name, err := readLine(filepath.Join(sysVerbs, uverbsN, "ibdev"))
	if err != nil {
		return candidate{}, failed("naming a device", err)
	}
	kind, err := readLine(filepath.Join(sysIB, filepath.Base(name), "node_type"))
	if kind != "4: RNIC" && kind != "1: CA" {
		return candidate{}, unavailable(NotSupported, fmt.Errorf("%s is %q, neither an RNIC nor a channel adapter (%v)", name, kind, err))
	}
	return candidate{name, filepath.Join(devIB, uverbsN), kind == "4: RNIC"}, nil
}

func (d *Device) start(path string) (err error) {
	if d.file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return failed("opening "+d.name, err)
	}
	if err := d.identify(); err != nil {
		return err
	}
	var fd, vectors uint32
	if err := d.do(uverbs.GetContext, uverbs.AppendAnswered(nil), make([]byte, d.contextOut), &fd, &vectors); err != nil {
		return err
	}
	if d.async, err = adopt(fd, "async"); err != nil {
		return &DeviceError{"GET_CONTEXT", err}
	}
	out := make([]byte, uverbs.DeviceLen)
	if err := invoke(d.file, d.command(uverbs.QueryDevice, uverbs.AppendAnswered(nil), out, nil)); err != nil {
		return failed("QUERY_DEVICE", err)
	}
	if d.limits, err = uverbs.ParseDevice(out); err != nil {
		return &DeviceError{"QUERY_DEVICE", err}
	}
	if err := d.do(uverbs.AllocPD, uverbs.AppendAnswered(nil), nil, &d.pd); err != nil {
		return err
	}
	if d.cm, err = openNonblock(filepath.Join(devIB, "rdma_cm")); err != nil {
		return failed("opening rdma_cm", err)
	}
	d.watch.Add(2)
	go d.readEvents()
	go d.readAsync()
	return nil
}

// identify finds the provider. A device refuses the number of another driver; ENOSPC, because there
// is no room for the answer, means that the number is right.
func (d *Device) identify() (err error) {
	for _, d.provider = range providers {
		if err = invoke(d.file, d.command(uverbs.QueryDevice, make([]byte, 8), nil, nil)); errors.Is(err, syscall.ENOSPC) {
			return nil
		}
	}
	return unavailable(NotSupported, fmt.Errorf("%s has neither the queues of rxe nor those of siw: %w", d.name, err))
}

// command returns a command with room for its answers.
func (d *Device) command(cmd uverbs.Command, in, out, driverOut []byte) call {
	return call{driver: d.driver, cmd: cmd, in: in, out: out, driverOut: driverOut}
}

// do sends a command whose answer consists of numbers and the data that the driver adds.
func (d *Device) do(cmd uverbs.Command, in, driverOut []byte, words ...*uint32) error {
	out := make([]byte, 4*len(words))
	if err := invoke(d.file, d.command(cmd, in, out, driverOut)); err != nil {
		return failed(cmd.String(), err)
	}
	return uverbs.ParseWords(out, words...)
}

// Name returns the name of the device.
func (d *Device) Name() string { return d.name }

// Can reports whether the device has an operation. RNICs have neither atomics nor Immediate Data.
func (d *Device) Can(o Op) bool {
	switch o {
	case OpFetchAdd, OpCmpSwap:
		return !d.rnic && !d.plain && d.limits.Atomics != 0
	case OpSendImmediate, OpWriteImmediate:
		return !d.rnic && !d.plain
	}
	return o <= OpReceive
}

// access returns the maximum rights of peers on a queue pair.
func (d *Device) access() uverbs.Access {
	a := uverbs.LocalWrite | uverbs.RemoteWrite | uverbs.RemoteRead
	if d.Can(OpFetchAdd) {
		a |= uverbs.RemoteAtomic
	}
	return a
}

// Close ends all connections and listeners, and closes the device. It waits until nothing of the
// device is left. Peers lose their rights to Regions that are not closed. The memory of such a
// Region remains valid until its Close. Close returns nil. A second call waits for the first.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		d.watch.Wait() // the files, which end it, are closed last
		return nil
	}
	d.closed = true
	var ends []*end
	for _, e := range d.ends {
		ends = append(ends, e)
	}
	regions := slices.Collect(maps.Keys(d.open))
	d.mu.Unlock()
	for _, e := range ends {
		e.close()
	}
	for _, r := range regions {
		r.mu.Lock()
		_ = r.deregister() // its Close will have the error again
		r.mu.Unlock()
	}
	for _, f := range []*os.File{d.cm, d.async, d.file} {
		if f != nil {
			_ = f.Close() // the file is closed anyway
		}
	}
	d.watch.Wait()
	return nil
}

// fail ends everything on the device.
func (d *Device) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.err != nil {
		return
	}
	d.err = err
	for _, e := range d.ends {
		e.fail(err)
	}
}

// hasFailed reports whether everything on the device has ended.
func (d *Device) hasFailed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err != nil
}

// number returns a new number for an end, by which events find it.
func (d *Device) number() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uids++
	return d.uids
}

// add makes events find e, and Close end it. From then on e.id does not change.
func (d *Device) add(e *end) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return os.ErrClosed
	}
	if d.err != nil {
		return d.err
	}
	d.ends[e.uid] = e
	return nil
}

// keep makes Close deregister r.
func (d *Device) keep(r *Region) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return os.ErrClosed
	}
	d.open[r] = true
	return nil
}

func (d *Device) forget(r *Region) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, r)
}

func (d *Device) remove(e *end) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ends, e.uid)
}

func (d *Device) find(uid uint64) *end {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ends[uid]
}

// readEvents takes the events of rdma_cm until the device is closed. It ignores an event of an id
// that is already closed, except that it refuses a request that nobody takes.
func (d *Device) readEvents() {
	defer d.watch.Done()
	for {
		ev, err := getEvent(d.cm)
		if err != nil {
			d.fail(&DeviceError{"rdma_cm", err})
			return
		}
		if e := d.find(ev.UID); (e == nil || !e.take(ev)) && ev.Type == ucma.ConnectRequest {
			d.refuse(ev.ID)
		}
	}
}

// refuse refuses a peer's request.
func (d *Device) refuse(id uint32) {
	r := ucma.Rejection{ID: id}
	_, _ = command(d.cm, ucma.Reject, 0, func(uint64) []byte { return r.AppendTo(nil) }) // DESTROY_ID has the same effect
	d.destroyID(id)
}

func (d *Device) destroyID(id uint32) {
	_, _ = command(d.cm, ucma.DestroyID, 4, func(at uint64) []byte { // if it fails, closing the file destroys the id
		return ucma.Numbers{Response: at, ID: id}.AppendAnswered(nil)
	})
}

// queueEvent is the Op of a DeviceError that only one connection has.
const queueEvent = "asynchronous event of a queue"

// readAsync takes asynchronous events until the device is closed. Events that are errors end the
// object that they are about; the others do not concern a connection.
func (d *Device) readAsync() {
	defer d.watch.Done()
	b := make([]byte, uverbs.AsyncLen)
	for {
		n, err := d.async.Read(b)
		if n == 0 && err == nil {
			err = io.EOF
		}
		if err != nil {
			d.fail(&DeviceError{"asynchronous events", err})
			return
		}
		handle, kind, err := uverbs.ParseAsyncEvent(b[:n])
		if err != nil {
			d.fail(&DeviceError{"asynchronous event", err})
			return
		}
		d.takeAsync(handle, kind)
	}
}

// takeAsync takes an asynchronous event of an object with a handle. The events of a queue pair
// report the end of its connection, which rdma_cm reports too, sooner or later: siw raises QP_FATAL
// when TCP fails while it sends, and for a Send of the peer that breaks the rules. A bad work
// request of this end gets a completion with an error.
func (d *Device) takeAsync(handle uint64, kind uverbs.EventType) {
	var err error
	switch kind {
	case uverbs.EventDeviceFatal:
		d.fail(&DeviceError{"asynchronous event", errors.New("the device has failed")})
		return
	case uverbs.EventQPFatal, uverbs.EventQPRequest, uverbs.EventQPAccess:
		err = ErrDisconnected
	case uverbs.EventCQError:
		err = &DeviceError{queueEvent, errors.New("the completion queue has failed")}
	default:
		return
	}
	if e := d.find(handle); e != nil {
		e.fail(err)
	}
}

// readLine returns the first line of a file.
func readLine(path string) (string, error) {
	b, err := os.ReadFile(path)
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line), err
}
