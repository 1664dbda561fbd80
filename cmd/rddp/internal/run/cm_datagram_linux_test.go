//go:build amd64 || arm64

package run

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/run/cm"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// datagramsProgram is both ends of ids for datagrams. It asks which queue pair an id has, also when
// there is none.
func datagramsProgram([]string) error {
	d, err := newDialog()
	if err != nil {
		return err
	}
	d.space = guest.UDPSpace
	listener, port, err := d.listen(1, 2)
	if err != nil {
		return err
	}
	client := *d
	if client.cm, err = guest.OpenCM(); err != nil {
		return err
	}
	if err := errors.Join(newDatagramQP(d, listener), d.exchange(&client, port), d.refuseDatagrams(&client, port), d.repeat(port)); err != nil {
		return err
	}
	if err := d.outlive(&client, listener, port); err != nil {
		return err
	}
	id, err := client.routed(4, port)
	if err != nil {
		return err
	}
	if err := client.cm.Connect(id, guest.Param{QPN: d.qp.Num}); err != nil {
		return err
	}
	const noService = 1
	if e, err := client.cm.Want(4, guest.Unreachable); err != nil || e.Status != noService {
		return fmt.Errorf("nobody listens: %+v, %w", e, err)
	}
	return nil
}

// newDatagramQP makes the queue pair for an id, and moves it to RTS as librdmacm does.
func newDatagramQP(d *dialog, id uint32) (err error) {
	const ud = 4
	if d.qp, err = d.QP(guest.QPConfig{PD: d.pd, Send: d.cq, Recv: d.cq, Depth: 20, SGEs: 1, Type: ud}); err != nil {
		return err
	}
	only := func(mask uint32) func([]byte) {
		return func(in []byte) { binary.LittleEndian.PutUint32(in[68:], mask) }
	}
	const state, withPSN = 1, 1 | 1<<16
	return errors.Join(d.cm.InitQP(id, d.qp), d.qp.Modify(guest.RTR, [16]byte{}, 0, only(state)), d.qp.Modify(guest.RTS, [16]byte{}, 0, only(withPSN)))
}

// exchange asks for the queue pair of d, and sends it a datagram.
func (d *dialog) exchange(client *dialog, port uint16) error {
	id, err := client.routed(2, port)
	if err != nil {
		return err
	}
	if err := newDatagramQP(client, id); err != nil {
		return err
	}
	if err := client.cm.Connect(id, guest.Param{QPN: client.qp.Num, Data: "who is there?"}); err != nil {
		return fmt.Errorf("CONNECT: %w", err)
	}
	e, err := d.cm.Want(1, guest.ConnectRequest)
	if err != nil || e.Peer.Data != "who is there?" {
		return fmt.Errorf("request %+v, %w", e, err)
	}
	if src, _, device, err := d.cm.Ports(e.ID); err != nil || src != port || !device {
		return fmt.Errorf("the request is at port %d, device: %v, %w", src, device, err)
	}
	d.qp.PostRecv(7, d.mr.Part(0, 100))
	if err := d.cm.Accept(e.ID, 10, guest.Param{QPN: d.qp.Num, Data: "I am"}); err != nil {
		return fmt.Errorf("ACCEPT: %w", err)
	}
	answer, err := client.cm.Want(2, guest.Established)
	if err != nil || answer.Peer.Data != "I am" || answer.Peer.QPN != d.qp.Num {
		return fmt.Errorf("answer %+v, %w", answer, err)
	}
	ah, err := client.AH(client.pd, answer.Peer.GID)
	if err != nil {
		return err
	}
	copy(client.mr.B[1000:], "hello")
	send := guest.WR{
		ID: 8, Op: guest.OpSend, Flags: guest.Signaled, To: &guest.To{QPN: answer.Peer.QPN, QKey: answer.Peer.QKey, AH: ah},
		List: []guest.SGE{client.mr.Part(1000, 5)},
	}
	if err := client.qp.Post(send); err != nil {
		return err
	}
	a, b := next(d.cq), next(d.cq) // in either order
	if a.Status != 0 || b.Status != 0 || a.ID+b.ID != 15 || string(d.mr.B[40:45]) != "hello" {
		return fmt.Errorf("completions %+v and %+v of %q", a, b, d.mr.B[40:45])
	}
	if err := client.cm.Disconnect(id); err != syscall.EINVAL {
		return fmt.Errorf("DISCONNECT without a connection: %w", err)
	}
	n, err := client.cm.DestroyID(id)
	if n != 3 || err != nil {
		return fmt.Errorf("the id has had %d events, %w", n, err)
	}
	_, err = d.cm.DestroyID(e.ID)
	return err
}

