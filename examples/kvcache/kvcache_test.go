package kvcache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// asServer names an environment variable that makes this binary the server of TestTwoProcesses.
const asServer = "KVCACHE_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		serveForTest()
		return
	}
	testmode.Hurry()
	goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit))
}

// start runs a server until the test's end and returns its address.
func start(t *testing.T, buckets int, halfway func()) string {
	t.Helper()
	s, err := NewServer(buckets, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.halfway = halfway
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		s.Close()
	})
	return l.Addr().String()
}

func dial(t *testing.T, address string) *Client {
	t.Helper()
	c, err := Dial(prototest.TimeLimit(t), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s, _ := c.current(); s != nil {
			if !s.conn.ConnectionState().DDPMode {
				t.Error("the connection is in TCP mode")
			}
			s.operations.Done()
		}
		c.Close()
	})
	return c
}

func TestCache(t *testing.T) {
	address := start(t, 64, nil)
	ctx, a, b := prototest.TimeLimit(t), dial(t, address), dial(t, address)
	if _, err := b.Get(ctx, "key"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get from an empty cache: %v, want %v", err, ErrNotFound)
	}
	for _, value := range []string{"", "a", strings.Repeat("b", MaxValue), "short"} {
		for _, key := range []string{"", "key", strings.Repeat("k", MaxKey)} {
			if err := a.Set(ctx, key, []byte(value)); err != nil {
				t.Fatal(err)
			}
			if got, err := b.Get(ctx, key); err != nil || string(got) != value {
				t.Errorf("Get(%q) = %q, %v, want %q", key, got, err, value)
			}
		}
	}
	for _, tt := range []struct{ k, v int }{{MaxKey + 1, 0}, {0, MaxValue + 1}} {
		if err := a.Set(ctx, strings.Repeat("k", tt.k), make([]byte, tt.v)); !errors.Is(err, ErrTooLong) {
			t.Errorf("Set of %d and %d bytes: %v, want %v", tt.k, tt.v, err, ErrTooLong)
		}
	}
}

// TestCrowded: the server continues after an Accept that failed because too many files were open.
func TestCrowded(t *testing.T) {
	s, err := NewServer(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(&prototest.Crowded{Listener: l}) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		s.Close()
	})
	if err := dial(t, l.Addr().String()).Set(prototest.TimeLimit(t), "key", []byte("value")); err != nil {
		t.Error(err)
	}
}

// TestSetTooLate: a Set whose ctx is done before its turn sends nothing, returns ctx's error, and
// leaves the connection usable.
func TestSetTooLate(t *testing.T) {
	ctx, c := prototest.TimeLimit(t), dial(t, start(t, 1, nil))
	if err := c.Set(ctx, "key", []byte("in time")); err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.Set(late, "key", []byte("late")); !errors.Is(err, context.Canceled) {
		t.Errorf("Set: %v, want %v", err, context.Canceled)
	}
	if got, err := c.Get(ctx, "key"); err != nil || string(got) != "in time" {
		t.Errorf("Get = %q, %v", got, err)
	}
}

// TestOldestMakesWay fills a table of a single bucket.
func TestOldestMakesWay(t *testing.T) {
	ctx, c := prototest.TimeLimit(t), dial(t, start(t, 1, nil))
	for _, key := range []string{"a", "b", "c", "d", "a", "e"} {
		if err := c.Set(ctx, key, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"a", "c", "d", "e"} {
		if got, err := c.Get(ctx, key); err != nil || string(got) != key {
			t.Errorf("Get(%q) = %q, %v", key, got, err)
		}
	}
	if got, err := c.Get(ctx, "b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get of the oldest: %q, %v, want %v", got, err, ErrNotFound)
	}
}

