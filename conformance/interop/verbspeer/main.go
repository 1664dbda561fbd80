// Command verbspeer is one end of a session that uses every operation of package verbs: over a
// device by that package, or in its own process by package extsock. The end that dials writes bytes
// into the other one's memory and reads as many out of it, and both compare their SHA-256.
//
//	verbspeer DEVICE listen ADDRESS BYTES CONNECTIONS
//	verbspeer DEVICE dial ADDRESS BYTES CONNECTIONS
//
// DEVICE is a name such as siw0, "any" for the first one, or "process".
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"log"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	slots = 8  // blocks in the memory of an end
	short = 64 // bytes of the longest Send
)

// block is the length of an RDMA Write or Read in bytes. With many connections it is shorter, so that
// their memory is little.
var block = 128 << 10

// limit ends a session that hangs.
const limit = 10 * time.Minute

// An engine makes connections.
type engine interface {
	dial(ctx context.Context, addr netip.AddrPort) (conn, error)
	listen(addr netip.AddrPort) (at netip.AddrPort, accept func(context.Context) (conn, error), err error)
	close() error
}

// A conn is one connection, whose calls wait until the operation is complete. The memory is of
// slots blocks.
type conn interface {
	memory() []byte // the peer may write and read it
	where() (key uint32, addr uint64)
	send(b []byte) error
	receive() ([]byte, error)
	// write writes the block of the own memory at off to the peer's, and read reads it.
	write(off, n int, key uint32, addr uint64) error
	read(off, n int, key uint32, addr uint64) error
	// nudge has something arrive at the peer. Any goroutine may call it.
	nudge()
	close() error
}

// nudgeAfter is when the end that dials nudges the other one. siw may leave unread what arrives right
// behind its answer, until more arrives.
const nudgeAfter = 100 * time.Millisecond

// A counter is a conn whose device has atomics. count adds to 8 bytes of the peer's memory, and
// returns what was there.
type counter interface {
	count(key uint32, addr, add uint64) (uint64, error)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 6 {
		log.Fatal("usage: verbspeer DEVICE listen|dial ADDRESS BYTES CONNECTIONS")
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		log.Fatal(err)
	}
}

