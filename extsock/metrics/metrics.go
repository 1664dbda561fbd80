// Package metrics exports what package extsock counts to Prometheus. A program registers one
// [Collector], and serves its registry as it serves its own metrics:
//
//	prometheus.MustRegister(metrics.NewCollector())
//	http.Handle("/metrics", promhttp.Handler())
//
// The numbers are those of extsock.TotalStats. They count all connections of the process in DDP
// mode, open and ended, so that no counter ever decreases. No metric has a label for a connection
// or a peer. For single connections see extsock.Connections.
//
// A connection counts without a lock, whether it is exported or not, and the Collector adds up when
// Prometheus asks. So it costs the connections nothing, and a program that does not import this
// package does not link Prometheus.
//
// docs/monitoring.md says which metrics to look at, and has a dashboard.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/stats"
)

// A Collector is the prometheus.Collector of all connections of the process. Several of them, each
// in a registry of its own, show the same numbers.
type Collector struct {
	total func() stats.Process
}

// NewCollector returns a Collector.
func NewCollector() *Collector { return &Collector{total: extsock.TotalStats} }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range families {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	p := c.total()
	for _, f := range families {
		for _, s := range f.samples(&p) {
			to <- prometheus.MustNewConstMetric(f.desc, f.kind, s.value, s.labels...)
		}
	}
}
