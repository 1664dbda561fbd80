package extsock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/devicetest"
	"github.com/rddp/rddp/rdmap"
)

// TestZeroValues: the zero values that a program has after an error that it ignored return a typed
// error, do nothing, or panic as their comments say.
func TestZeroValues(t *testing.T) {
	var access *ddp.AccessError
	if w, err := (extsock.Region{}).Window(0, 1, ddp.RemoteRead); !errors.As(err, &access) || w != (extsock.Region{}) {
		t.Errorf("a window of the zero Region: %v, %v", w, err)
	}
	(extsock.Region{}).Deregister()
	if _, err := new(extsock.RemoteMemory).ReadAt(nil, 0); err != syscall.EINVAL { //nolint:errorlint // as package net returns it
		t.Errorf("ReadAt of the zero RemoteMemory: %v", err)
	}
	if n := new(extsock.CompletionQueue).Poll(make([]rdmap.Completion, 1)); n != 0 {
		t.Errorf("Poll of the zero CompletionQueue: %d", n)
	}
	for name, f := range map[string]func(){
		"Region.Handle": func() { (extsock.Region{}).Handle() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of the zero value does not panic, and its comment says so", name)
				}
			}()
			f()
		}()
	}
}

// callZero calls a method with zero arguments, and returns the results. If the method panics, the
// result is an error that says so.
func callZero(v any, m reflect.Method) (results []any) {
	defer func() {
		if r := recover(); r != nil {
			results = []any{fmt.Errorf("panic: %v", r)}
		}
	}()
	in := []reflect.Value{reflect.ValueOf(v)}
	for i := 1; i < m.Type.NumIn(); i++ {
		in = append(in, reflect.Zero(m.Type.In(i)))
	}
	for _, r := range m.Func.Call(in) {
		results = append(results, r.Interface())
	}
	return results
}

// TestMethodsAreThoseOfNet: Conn and Listener have the methods of package net's types, except those
// that PORTING.md excludes, and the methods of the zero values return the same.
func TestMethodsAreThoseOfNet(t *testing.T) {
	excluded := []string{
		"AcceptTCP", "AcceptUnix", // they return types of package net
		"ReadFromUnix", "ReadMsgUnix", "WriteMsgUnix", "WriteToUnix", // for datagrams, and for control messages
	}
	for _, pair := range []struct{ of, ours any }{
		{new(net.TCPConn), new(extsock.Conn)}, {new(net.TCPListener), new(extsock.Listener)},
		{new(net.UnixConn), new(extsock.Conn)}, {new(net.UnixListener), new(extsock.Listener)},
		{(*net.TCPListener)(nil), (*extsock.Listener)(nil)}, {(*net.UnixListener)(nil), (*extsock.Listener)(nil)},
	} {
		of, ours := reflect.TypeOf(pair.of), reflect.TypeOf(pair.ours)
		for i := range of.NumMethod() {
			m := of.Method(i)
			own, ok := ours.MethodByName(m.Name)
			if slices.Contains(excluded, m.Name) {
				if ok {
					t.Errorf("%v has the method %s, which this test excludes", ours, m.Name)
				}
				continue
			}
			if !ok {
				t.Errorf("%v has the method %s, %v has not", of, m.Name, ours)
				continue
			}
			if of.Elem().Name() == "UnixConn" && (m.Name == "ReadFrom" || m.Name == "WriteTo") {
				continue // of net.PacketConn; ours are those of io.ReaderFrom and io.WriterTo
			}
			if in, out := signature(m.Type), signature(own.Type); in != out {
				t.Errorf("%v.%s is %s, of %v %s", ours, m.Name, out, of, in)
			}
			want, got := callZero(pair.of, m), callZero(pair.ours, own)
			if len(want) == 0 {
				continue
			}
			if err, ok := want[len(want)-1].(error); ok && strings.HasPrefix(err.Error(), "panic") {
				continue
			}
			if !reflect.DeepEqual(want, got) {
				t.Errorf("%s of the zero %v returns %v, of %v %v", m.Name, ours, got, of, want)
			}
		}
	}
}

// signature returns the type of a method without its receiver.
func signature(t reflect.Type) string {
	var s []string
	for i := 1; i < t.NumIn(); i++ {
		s = append(s, t.In(i).String())
	}
	s = append(s, "->")
	for i := range t.NumOut() {
		s = append(s, t.Out(i).String())
	}
	return strings.Join(s, " ")
}

// TestZeroMethodsDoNotPanic: no method of the zero values panics, and none of nil pointers, unlike
// the methods of a nil net.TCPConn.
func TestZeroMethodsDoNotPanic(t *testing.T) {
	for _, v := range []any{new(extsock.Conn), new(extsock.Listener), (*extsock.Conn)(nil), (*extsock.Listener)(nil)} {
		kind := reflect.TypeOf(v)
		for i := range kind.NumMethod() {
			m := kind.Method(i)
			results := callZero(v, m)
			if len(results) == 0 {
				continue
			}
			err, is := results[len(results)-1].(error)
			if is && err != syscall.EINVAL { //nolint:errorlint // as package net returns it
				t.Errorf("%s of %T: %v", m.Name, v, err)
			}
			if last := m.Type.Out(m.Type.NumOut() - 1); last == reflect.TypeFor[error]() && !is {
				t.Errorf("%s of %T returns no error", m.Name, v)
			}
		}
	}
	if _, err := new(extsock.Conn).Remote(rdmap.Handle{Len: 8}).FetchAdd(context.Background(), 0, 1); err != syscall.EINVAL { //nolint:errorlint // as above
		t.Errorf("FetchAdd over the zero Conn: %v", err)
	}
}

// TestZeroMemory: the zero Memory can be closed, and cannot be shared.
func TestZeroMemory(t *testing.T) {
	m := new(extsock.Memory)
	if len(m.Bytes()) != 0 {
		t.Errorf("%d bytes", len(m.Bytes()))
	}
	if err := m.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, _ := devicePair(t, b)
		if r, err := m.Share(client); !errors.Is(err, errors.ErrUnsupported) || r != (extsock.Region{}) {
			t.Errorf("Share on a device = %v, %v", r, err)
		}
	})
	c, _ := tcpPair(t, side{}, side{})
	if r, err := m.Share(c); err == nil || r != (extsock.Region{}) {
		t.Errorf("Share in process = %v, %v", r, err)
	}
}