func run(device, role, address, size, count string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	n, err1 := strconv.Atoi(size)
	conns, err2 := strconv.Atoi(count)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if conns > 1 {
		block = 4 << 10
	}
	e, err := open(device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	connect := func() (conn, error) { return e.dial(ctx, addr) }
	session := dialed
	if role == "listen" {
		at, accept, err := e.listen(addr)
		if err != nil {
			return err
		}
		fmt.Println("listening on", at)
		connect, session = func() (conn, error) { return accept(ctx) }, accepted
	}
	// All connections are there at the same time.
	var all []conn
	began := time.Now()
	for range conns {
		c, err := connect()
		if err != nil {
			return fmt.Errorf("connection %d: %w", len(all), err)
		}
		all = append(all, c)
	}
	fmt.Println(conns, "connections after", time.Since(began).Round(time.Millisecond))
	errs := make([]error, conns)
	var w sync.WaitGroup
	for i, c := range all {
		w.Go(func() { errs[i] = errors.Join(session(c, n), c.close()) })
	}
	w.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("equal SHA-256 both ways: %d connections, each %d bytes written and %d read, %v\n", conns, n, n, time.Since(began).Round(time.Millisecond))
	return nil
}

// A session is what an end knows while it runs.
type session struct {
	conn
	key  uint32 // of the peer's memory
	addr uint64
	n    int
	sum  hash.Hash
}

func (s *session) tell(values ...uint64) error {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return s.send(b)
}

func (s *session) hear(want int) ([]byte, error) {
	b, err := s.receive()
	if err == nil && len(b) != want {
		err = fmt.Errorf("a message of %d bytes instead of %d", len(b), want)
	}
	return b, err
}

// each calls do with where each block lies in the memory of both.
func (s *session) each(do func(off, n int) error) error {
	s.sum = sha256.New()
	for at := 0; at < s.n; at += block {
		if err := do(at/block%slots*block, min(block, s.n-at)); err != nil {
			return fmt.Errorf("at %d of %d: %w", at, s.n, err)
		}
	}
	return nil
}

// compare is told the peer's sum.
func (s *session) compare() error {
	b, err := s.hear(sha256.Size)
	if err != nil {
		return err
	}
	if string(b) != string(s.sum.Sum(nil)) {
		return errors.New("the sums differ")
	}
	return nil
}

// meet tells the peer where the memory is, and hears of the peer's.
func (s *session) meet(speaksFirst bool) error {
	key, addr := s.where()
	tell := func() error { return s.tell(uint64(key), addr) }
	hear := func() error {
		b, err := s.hear(16)
		if err != nil {
			return err
		}
		s.key, s.addr = uint32(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b[8:])
		return nil
	}
	if !speaksFirst {
		tell, hear = hear, tell
	}
	if err := tell(); err != nil {
		return err
	}
	return hear()
}

func dialed(c conn, n int) error {
	s := &session{conn: c, n: n}
	defer time.AfterFunc(nudgeAfter, c.nudge).Stop()
	if err := s.meet(true); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	r := rand.NewChaCha8([32]byte{1})
	err := s.each(func(off, n int) error {
		p := s.memory()[off:][:n]
		_, _ = r.Read(p) // it never fails
		s.sum.Write(p)
		if err := s.write(off, n, s.key, s.addr+uint64(off)); err != nil {
			return err
		}
		if err := s.tell(uint64(off)); err != nil {
			return err
		}
		_, err := s.hear(8)
		return err
	})
	if err == nil {
		err = s.compare()
	}
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	err = s.each(func(off, n int) error {
		if _, err := s.hear(8); err != nil {
			return err
		}
		p := s.memory()[off:][:n]
		clear(p)
		if err := s.read(off, n, s.key, s.addr+uint64(off)); err != nil {
			return err
		}
		s.sum.Write(p)
		return s.tell(uint64(off))
	})
	if err == nil {
		err = s.compare()
	}
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	sum, err := s.counted()
	if err != nil {
		return err
	}
	return s.tell(sum)
}

// counted counts in the peer's memory, if the device can. It returns what is there then.
func (s *session) counted() (sum uint64, err error) {
	c, ok := s.conn.(counter)
	if !ok {
		return 0, nil
	}
	for _, n := range []uint64{1, 41} {
		was, err := c.count(s.key, s.addr, n)
		if err != nil {
			return 0, fmt.Errorf("counting: %w", err)
		}
		sum = was + n
	}
	return sum, nil
}

func accepted(c conn, n int) error {
	s := &session{conn: c, n: n}
	if err := s.meet(false); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	err := s.each(func(off, n int) error {
		if _, err := s.hear(8); err != nil {
			return err
		}
		s.sum.Write(s.memory()[off:][:n])
		return s.tell(uint64(off))
	})
	if err == nil {
		err = s.send(s.sum.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("being written to: %w", err)
	}
	r := rand.NewChaCha8([32]byte{2})
	err = s.each(func(off, n int) error {
		p := s.memory()[off:][:n]
		_, _ = r.Read(p) // it never fails
		s.sum.Write(p)
		if err := s.tell(uint64(off)); err != nil {
			return err
		}
		_, err := s.hear(8)
		return err
	})
	if err == nil {
		err = s.send(s.sum.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("being read: %w", err)
	}
	b, err := s.hear(8) // so that nobody closes before the other one has all
	if err != nil {
		return fmt.Errorf("the end: %w", err)
	}
	if sum := binary.LittleEndian.Uint64(b); sum != 0 && sum != binary.NativeEndian.Uint64(s.memory()) {
		return fmt.Errorf("the peer has counted %d, and there is %d", sum, binary.NativeEndian.Uint64(s.memory()))
	}
	return nil
}
