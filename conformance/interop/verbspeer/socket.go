package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/verbs"
)

// sockets is the prefix of a DEVICE that is for extended sockets.
const sockets = "socket:"

// runSockets is run for extended sockets, whose end is on a device or in process. Both ends write
// their bytes at once, and compare the sums.
func runSockets(device, role string, addr netip.AddrPort, n, conns int) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cfg := &extsock.Config{Startup: extsock.StartupRequire, CloseTimeout: time.Minute}
	if conns > 1 {
		cfg.RecvDepth, cfg.RecvSize = 4, 4<<10
	}
	if device != "process" {
		b := &verbs.Backend{Name: strings.TrimPrefix(device, "any")}
		defer func() { err = errors.Join(err, b.Close()) }()
		cfg.Backend = b
	}
	connect := func() (*extsock.Conn, error) {
		return (&extsock.Dialer{Config: cfg}).DialDDP(ctx, "tcp", addr.String())
	}
	if role == "listen" {
		l, err := extsock.Listen("tcp", addr.String(), cfg)
		if err != nil {
			return err
		}
		defer l.Close()
		fmt.Println("listening on", l.Addr())
		connect = l.AcceptDDP
	}
	var all []*extsock.Conn
	began := time.Now()
	for range conns {
		c, err := connect()
		if err != nil {
			return fmt.Errorf("connection %d: %w", len(all), err)
		}
		if s := c.ConnectionState(); s.NoDevice != nil || !s.ByteStream {
			return fmt.Errorf("connection %d is not as it should be: %+v", len(all), s)
		}
		all = append(all, c)
	}
	fmt.Println(conns, "connections after", time.Since(began).Round(time.Millisecond))
	errs := make([]error, conns)
	var w sync.WaitGroup
	for i, c := range all {
		w.Go(func() { errs[i] = socketSession(ctx, c, role == "dial", n) })
	}
	w.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("equal SHA-256 both ways: %d connections, each %d bytes written and %d read, %v\n", conns, n, n, time.Since(began).Round(time.Millisecond))
	return nil
}

// socketSession writes n bytes and reads as many, both at once, and then compares sums with the peer.
// The end that has dialed closes first.
func socketSession(ctx context.Context, c *extsock.Conn, dialed bool, n int) error {
	seed := byte(1)
	if dialed {
		seed = 2
	}
	wrote, read := sha256.New(), sha256.New()
	done := make(chan error, 1)
	go func() {
		from := io.LimitReader(rand.NewChaCha8([32]byte{seed}), int64(n))
		_, err := io.CopyBuffer(struct{ io.Writer }{c}, io.TeeReader(from, wrote), make([]byte, 256<<10))
		done <- err
	}()
	_, err := io.CopyN(read, c, int64(n))
	if err := errors.Join(err, <-done); err != nil {
		return fmt.Errorf("streaming: %w", err)
	}
	if _, err := c.Write(read.Sum(nil)); err != nil {
		return fmt.Errorf("telling the sum: %w", err)
	}
	sum := make([]byte, sha256.Size)
	if _, err := io.ReadFull(c, sum); err != nil {
		return fmt.Errorf("hearing the sum: %w", err)
	}
	if string(sum) != string(wrote.Sum(nil)) {
		return errors.New("the sums differ")
	}
	if !dialed {
		if k, err := c.Read(sum); err != io.EOF { //nolint:errorlint // as Read returns it
			return fmt.Errorf("behind the end: %d, %w", k, err)
		}
	}
	return errors.Join(c.Close(), c.Wait(ctx))
}
