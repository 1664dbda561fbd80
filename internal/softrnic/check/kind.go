package check

// A Kind is a kind of mistake.
type Kind uint8

// The kinds.
const (
	Leak Kind = iota
	Unmapped
	Stale
	SendQueue
	CompletionQueue
	Receives
	State
	Wait
	Retry
	Depth
	Events
	Armed
	Key
	PSN
	MTU
	QKey
	Payload
	Reuse
	Sink
	Overlap
	SameBuffer
	Overwritten
	Lost
	Peer
	Access
	Refused
	Again
	Undefined
	Conflict
	Forked
	Unfinished
	Rights
	kinds
)

// kindTable has the name of each kind, as in suppressions, and the rule that the program breaks. A
// note is no mistake by itself.
var kindTable = [kinds]struct {
	name, rule string
	note       bool
}{
	Leak:            {"leak", "a program destroys what it has created: the man page of each function that creates names the one that destroys", false},
	Stale:           {"stale", "registered memory stays mapped while it is used: a card keeps the old pages, and does not see the new ones", false},
	Unmapped:        {"unmapped", "registered memory stays mapped until ibv_dereg_mr(3) has returned: a card keeps the old pages until then", true},
	SendQueue:       {"send-queue", "ibv_post_send(3), ibv_create_qp(3): at most max_send_wr work requests are outstanding, and the completion of a signaled one frees the places of those up to it", false},
	CompletionQueue: {"completion-queue", "ibv_create_cq(3): a queue has room for all completions that may come before the program polls; otherwise it overruns (IBV_EVENT_CQ_ERR)", false},
	Receives:        {"receives", "ibv_post_recv(3): a message needs a receive that is posted before it arrives; otherwise the sender waits (RNR)", false},
	State:           {"state", "ibv_modify_qp(3), InfiniBand Architecture 10.3.1, from memory: send work requests are posted not before RTS, and receives not before INIT", false},
	Wait:            {"wait", "ibv_modify_qp(3), InfiniBand Architecture tables 45 and 78, from memory: codes of time in which 0 and 7 do not mean no wait", false},
	Retry:           {"retry", "ibv_modify_qp(3), rdma_connect(3): retry_cnt, or retry_count, is how often a request without an answer is repeated", false},
	Depth:           {"depth", "ibv_modify_qp(3), ibv_query_device(3): max_rd_atomic and max_dest_rd_atomic bound the Reads and atomics under way, and a device has a limit for them", false},
	Events:          {"events", "ibv_get_cq_event(3), ibv_get_async_event(3), rdma_get_cm_event(3): each event is acknowledged, before its object is destroyed", false},
	Payload:         {"payload", "ibv_post_send(3): the memory of a work request belongs to the device until its completion has been polled", false},
	Reuse:           {"reuse", "ibv_post_send(3): so does that of an unsignaled one, until a completion behind it has been polled", true},
	Sink:            {"sink", "ibv_post_send(3): the memory that a Read or an atomic fills belongs to the device until its completion has been polled", false},
	Overlap:         {"overlap", "ibv_post_recv(3), ibv_post_send(3): memory that is posted belongs to one work request", false},
	SameBuffer:      {"same-buffer", "ibv_post_recv(3), ibv_post_send(3): only the last message is left in memory that is posted twice", true},
	Overwritten:     {"overwritten", "ibv_post_recv(3): a message stays until the program has polled its completion and posts the memory again", false},
	Lost:            {"lost", "ibv_post_recv(3): a datagram, or a message over UC, needs a receive that is posted before it arrives; programs must expect that some are lost, but this is not the network", true},
	Peer:            {"peer", "what a program of another device does is no mistake of this one", true},
	Key:             {"key", "ibv_reg_mr(3): an SGE has the lkey, and the peer gets the rkey, of a memory region of the queue pair's protection domain that is registered", false},
	Access:          {"access", "ibv_post_send(3), ibv_post_recv(3), ibv_reg_mr(3): a work request stays within the memory region and its rights, and a message within its receive", false},
	Refused:         {"refused", "ibv_modify_qp(3), ibv_post_send(3): a command or a work request has what it needs, and values that the device and the queue pair have", false},
	Again:           {"again", "ibv_post_send(3), ibv_post_recv(3): *bad_wr is the first work request that has not been posted", false},
	Undefined:       {"undefined", "ibv_poll_cq(3): only byte_len bytes of a receive have a meaning, the memory of a Read only once its completion has been polled, and only some fields of a completion", false},
	Conflict:        {"conflict", "InfiniBand Architecture 9.5, ibv_post_send(3): accesses of different queue pairs to the same bytes have no order, unless one begins after the program has learnt of the end of the other", false},
	Forked:          {"forked", "fork(2), ibv_fork_init(3): a child has the parent's open device, and what it destroys there is gone for the parent, too", false},
	Unfinished:      {"unfinished", "ibv_post_send(3), ibv_poll_cq(3): only its completion tells that a work request is carried out, and nobody knows whether one is that is under way when its queue pair is destroyed", true},
	Rights:          {"rights", "ibv_reg_mr(3): whoever has the rkey of a memory region may use all the rights that it gives", true},
	PSN:             {"psn", "ibv_modify_qp(3): rq_psn of each end is sq_psn of the other, and both have 24 bits", false},
	MTU:             {"mtu", "ibv_modify_qp(3): path_mtu is the same at both ends", false},
	QKey:            {"qkey", "ibv_post_send(3): remote_qkey of a datagram is the Q_Key of the queue pair that it goes to", false},
	Armed:           {"armed", "ibv_req_notify_cq(3), ibv_get_cq_event(3): an event tells of completions that come after the request, so the program asks again after each, and polls once more after it", false},
}

// String returns the name of the kind.
func (k Kind) String() string { return kindTable[k].name }

// Rule returns the rule that the program breaks, and where it is written.
func (k Kind) Rule() string { return kindTable[k].rule }

// IsNote reports whether the kind is no mistake by itself.
func (k Kind) IsNote() bool { return kindTable[k].note }

// parseKind returns the kind with a name.
func parseKind(name string) (Kind, bool) {
	for k := range kinds {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}