// TestTornIsSeen mixes images of a slot from before, during and after a SET. It puts every run of
// bytes of one image into another, because the bytes of the source may be fetched in any order.
func TestTornIsSeen(t *testing.T) {
	before, after := make([]byte, slotLen), make([]byte, slotLen)
	putSlot(before, 4, "key", bytes.Repeat([]byte("old"), 20))
	putSlot(after, 10, "key", bytes.Repeat([]byte("new"), 40))
	odd := bytes.Clone(before)
	binary.BigEndian.PutUint64(odd, 9)
	ready := bytes.Clone(after) // except for the first version
	binary.BigEndian.PutUint64(ready, 9)
	images := [][]byte{before, odd, ready, after}
	torn := 0
	for i, first := range images {
		for j, second := range images {
			for from := 0; from <= slotLen; from += 4 {
				for to := from; to <= slotLen; to += 4 {
					s := bytes.Clone(first)
					copy(s[from:to], second[from:to])
					value, found, whole := find(s, "key")
					switch {
					case !found && whole:
						t.Fatalf("image %d with bytes %d to %d of %d: there is no such key", i, from, to, j)
					case found && !bytes.Equal(s, before) && !bytes.Equal(s, after):
						t.Fatalf("image %d with bytes %d to %d of %d: torn, and whole: %q", i, from, to, j, value)
					case !found:
						torn++
					}
				}
			}
		}
	}
	if torn == 0 {
		t.Error("no slot was torn")
	}
	putSlot(odd, 9, "key", nil)
	if _, _, _, whole := getSlot(odd); whole {
		t.Error("a slot of an odd version is whole")
	}
}

// TestGetWhileServerIsBusy stops the server's program in the middle of a SET. The GET of that key
// reads again until the SET is over; GETs of other buckets are not affected, since the program
// takes no part in them.
func TestGetWhileServerIsBusy(t *testing.T) {
	var busy atomic.Bool
	reached, goOn := make(chan struct{}), make(chan struct{})
	address := start(t, 64, func() {
		if busy.Load() {
			reached <- struct{}{}
			<-goOn
		}
	})
	ctx, setter, getter := prototest.TimeLimit(t), dial(t, address), dial(t, address)
	keys := []string{"key"}
	for i := 0; len(keys) < 20; i++ { // some in other buckets
		if k := fmt.Sprint("other ", i); bucketOf(k, 64*bucketLen) != bucketOf("key", 64*bucketLen) {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		if err := setter.Set(ctx, k, []byte("old")); err != nil {
			t.Fatal(err)
		}
	}
	busy.Store(true)
	set := make(chan error, 1)
	go func() { set <- setter.Set(ctx, "key", []byte("new")) }()
	select {
	case <-reached:
	case err := <-set:
		t.Fatalf("Set: %v", err)
	}
	for _, k := range keys[1:] {
		if got, err := getter.Get(ctx, k); err != nil || string(got) != "old" {
			t.Errorf("Get(%q) = %q, %v", k, got, err)
		}
	}
	type answer struct {
		value []byte
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := getter.Get(ctx, "key")
		answers <- answer{value, err}
	}()
	for getter.Again() < 3 && ctx.Err() == nil {
		select {
		case a := <-answers:
			t.Fatalf("Get in the middle of a SET = %q, %v", a.value, a.err)
		default: // the next Read has begun
			runtime.Gosched()
		}
	}
	close(goOn)
	if a := <-answers; a.err != nil || string(a.value) != "new" {
		t.Errorf("Get after the SET = %q, %v", a.value, a.err)
	}
	if err := <-set; err != nil {
		t.Errorf("Set: %v", err)
	}
}

// TestConcurrent runs many GETs and SETs of few keys at once. No GET returns the value of another
// key, a value that was never set, or a value older than the current one when the GET began.
func TestConcurrent(t *testing.T) {
	const writers, readers, rounds = 2, 4, 150
	address := start(t, 2, nil)
	ctx := prototest.TimeLimit(t)
	keys := []string{"a", "b", "c", "d"}      // as many as one bucket holds, so none is dropped
	answered := make([]atomic.Int64, writers) // the newest round whose SETs have been answered

	// Each writer has its own keys. The value of a key in a round is the number of the round,
	// followed by the key many times.
	value := func(key string, round int) []byte {
		b := binary.BigEndian.AppendUint64(nil, uint64(round))
		return append(b, strings.Repeat(key, MaxValue-8-round%50)...)
	}
	var writing, reading sync.WaitGroup
	over := make(chan struct{})
	for w := range writers {
		c := dial(t, address)
		writing.Go(func() {
			for round := 1; round <= rounds; round++ {
				for k := w; k < len(keys); k += writers {
					if err := c.Set(ctx, keys[k], value(keys[k], round)); err != nil {
						t.Errorf("Set: %v", err)
						return
					}
				}
				answered[w].Store(int64(round))
			}
		})
	}
	var gets, again atomic.Int64
	for range readers {
		c := dial(t, address)
		reading.Go(func() {
			defer func() { again.Add(c.Again()) }()
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				k := n % len(keys)
				oldest := answered[k%writers].Load()
				got, err := c.Get(ctx, keys[k])
				if errors.Is(err, ErrNotFound) && oldest == 0 {
					continue
				}
				if err != nil {
					t.Errorf("Get(%q): %v", keys[k], err)
					return
				}
				round := int(binary.BigEndian.Uint64(got))
				if int64(round) < oldest || !bytes.Equal(got, value(keys[k], round)) {
					t.Errorf("Get(%q) = %q, round %d or later expected", keys[k], got, oldest)
					return
				}
				gets.Add(1)
			}
		})
	}
	writing.Wait()
	close(over)
	reading.Wait()
	t.Logf("%d GETs next to %d SETs; %d reads were made again", gets.Load(), rounds*len(keys), again.Load())
	c := dial(t, address)
	for _, k := range keys {
		if got, err := c.Get(ctx, k); err != nil || !bytes.Equal(got, value(k, rounds)) {
			t.Errorf("in the end Get(%q) = %q, %v", k, got, err)
		}
	}
}

