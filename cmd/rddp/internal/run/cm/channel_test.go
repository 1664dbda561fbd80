//go:build linux

package cm

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A withheld is a program that withholds its memory from begun until over is closed.
type withheld struct{ begun, over chan struct{} }

func (w withheld) Read([]byte, uint64) error {
	close(w.begun)
	<-w.over
	return nil
}

func (w withheld) Channel(uint32) *Channel  { return nil }
func (w withheld) Site() check.Site         { return nil }
func (w withheld) IsThere(_, _ uint64) bool { return false }

var le = binary.LittleEndian

// TestWithheldMemory: a program withholds the memory for an event, or that of an option. Other
// programs get answers meanwhile, and it keeps its event.
func TestWithheldMemory(t *testing.T) {
	d, err := softrnic.New(softrnic.Config{Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m := New(Config{Device: d})
	defer m.Close()
	c := m.Open(1, "", func(bool) {})
	id := func() uint32 {
		_, out, e := c.Do(nil, ucma.CreateID, (&ucma.IDRequest{UID: 1, PortSpace: ucma.TCP}).AppendTo(nil), 16)
		n, err := ucma.ParseNumber(out)
		if e != 0 || err != nil {
			t.Fatal(e, err)
		}
		return n
	}
	othersWork := func(desc string) {
		t.Helper()
		done := make(chan syscall.Errno, 1)
		go func() {
			m.Objects()
			other := m.Open(2, "", func(bool) {})
			_, _, e := other.Do(nil, ucma.CreateID, (&ucma.IDRequest{UID: 1, PortSpace: ucma.TCP}).AppendTo(nil), 16)
			other.Close()
			done <- e
		}()
		prototest.Wait(t, desc, func() bool {
			select {
			case e := <-done:
				if e != 0 {
					t.Errorf("%s: %v", desc, e)
				}
				return true
			default:
				return false
			}
		})
	}
	resolve := func(n uint32) {
		r := ucma.Resolution{ID: n, Dst: ucma.Address{AddrPort: netip.MustParseAddrPort("127.0.0.1:7174")}}
		if _, _, e := c.Do(nil, ucma.ResolveAddr, r.AppendTo(nil, 0), 0); e != 0 {
			t.Fatal(e)
		}
	}
	one, two := id(), id()
	resolve(one)
	resolve(two)
	var order []uint32
	for _, result := range []syscall.Errno{syscall.EFAULT, 0, 0} {
		ok, e := c.Take(func(v *ucma.Event) syscall.Errno {
			order = append(order, v.ID)
			othersWork("while the memory for an event is withheld")
			return result
		})
		if !ok || e != result {
			t.Errorf("Take: %v, %v, want %v", ok, e, result)
		}
	}
	if want := [3]uint32{one, one, two}; len(order) != 3 || [3]uint32(order) != want {
		t.Errorf("events of %d, want %d", order, want)
	}
	if ok, _ := c.Take(func(*ucma.Event) syscall.Errno { return 0 }); ok {
		t.Error("an event more")
	}
	resolve(id())
	if ok, e := c.Take(func(v *ucma.Event) syscall.Errno {
		_, out, e := c.Do(nil, ucma.DestroyID, ucma.Numbers{ID: v.ID}.AppendAnswered(nil), 16)
		if n, _ := ucma.ParseNumber(out); e != 0 || n != 1 {
			t.Errorf("the end of an id whose event is on its way: %v, %d events, want 1", e, n)
		}
		return syscall.EFAULT
	}); !ok || e != syscall.EFAULT {
		t.Errorf("Take: %v, %v", ok, e)
	}
	if ok, _ := c.Take(func(*ucma.Event) syscall.Errno { return 0 }); ok {
		t.Error("an event of an id that is destroyed")
	}

	w, set := withheld{make(chan struct{}), make(chan struct{})}, make(chan syscall.Errno, 1)
	go func() {
		in := le.AppendUint32(le.AppendUint32(make([]byte, 8), one), ucma.LevelID)
		_, _, e := c.Do(w, ucma.SetOption, le.AppendUint32(le.AppendUint32(in, ucma.OptionTOS), 1), 0)
		set <- e
	}()
	<-w.begun
	othersWork("while the memory of an option is withheld")
	close(w.over)
	if e := <-set; e != 0 {
		t.Error(e)
	}

	// The end of a connection waits for accesses to the program's memory.
	slow := slowEnd{over: make(chan struct{}), begun: make(chan struct{})}
	m.mu.Lock()
	i := m.ids[one]
	i.state, i.wasThere, i.end = connected, true, slow
	m.mu.Unlock()
	go func() {
		_, _, e := c.Do(nil, ucma.Disconnect, le.AppendUint32(nil, one), 0)
		set <- e
	}()
	<-slow.begun
	othersWork("while a connection ends")
	close(slow.over)
	if e := <-set; e != 0 {
		t.Error(e)
	}
}

// A slowEnd is the end of a connection that ends from begun on, until over is closed.
type slowEnd struct {
	end
	begun, over chan struct{}
}

func (s slowEnd) Disconnect() {
	select {
	case <-s.over:
	case s.begun <- struct{}{}:
		<-s.over
	}
}
