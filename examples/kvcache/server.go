// Package kvcache is an example: a cache whose GETs are one-sided reads.
//
// The server keeps a hash table of fixed size in registered memory. A client's SET is a message to
// the server, which writes the entry. A GET is one RDMA Read of the bucket that contains the key.
// The server's program takes no part in a GET: it parses no request, wakes no goroutine, and does
// not notice the GET.
//
// # What a one-sided read guarantees
//
// An RDMA Read guarantees that each byte is right: CRC32C has been checked, and the byte had this
// value at some time between the call and its return. It does not guarantee that all bytes had
// their values at the same time. A Read is answered in segments, and each segment is copied out of
// the memory separately. RFC 5040 does not say in which order the bytes of the source are fetched.
// So a reader must be able to see whether an entry is complete: the entry has its version at both
// ends and a checksum in between. The server makes the first version odd, writes the rest, and
// makes the first version even again. A reader that finds an odd version, two different versions or
// a wrong checksum has read during a SET, and reads again.
//
// If the bytes were fetched in a known order, the versions alone would be enough; the checksum
// works in any order. A torn entry is taken as complete only if its versions agree and its CRC32C
// matches by chance, which happens for one torn entry in 2^32.
//
// In the server's process, the writes use [ddp.Region.Store], which never copies at the same time
// as the connection. So the server has no data race in Go's sense. Between two rddp ends this also
// makes a write atomic if it fits into one segment, and an entry would need only one Store. A
// reader must not rely on that, because the connection chooses the length of segments.
//
// So a GET returns a value that the key had at some time during the GET, or reports that the key
// had none. A GET of any client that begins after the answer to a SET returns that value or a later
// one.
//
// # How a server stops
//
// Shutdown tells the clients by CloseWrite, and lends the table until each of them has closed its
// connection, so no GET fails. It answers a SET that it has executed, and executes none that it
// does not answer. So a client whose SET has no answer before the end of the stream may send it
// again. It dials again: the next server may be at the same address.
//
// # What it does not have
//
// A GET leaves no trace at the server. So the server has no statistics of GETs, and a full bucket
// drops its oldest entry, not the least used one. Every client that may GET may read the whole
// table.
package kvcache

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/rnic"
)

// A Server holds the table. Its methods may be called from any goroutine.
type Server struct {
	config  *extsock.Config
	shared  shared
	stops   context.Context // done when clients are told to go
	stop    context.CancelFunc
	ends    context.Context // done when connections are cut
	cut     context.CancelFunc
	clients sync.WaitGroup

	entering sync.Mutex // no client is added once stops is done

	mu sync.Mutex
	// written only through shared
	table []byte // +checklocks:mu
	// the newest, even
	version uint64 // +checklocks:mu

	halfway func() // called by tests when a slot is half written
}

// NewServer makes a server with an empty table of the given number of buckets, each with 4 entries.
// cfg may be nil. If cfg.TLS is not nil, clients must use TLS. Its ClientAuth determines whether
// they need a certificate; if not, every host that can connect may read and change the table. If
// cfg.Backend has a device, the table is registered with the device. The server makes its own copy
// of cfg.
func NewServer(buckets int, cfg *extsock.Config) (*Server, error) {
	config := new(extsock.Config)
	if cfg != nil {
		*config = *cfg
	}
	config.Startup = extsock.StartupRequire
	newTable := inProcess
	if hasDevice(config.Backend) {
		newTable = onDevice
	}
	shared, table, err := newTable(config, buckets*bucketLen)
	if err != nil {
		return nil, fmt.Errorf("kvcache: %w", err)
	}
	s := &Server{config: config, shared: shared, table: table}
	s.stops, s.stop = context.WithCancel(context.Background())
	s.ends, s.cut = context.WithCancel(context.Background())
	return s, nil
}

// hasDevice reports whether connections of b can be on a device now.
func hasDevice(b toe.Backend) bool {
	d, ok := b.(rnic.Deviced)
	if !ok {
		return false
	}
	_, err := d.Device()
	return err == nil
}

// Listen opens the server's address.
func (s *Server) Listen(address string) (*extsock.Listener, error) {
	return extsock.Listen("tcp", address, s.config)
}

// Serve serves the connections that l accepts until l is closed, which Shutdown and Close also do,
// and returns when the last one has ended.
func (s *Server) Serve(l net.Listener) error {
	defer context.AfterFunc(s.stops, func() { l.Close() })()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		c, err := l.Accept()
		var passes interface{ Temporary() bool }
		switch {
		case err == nil:
			if !s.enter() {
				c.Close()
				continue
			}
			clients.Go(func() {
				defer s.clients.Done()
				defer c.Close()
				defer context.AfterFunc(s.ends, func() { c.Close() })()
				s.serve(c) // the client notices the error
			})
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.As(err, &passes) && passes.Temporary(): // for example, too many files are open
			time.Sleep(100 * time.Millisecond)
		default:
			return err
		}
	}
}

