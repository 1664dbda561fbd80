package driver

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// longMachine returns a machine in message mode, after A has written n messages of several segments
// each. b is the other end.
func longMachine(t *testing.T, n int) (m *machine, b *machineEnd, wrote []byte) {
	t.Helper()
	m = newMachine(false)
	b = m.ends[1]
	b.arrive(1 << 20) // the first FPDU
	for range n {
		wrote = append(wrote, m.ends[0].pattern(machineSize)...)
		m.ends[0].beginWrite(machineSize, 0)
		m.mustGoOn(t)
	}
	return m, b, wrote
}

func (m *machine) mustGoOn(t *testing.T) {
	t.Helper()
	if err := m.goOn(); err != nil {
		t.Fatal(err)
	}
}

// TestLongMessages: messages of several segments, which come together, go straight to the memory of
// the Reads that receive. Those of a program that does not come back go to memory of the pool.
func TestLongMessages(t *testing.T) {
	for _, tt := range []struct {
		name   string
		next   func(e *machineEnd)
		copied uint64
	}{
		{"the next Read receives", func(e *machineEnd) { e.beginRead(2*machineSize, true); e.arrive(1 << 20) }, 0},
		{"home goes on", func(e *machineEnd) { e.arrive(1 << 20); e.beginRead(2*machineSize, true) }, machineSize},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, b, wrote := longMachine(t, 2)
			b.beginRead(2*machineSize, true)
			b.arrive(200)
			if s := b.d.in.placingState(); s != placingLong || b.into[100] != wrote[100] {
				t.Fatalf("the message is placed %v", s)
			}
			m.mustGoOn(t)
			b.arrive(1 << 20)
			m.mustGoOn(t)
			if b.read != nil || b.d.rx.intake != intakePaused {
				t.Fatalf("a Read waits: %t, and the intake is %v", b.read != nil, b.d.rx.intake)
			}
			tt.next(b)
			m.mustGoOn(t)
			if n := b.d.count.Load(counters.Copied); n != tt.copied {
				t.Errorf("Reads have copied %d bytes, want %d", n, tt.copied)
			}
			if !bytes.Equal(b.got, wrote) {
				t.Errorf("B has read %d bytes, which are not what A has written", len(b.got))
			}
			if err := m.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLongMessageRetreats: a Read whose deadline passes in the middle of a message gets its memory
// back at once. The message changes it no more, and goes to the next Read whole.
func TestLongMessageRetreats(t *testing.T) {
	for arrived := range 8 {
		m, b, wrote := longMachine(t, 1)
		b.beginRead(2*machineSize, true)
		b.arrive(100 * (arrived + 1))
		m.mustGoOn(t)
		b.endRead(os.ErrDeadlineExceeded)
		m.mustGoOn(t)
		done := len(b.got) > 0
		for i := range b.into {
			b.into[i] = 0xee
		}
		b.arrive(1 << 20)
		m.mustGoOn(t)
		if n := bytes.Count(b.into, []byte{0xee}); n != len(b.into) {
			t.Errorf("after %d bytes: %d bytes of memory that is the program's have changed", 100*(arrived+1), len(b.into)-n)
		}
		if !done {
			b.beginRead(2*machineSize, true)
			m.mustGoOn(t)
		}
		if !bytes.Equal(b.got, wrote) {
			t.Errorf("after %d bytes: B has read %d bytes, which are not what A has written", 100*(arrived+1), len(b.got))
		}
		if err := m.end(); err != nil {
			t.Error(err)
		}
	}
}

// TestLongMessageNeedsRoom: a message of several segments goes to the memory of the pool if the
// Read may have no room for it. What the Read has no room for is for the next one.
func TestLongMessageNeedsRoom(t *testing.T) {
	m, b, wrote := longMachine(t, 1)
	for range 3 {
		b.beginRead(machineSize-1, true)
		b.arrive(1 << 20)
		m.mustGoOn(t)
	}
	if !bytes.Equal(b.got, wrote) {
		t.Errorf("B has read %d bytes, which are not what A has written", len(b.got))
	}
	if b.into[machineSize-1] != 0 {
		t.Error("the message goes on behind the memory of the Read")
	}
	if err := m.end(); err != nil {
		t.Error(err)
	}
}

// A gated Stream gives its peer no more than room bytes, until all is set.
type gated struct {
	toe.Stream
	room int
	all  wait.Latch
}

func (s *gated) TryWriteBatch(bufs [][]byte) (n int, err error) {
	for _, b := range bufs {
		if !s.all.IsSet() {
			b = b[:min(len(b), s.room)]
			s.room -= len(b)
		}
		k, err := s.Stream.TryWriteBatch([][]byte{b})
		if n += k; err != nil || k < len(b) {
			return n, err
		}
	}
	return n, nil
}

func (s *gated) WaitWritable() error {
	if s.room == 0 {
		<-s.all.Done()
	}
	return s.Stream.WaitWritable()
}

// TestDeadlineInALongMessage: a Read that receives returns at its deadline, even if a part of a
// message is in its memory.
func TestDeadlineInALongMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const size = 64 << 10
		sa, sb := simtoe.Pair(simtoe.Config{Window: 1 << 20}, simtoe.Config{Window: 1 << 20})
		out := &gated{Stream: sa, room: 1 << 20}
		a, b, end := messagePair(out, sb, size)
		var never wait.Deadline
		p := make([]byte, size)
		for range 50 { // until the receive role is free
			read := make(chan error, 1)
			go func() {
				_, err := b.Read(p, &never)
				read <- err
			}()
			synctest.Wait()
			if _, err := a.Write(make([]byte, 8), nil); err != nil {
				t.Fatal(err)
			}
			if err := <-read; err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if !b.role.isVacant() {
			t.Fatal("somebody reads")
		}
		out.room = size / 2
		message := bytes.Repeat([]byte{0xaa}, size)
		wrote := make(chan error, 1)
		go func() {
			_, err := a.Write(message, nil)
			wrote <- err
		}()
		var limit wait.Deadline
		limit.Then(b)
		limit.Set(time.Now().Add(time.Second))
		begin := time.Now()
		if _, err := b.Read(p, &limit); err != os.ErrDeadlineExceeded { //nolint:errorlint // as Read returns it
			t.Fatalf("Read = %v", err)
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("Read has returned after %v", d)
		}
		if p[0] != 0xaa {
			t.Error("the message did not go to the memory of the Read")
		}
		clear(p)
		out.all.Set()
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := bytes.Count(p, []byte{0}); n != size {
			t.Errorf("%d bytes of memory that is the program's have changed", size-n)
		}
		if n, err := b.Read(p, &never); err != nil || !bytes.Equal(p[:n], message) {
			t.Errorf("the next Read = %d, %v", n, err)
		}
		go end(a)
		end(b)
		time.Sleep(time.Hour)
	})
}
