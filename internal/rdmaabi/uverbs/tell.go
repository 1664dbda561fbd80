package uverbs

import (
	"fmt"
	"net/netip"
	"strings"
)

// A Teller is a Handler that lets another one execute a command, and puts the command into words of
// verbs: the name of libibverbs, the arguments, and the result unless the command fails.
type Teller struct {
	Handler
	Name, Arguments, Result string
}

// tell sets the name and the arguments.
func (t *Teller) tell(name, format string, args ...any) {
	t.Name, t.Arguments = name, fmt.Sprintf(format, args...)
}

// gets sets the result.
func (t *Teller) gets(format string, args ...any) { t.Result = fmt.Sprintf(format, args...) }

// accessNames are the names of libibverbs for the rights.
var accessNames = [...]string{
	"LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_READ", "REMOTE_ATOMIC", "MW_BIND", "ZERO_BASED", "ON_DEMAND", "HUGETLB", "FLUSH_GLOBAL", "FLUSH_PERSISTENT",
}

// words returns the names of libibverbs without their prefix, such as "LOCAL_WRITE|REMOTE_WRITE".
func (a Access) words() string {
	var names []string
	for i, n := range accessNames {
		if a&(1<<i) != 0 {
			names = append(names, n)
			a &^= 1 << i
		}
	}
	if a != 0 || len(names) == 0 {
		names = append(names, fmt.Sprintf("%#x", uint32(a)))
	}
	return strings.Join(names, "|")
}

// GetContext is a method of Handler, and so are all that follow.
func (t *Teller) GetContext() (fd uint32, err error) {
	fd, err = t.Handler.GetContext()
	t.tell("ibv_open_device", "")
	t.gets("fd %d for asynchronous events", fd)
	return fd, err
}

func (t *Teller) CreateCompChannel() (fd uint32, err error) {
	fd, err = t.Handler.CreateCompChannel()
	t.tell("ibv_create_comp_channel", "")
	t.gets("fd %d", fd)
	return fd, err
}

func (t *Teller) QueryDevice() Device {
	t.tell("ibv_query_device", "")
	return t.Handler.QueryDevice()
}

func (t *Teller) QueryPort(port uint8) (gids uint32, err error) {
	gids, err = t.Handler.QueryPort(port)
	t.tell("ibv_query_port", "port_num %d", port)
	t.gets("gid_tbl_len %d", gids)
	return gids, err
}

func (t *Teller) AllocPD() (handle uint32) {
	handle = t.Handler.AllocPD()
	t.tell("ibv_alloc_pd", "")
	t.gets("PD %d", handle)
	return handle
}

func (t *Teller) DeallocPD(handle uint32) error {
	t.tell("ibv_dealloc_pd", "PD %d", handle)
	return t.Handler.DeallocPD(handle)
}

func (t *Teller) CreateAH(pd uint32, a Address) (handle uint32, err error) {
	handle, err = t.Handler.CreateAH(pd, a)
	t.tell("ibv_create_ah", "PD %d, %s", pd, a.words())
	t.gets("AH %d", handle)
	return handle, err
}

func (t *Teller) DestroyAH(handle uint32) error {
	t.tell("ibv_destroy_ah", "AH %d", handle)
	return t.Handler.DestroyAH(handle)
}

func (t *Teller) RegMR(m MemoryRegion) (handle uint32, k Keys, err error) {
	handle, k, err = t.Handler.RegMR(m)
	t.tell("ibv_reg_mr", "PD %d, addr %#x, length %d, access %s", m.PD, m.Start, m.Len, m.Access.words())
	t.gets("MR %d, lkey %#x, rkey %#x", handle, k.Local, k.Remote)
	return handle, k, err
}

func (t *Teller) ReregMR(m MemoryRegion) (k Keys, err error) {
	k, err = t.Handler.ReregMR(m)
	t.tell("ibv_rereg_mr", "MR %d, flags %#x, PD %d, addr %#x, length %d, access %s", m.Handle, m.Flags, m.PD, m.Start, m.Len, m.Access.words())
	t.gets("lkey %#x, rkey %#x", k.Local, k.Remote)
	return k, err
}

func (t *Teller) DeregMR(handle uint32) error {
	t.tell("ibv_dereg_mr", "MR %d", handle)
	return t.Handler.DeregMR(handle)
}

