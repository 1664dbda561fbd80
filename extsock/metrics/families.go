package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rddp/rddp/extsock/stats"
)

// A family has the samples of one metric.
type family struct {
	desc    *prometheus.Desc
	kind    prometheus.ValueType
	samples func(*stats.Process) []sample
}

// A sample is one value, and the values of the family's labels.
type sample struct {
	value  float64
	labels []string
}

func value(v uint64, labels ...string) sample { return sample{float64(v), labels} }

// families are all metrics that a Collector exports.
var families = []family{
	counter("connections_total", "Connections that have entered DDP mode.", func(p *stats.Process) uint64 { return p.Connections }),
	gauge("connections_open", "Connections in DDP mode that have not ended.", func(p *stats.Process) float64 { return float64(p.Open) }),
	counter("connection_failures_total", "Connections in DDP mode that ended with an error: all that neither end has closed.",
		func(p *stats.Process) uint64 { return p.Failures }),
	several("timeouts_total", "Connections that ended because something took too long: MPA startup, silence (idle), or a write.", []string{"kind"},
		func(p *stats.Process) []sample {
			return []sample{value(p.HandshakeTimeouts, "startup"), value(p.IdleTimeouts, "idle"), value(p.WriteTimeouts, "write")}
		}),
	several("fallbacks_total", "Connections that are plain TCP because the peer does not speak DDP, by reason.", []string{"reason"}, fallbacks),
	counter("device_connections_total", "Connections on an RDMA device.", func(p *stats.Process) uint64 { return p.OnDevice }),
	several("in_process_total", "Connections in this process whose Config.Backend has a device, by reason.", []string{"reason"}, inProcess),
	counter("half_open_evictions_total", "Connections in startup that were closed because there were too many.",
		func(p *stats.Process) uint64 { return p.HalfOpenEvictions }),
	counter("bad_stag_delays_total", "MPA Requests that were delayed because their sender had used an STag that it did not have.",
		func(p *stats.Process) uint64 { return p.BadSTagDelays }),
	counter("panics_total", "Panics that ended a connection. Each is a bug.", func(p *stats.Process) uint64 { return p.Panics }),

	several("wire_bytes_total", "Bytes of FPDUs, with headers, pads, CRCs and markers.", direction,
		func(p *stats.Process) []sample { return both(p.Sent.Octets, p.Received.Octets) }),
	several("fpdus_total", "FPDUs.", direction,
		func(p *stats.Process) []sample { return both(p.Sent.FPDUs, p.Received.FPDUs) }),
	several("messages_total", "RDMA Messages, by kind.", []string{"direction", "kind"}, messages),

	several("stream_read_bytes_total", "Bytes that Read has returned: copied, because they came before the Read, or placed in its memory.",
		[]string{"way"}, func(p *stats.Process) []sample {
			return []sample{value(p.CopiedOctets, "copied"), value(p.DirectOctets, "placed")}
		}),
	counter("credit_stalls_total", "Writes to a byte stream that had to wait until the peer's program had read.", func(p *stats.Process) uint64 { return p.CreditStalls }),
	counter("combined_writes_total", "Writes that were sent in one message with an earlier one.", func(p *stats.Process) uint64 { return p.CombinedWrites }),
	counter("rendezvous_total", "Rendezvous that began.", func(p *stats.Process) uint64 { return p.Offers }),
	counter("rendezvous_bytes_total", "Bytes that rendezvous placed in the peer's memory.", func(p *stats.Process) uint64 { return p.RendezvousOctets }),

	gauge("memory_reserved_bytes", "Bytes of the memory limit that are in use or promised to peers.", func(p *stats.Process) float64 { return float64(p.MemoryReserved) }),
	gauge("memory_limit_bytes", "The limit of the memory that connections may hold for their peers.", func(p *stats.Process) float64 { return float64(p.MemoryLimit) }),
	counter("memory_stalls_total", "How often a connection in message mode stopped receiving because of the memory limit.", func(p *stats.Process) uint64 { return p.MemoryStalls }),

	counter("early_fpdus_total", "FPDUs that were placed while bytes before them were missing.", func(p *stats.Process) uint64 { return p.EarlyFPDUs }),
	counter("early_bytes_total", "Bytes of the ULPDUs of these FPDUs.", func(p *stats.Process) uint64 { return p.EarlyOctets }),
	counter("early_buffered_bytes_total", "Bytes that came early and waited in TCP's buffer.", func(p *stats.Process) uint64 { return p.BufferedOctets }),
	counter("saved_copies_total", "FPDUs that were in place when their turn came.", func(p *stats.Process) uint64 { return p.SavedCopies }),
}

var direction = []string{"direction"}

func several(name, help string, labels []string, samples func(*stats.Process) []sample) family {
	return family{prometheus.NewDesc("rddp_"+name, help, labels, nil), prometheus.CounterValue, samples}
}

func counter(name, help string, of func(*stats.Process) uint64) family {
	return several(name, help, nil, func(p *stats.Process) []sample { return []sample{value(of(p))} })
}

func gauge(name, help string, of func(*stats.Process) float64) family {
	f := several(name, help, nil, func(p *stats.Process) []sample { return []sample{{value: of(p)}} })
	f.kind = prometheus.GaugeValue
	return f
}

func both(sent, received uint64) []sample {
	return []sample{value(sent, "sent"), value(received, "received")}
}

func fallbacks(p *stats.Process) (all []sample) {
	for reason, n := range p.Fallbacks {
		all = append(all, value(n, reason))
	}
	return all
}

func inProcess(p *stats.Process) (all []sample) {
	for reason, n := range p.InProcess {
		all = append(all, value(n, reason))
	}
	return all
}

func messages(p *stats.Process) (all []sample) {
	for d, t := range map[string]*stats.Traffic{"sent": &p.Sent, "received": &p.Received} {
		all = append(all,
			value(t.Sends, d, "send"), value(t.Writes, d, "write"),
			value(t.ReadRequests, d, "read_request"), value(t.ReadResponses, d, "read_response"),
			value(t.AtomicRequests, d, "atomic_request"), value(t.AtomicResponses, d, "atomic_response"),
			value(t.ImmediateData, d, "immediate_data"), value(t.Terminates, d, "terminate"))
	}
	return all
}
