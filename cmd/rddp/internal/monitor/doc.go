// Package monitor is the HTTP server of a command that tells about itself, and the client of
// `rddp top`. [Handler] answers at two paths:
//
//	/metrics      the metrics of the process, for Prometheus
//	/connections  a JSON object per line: first the process (Process), then each of its
//	              connections in DDP mode (Connection)
//
// [Serve] bounds what clients can take: connections, the length of a request, and the time of each.
package monitor
