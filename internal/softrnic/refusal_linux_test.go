//go:build amd64 || arm64

package softrnic

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// TestRefusals: a command that the device refuses says which rule it breaks, in the words of verbs.
func TestRefusals(t *testing.T) {
	p := newProgram(t, newDevice(t))
	q := p.qp(nil)
	in := func(x interface{ AppendTo([]byte) []byte }) []byte { return x.AppendTo(nil) }
	init := uverbs.Change{Handle: q.Handle, Mask: uverbs.MaskState | uverbs.MaskPKey | uverbs.MaskPort | uverbs.MaskAccess, To: uverbs.Attributes{State: uverbs.Init, Port: 1}}
	rtr := uverbs.Change{
		Handle: q.Handle,
		Mask:   uverbs.MaskState | uverbs.MaskAddress | uverbs.MaskMTU | uverbs.MaskDestQPN | uverbs.MaskRQPSN | uverbs.MaskMaxDestRead | uverbs.MaskMinRNRTimer,
		To:     uverbs.Attributes{State: uverbs.RTR, MTU: 3, Address: uverbs.Address{Global: true, DGID: p.gid}},
	}
	to := func(c uverbs.Change, change func(*uverbs.Change)) []byte {
		change(&c)
		return c.AppendTo(nil)
	}
	changed := func(m uverbs.MemoryRegion) []byte { return m.AppendTo(nil) }
	for _, tt := range []struct {
		cmd  uverbs.Command
		in   []byte
		e    syscall.Errno
		rule string
	}{
		{uverbs.ModifyQP, to(init, func(c *uverbs.Change) { c.Mask &^= uverbs.MaskPort | uverbs.MaskAccess }), syscall.EINVAL, "RESET to INIT: IBV_QP_ACCESS_FLAGS, IBV_QP_PORT are missing"},
		{uverbs.ModifyQP, to(init, func(c *uverbs.Change) { c.Mask |= uverbs.MaskTimeout }), syscall.EINVAL, "RESET to INIT: IBV_QP_TIMEOUT may not be set"},
		{uverbs.ModifyQP, to(init, func(c *uverbs.Change) { c.To.Port = 2 }), syscall.EINVAL, "port_num 2: there is only port 1"},
		{uverbs.ModifyQP, to(init, func(c *uverbs.Change) { c.To.PKey = 7 }), syscall.EINVAL, "pkey_index 7: the device has at most 0"},
		{uverbs.ModifyQP, in(&rtr), syscall.EINVAL, "RESET to RTR: there is no such transition of a queue pair of type RC"},
		{uverbs.ModifyQP, in(&init), 0, ""},
		{uverbs.ModifyQP, to(rtr, func(c *uverbs.Change) { c.Mask &^= uverbs.MaskMinRNRTimer }), syscall.EINVAL, "INIT to RTR: IBV_QP_MIN_RNR_TIMER is missing"},
		{uverbs.ModifyQP, to(rtr, func(c *uverbs.Change) { c.To.Address.Global = false }), syscall.EINVAL, "ah_attr.is_global is 0: as over RoCE, an address is a GID, which needs a GRH"},
		{uverbs.ModifyQP, to(rtr, func(c *uverbs.Change) { c.To.Address.SGIDIndex = 200 }), syscall.EINVAL, "sgid_index 200: the table of GIDs has 1"},
		{uverbs.ModifyQP, to(rtr, func(c *uverbs.Change) { c.To.MTU = 6 }), syscall.EINVAL, "path_mtu 6: the device has at most 5"},
		{uverbs.ModifyQP, in(&uverbs.Change{Handle: 4711}), syscall.EINVAL, "there is no QP with handle 4711"},
		{uverbs.CreateCQ, in(&uverbs.CQ{CQE: 1 << 30, Channel: -1}), syscall.EINVAL, fmt.Sprintf("cqe 1073741824: the device has 1 to %d", limits.MaxCQE)},
		{uverbs.CreateCQ, in(&uverbs.CQ{CQE: 1, Channel: 7}), syscall.EBADF, "descriptor 7 is not a completion channel of this context"},
		{uverbs.CreateQP, in(&uverbs.QP{PD: p.pd, SendCQ: p.cq.Handle, RecvCQ: p.cq.Handle, Type: uverbs.RC, Caps: uverbs.Caps{MaxSendSGE: 99}}), syscall.EINVAL, fmt.Sprintf("max_send_sge 99: the device has %d", limits.MaxSGE)},
		{uverbs.CreateQP, in(&uverbs.QP{Type: uverbs.XRC}), syscall.EOPNOTSUPP, "the device has no queue pair of type XRC with flags 0x0"},
		{uverbs.RegMR, changed(uverbs.MemoryRegion{PD: p.pd, Start: 4096, Len: 10}), syscall.EFAULT, "10 bytes at 0x1000: the program does not have all of that memory, or may not write it (writes: false)"},
		{uverbs.RegMR, changed(uverbs.MemoryRegion{PD: p.pd, Start: 4096}), syscall.EINVAL, "the length is 0"},
		{uverbs.RegMR, changed(uverbs.MemoryRegion{PD: p.pd, Access: uverbs.RemoteWrite}), syscall.EINVAL, "access 0x2: IBV_ACCESS_REMOTE_WRITE and IBV_ACCESS_REMOTE_ATOMIC need IBV_ACCESS_LOCAL_WRITE"},
		{uverbs.DeallocPD, words(p.pd), syscall.EBUSY, "the PD is in use by 2 objects"},
	} {
		_, _, err := p.ctx.Do(p, tt.cmd, tt.in, nil)
		r := (*uverbs.Refusal)(nil)
		if tt.e == 0 {
			if err != nil {
				t.Errorf("%v: %v", tt.cmd, err)
			}
			continue
		}
		want := tt.rule
		if tt.cmd == uverbs.ModifyQP && want[0] != 't' {
			want = fmt.Sprintf("qp_num %d, %s", q.Num, want)
		}
		if !errors.As(err, &r) || r.Rule != want || uverbs.ErrnoOf(err) != tt.e {
			t.Errorf("%v: %v\nwant %v: %s", tt.cmd, err, tt.e, want)
		}
	}
}

