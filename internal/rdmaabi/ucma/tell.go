package ucma

import "fmt"

// verbs are the names of librdmacm for the commands.
var verbs = [commands]string{
	"rdma_create_id", "rdma_destroy_id", "rdma_bind_addr", "rdma_resolve_addr", "rdma_resolve_route", "query the route", "rdma_connect", "rdma_listen",
	"rdma_accept", "rdma_reject", "rdma_disconnect", "rdma_init_qp_attr", "rdma_get_cm_event", "get option", "rdma_set_option", "rdma_notify",
	"rdma_join_multicast", "rdma_leave_multicast", "rdma_migrate_id", "query the id", "rdma_bind_addr", "rdma_resolve_addr", "rdma_join_multicast",
}

// Tell puts a command into words of librdmacm: the name and the arguments. Input that is wrong has
// no arguments.
func Tell(c Command, in []byte) (name, arguments string) {
	if !c.Exists() {
		return c.String(), ""
	}
	return verbs[c], told(c, in)
}

// words returns the address, if it is one of IP.
func (a *Address) words() string {
	if a.IsValid() {
		return a.String()
	}
	return "no IP address"
}

func told(c Command, in []byte) string {
	switch c {
	case CreateID:
		if r, err := ParseCreateID(in); err == nil {
			return fmt.Sprintf("port space %#x", uint16(r.PortSpace))
		}
	case BindIP, Bind:
		r, err := ParseBind(in)
		if c == BindIP {
			r, err = ParseBindIP(in)
		}
		if err == nil {
			return fmt.Sprintf("id %d, %s", r.ID, r.Addr.words())
		}
	case ResolveIP, ResolveAddr:
		r, err := ParseResolveAddr(in)
		if c == ResolveIP {
			r, err = ParseResolveIP(in)
		}
		if err == nil {
			return fmt.Sprintf("id %d, %s", r.ID, r.Dst.words())
		}
	case Connect, Accept:
		r, err := ParseConnect(in)
		if c == Accept {
			r, err = ParseAccept(in)
		}
		if p := &r.Param; err == nil {
			return fmt.Sprintf("id %d, qp_num %d, responder_resources %d, initiator_depth %d, retry_count %d, rnr_retry_count %d, %d bytes of private data",
				r.ID, p.QPN, p.Responder, p.Initiator, p.RetryCount, p.RNRetry, len(p.PrivateData))
		}
	case Listen:
		if n, err := ParsePlain(in); err == nil {
			return fmt.Sprintf("id %d, backlog %d", n.ID, n.Other)
		}
	case Reject:
		if r, err := ParseReject(in); err == nil {
			return fmt.Sprintf("id %d, reason %d", r.ID, r.Reason)
		}
	case Disconnect:
		if id, err := ParseDisconnect(in); err == nil {
			return fmt.Sprintf("id %d", id)
		}
	case ResolveRoute, Notify:
		if n, err := ParsePlain(in); err == nil {
			return fmt.Sprintf("id %d, %d", n.ID, n.Other)
		}
	case DestroyID, Query, QueryRoute, InitQPAttr, MigrateID:
		if n, err := ParseAnswered(in); err == nil {
			return fmt.Sprintf("id %d, %d", n.ID, n.Other)
		}
	case SetOption:
		if o, err := ParseSetOption(in); err == nil {
			return fmt.Sprintf("id %d, level %d, option %d", o.ID, o.Level, o.Name)
		}
	}
	return ""
}
