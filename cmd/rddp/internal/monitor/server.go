package monitor

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rddp/rddp/extsock/metrics"
)

// Limits of the clients of Serve.
const (
	stepTimeout = 5 * time.Second // for a request, its answer, and the pause before the next request
	maxClients  = 32              // connections
	maxHeader   = 4 << 10         // bytes
)

// Serve answers HTTP at l with h until the returned function is called, with TLS if config is not
// nil.
func Serve(l net.Listener, config *tls.Config, h http.Handler, log *slog.Logger) (stop func()) {
	return serve(l, config, h, log, stepTimeout)
}

func serve(l net.Listener, config *tls.Config, h http.Handler, log *slog.Logger, step time.Duration) (stop func()) {
	l = limitClients(l, maxClients)
	if config != nil {
		l = tls.NewListener(l, config)
	}
	s := &http.Server{
		Handler: noteRequests(h), ReadTimeout: step, WriteTimeout: step, IdleTimeout: step,
		MaxHeaderBytes: maxHeader, ConnContext: contextOf, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("HTTP server", "address", l.Addr(), "err", err)
		}
	}()
	return func() {
		s.Close()
		<-done
	}
}

// Handler returns the handler for the metrics of the process: of its connections, the Go runtime
// and the system, and the collectors in more. In /connections, it reports the name command.
func Handler(command string, more ...prometheus.Collector) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(metrics.NewCollector(), collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(more...)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, `<p><a href="/metrics">metrics</a>, <a href="/connections">connections</a></p>`+"\n")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	started := time.Now()
	mux.HandleFunc("GET "+connectionsPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		writeConnections(w, command, started)
	})
	return mux
}

// Counter returns a counter whose value is f(). Labels are pairs of a name and a value.
func Counter(name, help string, f func() float64, labels ...string) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labelsOf(labels)}, f)
}

// Gauge is Counter for a value that may decrease.
func Gauge(name, help string, f func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
}

func labelsOf(pairs []string) prometheus.Labels {
	l := make(prometheus.Labels)
	for i := 0; i+1 < len(pairs); i += 2 {
		l[pairs[i]] = pairs[i+1]
	}
	return l
}