// TestExplanations: for an access that memory does not allow, the device says what is wrong with
// the key, the address or the rights.
func TestExplanations(t *testing.T) {
	p := newProgram(t, newDevice(t))
	other, err := p.PD()
	if err != nil {
		t.Fatal(err)
	}
	memory := pages(t, 8192)
	register := func(pd, access uint32) guest.MR {
		m, err := p.Register(pd, memory, access)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	foreign, readOnly, gone := register(other, guest.All), register(p.pd, 0), register(p.pd, guest.All)
	if err := p.Free(uint32(uverbs.DeregMR), gone.Handle); err != nil {
		t.Fatal(err)
	}
	p.ctx.mu.Lock()
	pd := p.ctx.pds[p.pd]
	p.ctx.mu.Unlock()
	window := pd.addWindow(&memoryWindow{pd: pd, kind: 2})
	mr := fmt.Sprintf("the memory region, %d bytes at %#x", memoryLen, p.mr.Addr)
	for _, tt := range []struct {
		key     uint32
		addr, n uint64
		right   uverbs.Access
		want    string
	}{
		{p.mr.Key, p.mr.Addr - 3, 8, uverbs.LocalWrite, "3 bytes in front of " + mr},
		{p.mr.Key, p.mr.Addr + memoryLen + 5, 8, uverbs.LocalWrite, "5 bytes beyond " + mr},
		{p.mr.Key, p.mr.Addr + memoryLen - 5, 8, uverbs.LocalWrite, "the last 3 bytes are beyond " + mr},
		{readOnly.Key, readOnly.Addr, 8, uverbs.LocalWrite, "the memory region has no IBV_ACCESS_LOCAL_WRITE"},
		{readOnly.Key, readOnly.Addr, 8, uverbs.RemoteRead, "the memory region has no IBV_ACCESS_REMOTE_READ"},
		{foreign.Key, foreign.Addr, 8, 0, "belongs to another protection domain"},
		{gone.Key, 1, 8, 0, "the memory region with this key was deregistered "},
		{p.mr.Key + 1, p.mr.Addr, 8, 0, fmt.Sprintf("there is no memory region with this key; the key of the memory at that address is %#x", p.mr.Key)},
		{p.mr.Key + 1, 1, 8, 0, "there is no memory region with this key"},
		{bits.ReverseBytes32(p.mr.Key), 1, 8, 0, fmt.Sprintf("with its bytes in reverse order, %#x", p.mr.Key)},
		{window + 3, p.mr.Addr, 8, uverbs.RemoteRead, "the memory window that this key belongs to is not bound with it"},
	} {
		if got := pd.explain(tt.key, tt.addr, tt.n, tt.right); !strings.Contains(got, tt.want) {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
	q := p.qp(nil)
	p.ctx.mu.Lock()
	pair := p.ctx.qps[q.Handle]
	p.ctx.mu.Unlock()
	pair.mu.Lock()
	defer pair.mu.Unlock()
	for need, want := range map[ddp.Access][2]string{
		ddp.RemoteWrite:        {"an RDMA Write", "IBV_ACCESS_REMOTE_WRITE"},
		ddp.RemoteWrite | 1<<7: {"an RDMA Write", "IBV_ACCESS_REMOTE_WRITE"}, // with a right that no Region grants, as rdmap has it
		ddp.RemoteRead:         {"an RDMA Read", "IBV_ACCESS_REMOTE_READ"}, ddp.RemoteAtomic: {"an atomic", "IBV_ACCESS_REMOTE_ATOMIC"},
	} {
		denied := &ddp.AccessError{Code: ddp.CodeInvalidSTag, Denied: true, STag: ddp.STag(p.mr.Key), TO: p.mr.Addr, N: 8, Need: need}
		text := fmt.Sprintf("the peer asked for %s that is not allowed: rkey %#x, remote address %#x, 8 bytes: the queue pair has no %s", want[0], p.mr.Key, p.mr.Addr, want[1])
		if got := pair.explainRemoteLocked(denied, true); got != text {
			t.Errorf("%s\nwant %s", got, text)
		}
	}
}

// TestKeysForgotten: the book of keys remembers a bounded number of keys that are gone.
func TestKeysForgotten(t *testing.T) {
	var k keyBook
	pd := new(protectionDomain)
	for i := range uint32(3 * len(k.order)) {
		k.add(i, pd)
		k.remove(i, pd)
	}
	if len(k.live) != 0 || len(k.gone) != len(k.order) {
		t.Errorf("%d keys are registered, and %d are remembered", len(k.live), len(k.gone))
	}
}

// TestFailureIsTold: the log says which work request has failed, and why, before the program has
// its completion.
func TestFailureIsTold(t *testing.T) {
	d := newLogged(t)
	a, b := newProgram(t, d.Device), newProgram(t, newDevice(t))
	qa, qb := a.qp(nil), b.qp(nil)
	joinPair(t, a, b, qa, qb)
	if err := qa.Post(guest.WR{ID: 0x77, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(memoryLen-4, 8)}}); err != nil {
		t.Fatal(err)
	}
	a.want("the Send", 0x77, uverbs.LocalProtErr)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, want := range []string{
		`"work request failed"`, fmt.Sprintf("qpn=%d wr_id=0x77 opcode=Send length=8 why=", qa.Num), "the last 4 bytes are beyond the memory region", `status="local protection error"`,
	} {
		if !strings.Contains(d.log.String(), want) {
			t.Errorf("%s is missing in the log:\n%s", want, d.log.String())
		}
	}
}

// TestOrderlyEndIsNoError: the log does not call it an error that the program sets a queue pair to
// ERR.
func TestOrderlyEndIsNoError(t *testing.T) {
	d := newLogged(t)
	p := newProgram(t, d.Device)
	q := p.qp(nil)
	if err := errors.Join(q.Modify(guest.Init, p.gid, 0, nil), q.Modify(guest.Err, p.gid, 0, nil)); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.log.String(); !strings.Contains(s, `msg="queue pair has ended"`) || strings.Contains(s, `msg="queue pair in error"`) {
		t.Error(s)
	}
}