// refuseDatagrams refuses a question twice: the program rejects it, and the id is destroyed.
func (d *dialog) refuseDatagrams(client *dialog, port uint16) error {
	for _, private := range []string{"no", ""} {
		id, err := client.routed(3, port)
		if err != nil {
			return err
		}
		if err := client.cm.Connect(id, guest.Param{QPN: client.qp.Num}); err != nil {
			return err
		}
		e, err := d.cm.Want(1, guest.ConnectRequest)
		if err != nil {
			return err
		}
		if private != "" {
			err = d.cm.Reject(e.ID, private)
		}
		if _, gone := d.cm.DestroyID(e.ID); err != nil || gone != nil {
			return errors.Join(err, gone)
		}
		const refused = 2
		if e, err = client.cm.Want(3, guest.Unreachable); err != nil || e.Status != refused || e.Peer.Data != private {
			return fmt.Errorf("%+v, %w; want a refusal with %q", e, err, private)
		}
	}
	return nil
}

// outlive accepts and rejects questions whose listener is gone.
func (d *dialog) outlive(client *dialog, listener uint32, port uint16) error {
	var ids [2]uint32
	var requests [2]guest.Event
	for i := range ids {
		var err error
		if ids[i], err = client.routed(uint64(5+i), port); err != nil {
			return err
		}
		if err := client.cm.Connect(ids[i], guest.Param{QPN: client.qp.Num}); err != nil {
			return err
		}
		if requests[i], err = d.cm.Want(1, guest.ConnectRequest); err != nil {
			return err
		}
	}
	if _, err := d.cm.DestroyID(listener); err != nil {
		return err
	}
	if err := d.cm.Accept(requests[0].ID, 12, guest.Param{QPN: d.qp.Num}); err != nil {
		return fmt.Errorf("ACCEPT without the listener: %w", err)
	}
	if e, err := client.cm.Want(5, guest.Established); err != nil || e.Peer.QPN != d.qp.Num {
		return fmt.Errorf("answer %+v without the listener, %w", e, err)
	}
	if err := d.cm.Reject(requests[1].ID, "late"); err != nil {
		return fmt.Errorf("REJECT without the listener: %w", err)
	}
	if e, err := client.cm.Want(6, guest.Unreachable); err != nil || e.Peer.Data != "late" {
		return fmt.Errorf("refusal %+v without the listener, %w", e, err)
	}
	return nil
}

// repeat asks like a peer whose datagrams get lost. The program gets a question once, and every
// copy of it gets the same answer. Other datagrams have no effect.
func (d *dialog) repeat(port uint16) error {
	peer, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(cm.Places(port)[0])})
	if err != nil {
		return err
	}
	defer peer.Close()
	ask := []byte("rddp SR1\x01" + "12345678" + "\x00\x00\x00\x00" + "again")
	answer := append([]byte(nil), ask...)
	answer[8] = 2
	for _, b := range [][]byte{{}, ask[:20], append([]byte("X"), ask[1:]...), answer, bytes.Repeat(ask, 30), ask, ask} {
		if _, err := peer.Write(b); err != nil {
			return err
		}
	}
	e, err := d.cm.Want(1, guest.ConnectRequest)
	if err != nil || e.Peer.Data != "again" {
		return fmt.Errorf("%+v, %w", e, err)
	}
	if err := d.cm.Accept(e.ID, 11, guest.Param{QPN: 0x123456, Data: "yes"}); err != nil {
		return err
	}
	if _, err := peer.Write(ask); err != nil {
		return err
	}
	want := "rddp SR1\x02" + "12345678" + "\x00\x12\x34\x56" + "yes"
	for range 2 {
		b := make([]byte, 1000)
		if n, err := peer.Read(b); err != nil || string(b[:n]) != want {
			return fmt.Errorf("answer %q, %w; want %q", b[:n], err, want)
		}
	}
	if d.cm.Pending() {
		return errors.New("a question was two events")
	}
	_, err = d.cm.DestroyID(e.ID)
	return err
}

func TestDatagramIDs(t *testing.T) {
	if err := under(performance(t, "datagrams")...).Run(); err != nil {
		t.Error(err)
	}
}