func (t *Teller) AllocMW(w MemoryWindow) (handle, key uint32, err error) {
	handle, key, err = t.Handler.AllocMW(w)
	t.tell("ibv_alloc_mw", "PD %d, type %d", w.PD, w.Type)
	t.gets("MW %d, rkey %#x", handle, key)
	return handle, key, err
}

func (t *Teller) DeallocMW(handle uint32) error {
	t.tell("ibv_dealloc_mw", "MW %d", handle)
	return t.Handler.DeallocMW(handle)
}

func (t *Teller) CreateCQ(q CQ) (handle, entries uint32, at Mapping, err error) {
	handle, entries, at, err = t.Handler.CreateCQ(q)
	t.tell("ibv_create_cq", "cqe %d, channel fd %d", q.CQE, q.Channel)
	t.gets("CQ %d, cqe %d", handle, entries)
	return handle, entries, at, err
}

func (t *Teller) ResizeCQ(handle, entries uint32) (has uint32, at Mapping, err error) {
	has, at, err = t.Handler.ResizeCQ(handle, entries)
	t.tell("ibv_resize_cq", "CQ %d, cqe %d", handle, entries)
	t.gets("cqe %d", has)
	return has, at, err
}

func (t *Teller) ReqNotifyCQ(handle uint32, solicitedOnly bool) error {
	t.tell("ibv_req_notify_cq", "CQ %d, solicited_only %t", handle, solicitedOnly)
	return t.Handler.ReqNotifyCQ(handle, solicitedOnly)
}

func (t *Teller) DestroyCQ(handle uint32) (completions, asynchronous uint32, err error) {
	t.tell("ibv_destroy_cq", "CQ %d", handle)
	return t.Handler.DestroyCQ(handle)
}

func (t *Teller) CreateQP(q QP) (c CreatedQP, err error) {
	c, err = t.Handler.CreateQP(q)
	srq := ""
	if q.HasSRQ {
		srq = fmt.Sprintf(", SRQ %d", q.SRQ)
	}
	t.tell("ibv_create_qp", "PD %d, %v, send CQ %d, recv CQ %d%s, sq_sig_all %t, %s", q.PD, q.Type, q.SendCQ, q.RecvCQ, srq, q.SignalAll, q.Caps.words())
	t.gets("QP %d, handle %d, %s", c.Num, c.Handle, c.Caps.words())
	return c, err
}

func (t *Teller) QueryQP(handle uint32) (s QPState, err error) {
	s, err = t.Handler.QueryQP(handle)
	t.tell("ibv_query_qp", "handle %d", handle)
	t.gets("qp_state %v", s.State)
	return s, err
}

func (t *Teller) ModifyQP(c Change) error {
	t.tell("ibv_modify_qp", "handle %d%s", c.Handle, c.words())
	return t.Handler.ModifyQP(c)
}

func (t *Teller) DestroyQP(handle uint32) (events uint32, err error) {
	t.tell("ibv_destroy_qp", "handle %d", handle)
	return t.Handler.DestroyQP(handle)
}

func (t *Teller) CreateSRQ(q SRQ) (handle, entries uint32, at Mapping, err error) {
	handle, entries, at, err = t.Handler.CreateSRQ(q)
	t.tell("ibv_create_srq", "PD %d, max_wr %d, max_sge %d, srq_limit %d", q.PD, q.MaxWR, q.MaxSGE, q.Limit)
	t.gets("SRQ %d, max_wr %d", handle, entries)
	return handle, entries, at, err
}

func (t *Teller) ModifySRQ(c SRQChange, to uint64, hasTo bool) error {
	t.tell("ibv_modify_srq", "SRQ %d, mask %#x, max_wr %d, srq_limit %d", c.Handle, c.Mask, c.MaxWR, c.Limit)
	return t.Handler.ModifySRQ(c, to, hasTo)
}

func (t *Teller) QuerySRQ(handle uint32) (s SRQState, err error) {
	s, err = t.Handler.QuerySRQ(handle)
	t.tell("ibv_query_srq", "SRQ %d", handle)
	t.gets("max_wr %d, max_sge %d, srq_limit %d", s.MaxWR, s.MaxSGE, s.Limit)
	return s, err
}