// enter counts a client, unless the server stops.
func (s *Server) enter() bool {
	s.entering.Lock()
	defer s.entering.Unlock()
	if s.stops.Err() != nil {
		return false
	}
	s.clients.Add(1)
	return true
}

// serve sends a client the table's handle and executes its SETs:
//
//	Key Len (1)  Value Len (2)  Key  Value      answered by 1 byte, 0, when the entry is in the table
//
// When the server stops, it ends its direction of the stream, and discards SETs until the client
// has closed the connection.
func (s *Server) serve(c net.Conn) error {
	h, err := s.shared.handle(c)
	if err != nil {
		return err
	}
	if _, err := c.Write(h.AppendTo(nil)); err != nil {
		return err
	}
	var answering sync.Mutex
	stopped := false // under answering
	defer context.AfterFunc(s.stops, func() {
		answering.Lock()
		defer answering.Unlock()
		stopped = true
		if w, ok := c.(interface{ CloseWrite() error }); ok {
			w.CloseWrite()
		}
	})()
	answer := func(key string, value []byte) error {
		answering.Lock()
		defer answering.Unlock()
		if stopped {
			return nil
		}
		if err := s.Set(key, value); err != nil {
			return err
		}
		_, err := c.Write([]byte{0})
		return err
	}
	r := bufio.NewReader(c)
	var lengths [3]byte
	entry := make([]byte, MaxKey+MaxValue)
	for {
		if _, err := io.ReadFull(r, lengths[:]); err != nil {
			return err
		}
		k, v := int(lengths[0]), int(binary.BigEndian.Uint16(lengths[1:]))
		if k > MaxKey || v > MaxValue {
			return ErrTooLong
		}
		if _, err := io.ReadFull(r, entry[:k+v]); err != nil {
			return err
		}
		if err := answer(string(entry[:k]), entry[k:k+v]); err != nil {
			return err
		}
	}
}

// ErrTooLong means that a key or a value is too long.
var ErrTooLong = errors.New("kvcache: key or value too long")

// Set puts an entry into the table. It replaces the entry with the same key, or the oldest entry of
// a full bucket. It does not keep value. When Set has returned, every later GET sees the entry or a
// later one.
func (s *Server) Set(key string, value []byte) error {
	if len(key) > MaxKey || len(value) > MaxValue {
		return ErrTooLong
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table == nil {
		return net.ErrClosed
	}
	at := s.placeLocked(key)
	s.version += 2
	var slot [slotLen]byte
	putSlot(slot[:], s.version, key, value)
	var odd [8]byte
	binary.BigEndian.PutUint64(odd[:], s.version-1)
	// While the version is odd, readers see that the slot is incomplete.
	if err := s.shared.store(at, odd[:]); err != nil {
		return fmt.Errorf("kvcache: %w", err)
	}
	if s.halfway != nil {
		s.halfway()
	}
	if err := s.shared.store(at+len(odd), slot[len(odd):]); err != nil {
		return fmt.Errorf("kvcache: %w", err)
	}
	if err := s.shared.store(at, slot[:len(odd)]); err != nil {
		return fmt.Errorf("kvcache: %w", err)
	}
	return nil
}

// placeLocked returns the position of the slot for a key in the table.
//
// +checklocks:s.mu
func (s *Server) placeLocked(key string) int {
	bucket := bucketOf(key, len(s.table))
	oldest, at := ^uint64(0), 0
	for i := bucket; i < bucket+bucketLen; i += slotLen {
		version, k, _, _ := getSlot(s.table[i:][:slotLen])
		if version != 0 && string(k) == key {
			return i
		}
		if version < oldest {
			oldest, at = version, i
		}
	}
	return at
}

// Shutdown stops the server in order: no GET or SET of its clients fails because of it. It closes
// the listeners, tells the clients, and waits until they have closed their connections. Then it
// takes the table back. If ctx is done first, it cuts the connections that are left and returns
// ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.entering.Lock()
	s.stop()
	s.entering.Unlock()
	cuts := context.AfterFunc(ctx, s.cut)
	s.clients.Wait()
	var err error
	if !cuts() {
		err = ctx.Err()
	}
	s.cut()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table == nil {
		return err
	}
	s.table = nil
	return errors.Join(err, s.shared.close())
}

// Close cuts the connections and takes the table back at once.
func (s *Server) Close() error {
	s.cut()
	return s.Shutdown(context.Background())
}
