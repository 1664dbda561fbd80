// Package monitor contains the HTTP server with which a command exports its metrics and
// connections, and the client of `rddp top`. [Handler] answers at two paths:
//
//	/metrics      the metrics of the process, for Prometheus
//	/connections  a JSON object per line: first the process (Process), then each of its
//	              connections in DDP mode (Connection)
//
// [Serve] bounds the resources of clients: connections, and the length and time of a request.
package monitor