func (t *Teller) DestroySRQ(handle uint32) (events uint32, err error) {
	t.tell("ibv_destroy_srq", "SRQ %d", handle)
	return t.Handler.DestroySRQ(handle)
}

// words returns c with the names of struct ibv_qp_cap.
func (c *Caps) words() string {
	return fmt.Sprintf("max_send_wr %d, max_recv_wr %d, max_send_sge %d, max_recv_sge %d, max_inline_data %d",
		c.MaxSendWR, c.MaxRecvWR, c.MaxSendSGE, c.MaxRecvSGE, c.MaxInline)
}

func (a *Address) words() string {
	return fmt.Sprintf("dgid %v, sgid_index %d", netip.AddrFrom16(a.DGID).Unmap(), a.SGIDIndex)
}

// words returns the attributes that c sets, with their names in struct ibv_qp_attr.
func (c *Change) words() string {
	var b strings.Builder
	a := &c.To
	for _, x := range [...]struct {
		mask  Mask
		name  string
		value any
	}{
		{MaskState, "qp_state", a.State}, {MaskCurState, "cur_qp_state", a.CurState}, {MaskSQDNotify, "en_sqd_async_notify", a.SQDNotify},
		{MaskAccess, "qp_access_flags", a.Access.words()}, {MaskPKey, "pkey_index", a.PKey}, {MaskPort, "port_num", a.Port},
		{MaskQKey, "qkey", fmt.Sprintf("%#x", a.QKey)}, {MaskAddress, "ah_attr", "{" + a.Address.words() + "}"}, {MaskMTU, "path_mtu", a.MTU},
		{MaskTimeout, "timeout", a.Timeout}, {MaskRetry, "retry_cnt", a.Retry}, {MaskRNRRetry, "rnr_retry", a.RNRRetry},
		{MaskRQPSN, "rq_psn", a.RQPSN}, {MaskMaxRead, "max_rd_atomic", a.MaxRead}, {MaskAltPath, "alt_ah_attr", "{" + a.AltAddress.words() + "}"},
		{MaskMinRNRTimer, "min_rnr_timer", a.MinRNRTimer}, {MaskSQPSN, "sq_psn", a.SQPSN}, {MaskMaxDestRead, "max_dest_rd_atomic", a.MaxDestRead},
		{MaskPathMig, "path_mig_state", a.PathMig}, {MaskDestQPN, "dest_qp_num", a.DestQPN},
	} {
		if c.Mask&x.mask != 0 {
			fmt.Fprintf(&b, ", %s %v", x.name, x.value)
		}
	}
	return b.String()
}

// String returns the name of libibverbs for the operation, without its prefix.
func (o WCOp) String() string {
	names := map[WCOp]string{
		WCSend: "SEND", WCWrite: "RDMA_WRITE", WCRead: "RDMA_READ", WCCmpSwap: "COMP_SWAP", WCFetchAdd: "FETCH_ADD", WCBindMW: "BIND_MW",
		WCLocalInv: "LOCAL_INV", WCAtomicWrite: "ATOMIC_WRITE", WCRecv: "RECV", WCRecvImm: "RECV_RDMA_WITH_IMM",
	}
	if n, ok := names[o]; ok {
		return n
	}
	return fmt.Sprintf("operation %d", uint32(o))
}

var eventNames = map[EventType]string{
	EventCQError: "CQ_ERR", EventQPFatal: "QP_FATAL", EventQPRequest: "QP_REQ_ERR", EventQPAccess: "QP_ACCESS_ERR", EventEstablished: "COMM_EST",
	EventSQDrained: "SQ_DRAINED", EventDeviceFatal: "DEVICE_FATAL", EventPortActive: "PORT_ACTIVE", EventPortErr: "PORT_ERR", EventLIDChange: "LID_CHANGE",
	EventPKeyChange: "PKEY_CHANGE", EventSMChange: "SM_CHANGE", EventLimit: "SRQ_LIMIT_REACHED", EventLastWQE: "QP_LAST_WQE_REACHED",
	EventReregister: "CLIENT_REREGISTER", EventGIDChange: "GID_CHANGE",
}

// String returns the name of libibverbs for the event, without its prefix.
func (e EventType) String() string {
	if n, ok := eventNames[e]; ok {
		return n
	}
	return fmt.Sprintf("event %d", uint32(e))
}