// TestTwoProcesses has the server in another process, as in practice, and then kills it.
func TestTwoProcesses(t *testing.T) {
	ctx := prototest.TimeLimit(t)
	server := exec.CommandContext(ctx, os.Args[0])
	server.Env = append(os.Environ(), asServer+"=1")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var address string
	if _, err := fmt.Fscanln(out, &address); err != nil {
		t.Fatal(err)
	}
	a, b := dial(t, address), dial(t, address)
	for i := range 200 {
		key, value := fmt.Sprint("key ", i), fmt.Appendf(nil, "value %d", i)
		if err := a.Set(ctx, key, value); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Get(ctx, key); err != nil || !bytes.Equal(got, value) {
			t.Fatalf("Get(%q) = %q, %v", key, got, err)
		}
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	server.Wait() // it returns an error since the process was killed
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if got, err := b.Get(short, "key 7"); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("Get without a server = %q, %v", got, err)
	}
}

// serveForTest is the server's process: it prints its address, and serves until it is killed.
func serveForTest() {
	s, err := NewServer(1024, nil)
	if err != nil {
		log.Fatal(err)
	}
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	log.Fatal(s.Serve(l))
}

// serveAt runs a server with an entry at an address.
func serveAt(t *testing.T, address, key, value string) (s *Server, at string, served chan error) {
	t.Helper()
	s, err := NewServer(8, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set(key, []byte(value)); err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	served = make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return s, l.Addr().String(), served
}

// TestShutdown stops servers while clients GET and SET, and starts the next one at the same
// address. No operation fails, no SET that was answered is lost, and no connection counts as
// failed.
func TestShutdown(t *testing.T) {
	const restarts, clients = 4, 3
	ctx, before := prototest.TimeLimit(t), extsock.TotalStats()
	server, address, served := serveAt(t, "127.0.0.1:0", "key", "0")
	var working sync.WaitGroup
	over := make(chan struct{})
	type state struct{ begun, answered atomic.Int64 }
	var states [clients]state
	var all [clients]*Client
	for i := range clients {
		all[i] = dial(t, address)
		key := fmt.Sprint("own ", i)
		working.Go(func() {
			for n := int64(1); ; n++ {
				select {
				case <-over:
					return
				default:
				}
				states[i].begun.Store(n)
				if err := all[i].Set(ctx, key, binary.BigEndian.AppendUint64(nil, uint64(n))); err != nil {
					t.Errorf("Set: %v", err)
					return
				}
				states[i].answered.Store(n)
			}
		})
		working.Go(func() {
			for oldest := "0"; ; {
				select {
				case <-over:
					return
				default:
				}
				got, err := all[i].Get(ctx, "key")
				if err != nil || string(got) < oldest {
					t.Errorf("Get = %q, %v after %q", got, err, oldest)
					return
				}
				oldest = string(got)
			}
		})
	}
	for restart := 1; restart <= restarts; restart++ {
		for goal := states[0].answered.Load() + 20; states[0].answered.Load() < goal && ctx.Err() == nil; {
			runtime.Gosched()
		}
		server.mu.Lock()
		slots := server.table // it is not lent any more when it is looked at
		server.mu.Unlock()
		if err := errors.Join(server.Shutdown(ctx), <-served); err != nil {
			t.Fatal(err)
		}
		for i := range clients { // if this server has executed a SET of the client, the last answer is one of its own
			value, found, whole := find(slots[bucketOf(fmt.Sprint("own ", i), len(slots)):][:bucketLen], fmt.Sprint("own ", i))
			if n := states[i].answered.Load(); !whole || found && int64(binary.BigEndian.Uint64(value)) < n {
				t.Errorf("the table has SET %d of client %d, which has the answer to %d", binary.BigEndian.Uint64(value), i, n)
			}
		}
		server, _, served = serveAt(t, address, "key", fmt.Sprint(restart))
	}
	for i := range clients { // each goes on with the last one
		for {
			got, err := all[i].Get(ctx, "key")
			if err != nil {
				t.Fatal(err)
			}
			if string(got) == fmt.Sprint(restarts) {
				break
			}
		}
	}
	close(over)
	working.Wait()
	for _, c := range all {
		c.Close()
	}
	if err := errors.Join(server.Shutdown(ctx), <-served); err != nil {
		t.Error(err)
	}
	after := extsock.TotalStats()
	if n, f := after.Sent.Terminates-before.Sent.Terminates, after.Failures-before.Failures; n != 0 || f != 0 {
		t.Errorf("%d Terminates and %d failures", n, f)
	}
}

// TestShutdownAnswers: a SET that the server executes while it stops is answered.
func TestShutdownAnswers(t *testing.T) {
	ctx := prototest.TimeLimit(t)
	s, address, served := serveAt(t, "127.0.0.1:0", "key", "old")
	reached, goOn := make(chan struct{}), make(chan struct{})
	s.halfway = func() {
		close(reached)
		<-goOn
	}
	c := dial(t, address)
	set := make(chan error, 1)
	go func() { set <- c.Set(ctx, "key", []byte("new")) }()
	<-reached
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(ctx) }()
	<-s.stops.Done()
	close(goOn)
	if err := <-set; err != nil {
		t.Errorf("Set: %v", err)
	}
	if err := errors.Join(<-stopped, <-served); err != nil {
		t.Error(err)
	}
}

// TestShutdownTooLong: a client that does not close its connection is cut when ctx is done.
func TestShutdownTooLong(t *testing.T) {
	s, address, served := serveAt(t, "127.0.0.1:0", "key", "value")
	conn, err := new(extsock.Dialer).DialDDP(prototest.TimeLimit(t), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, extsock.HandleLen)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(ctx) }()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("Read while the server stops: %v", err)
	}
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestClose: after the server's Close, a client that cannot dial again says so, and a later SET at
// the server fails.
func TestClose(t *testing.T) {
	ctx := prototest.TimeLimit(t)
	s, address, served := serveAt(t, "127.0.0.1:0", "key", "value")
	conn, err := new(extsock.Dialer).DialDDP(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(ctx, conn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := c.Get(ctx, "key"); err != nil || string(got) != "value" {
		t.Errorf("Get = %q, %v", got, err)
	}
	if err := errors.Join(s.Close(), <-served); err != nil {
		t.Error(err)
	}
	if got, err := c.Get(ctx, "key"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Get after Close = %q, %v", got, err)
	}
	if err := s.Set("key", nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the server's Set after Close: %v", err)
	}
}
