package metrics

import (
	"context"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/stats"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

func TestMain(m *testing.M) { nopanic.Exit(m.Run()) }

// gather returns the samples of c by name and label values.
func gather(t *testing.T, c *Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry() // it checks what Collect sends against what Describe says
	if err := r.Register(c); err != nil {
		t.Fatal(err)
	}
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := make(map[string]float64)
	for _, f := range all {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				key += "," + l.GetValue()
			}
			samples[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return samples
}

// TestNames: Prometheus's linter finds no fault with the names, units and help texts.
func TestNames(t *testing.T) {
	problems, err := testutil.CollectAndLint(NewCollector())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestComplete: each number of a Process is one sample, and there are no other samples.
func TestComplete(t *testing.T) {
	var p stats.Process
	next := 1000.0
	want := make(map[float64]string)
	var fill func(v reflect.Value, name string)
	fill = func(v reflect.Value, name string) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i), name+"."+v.Type().Field(i).Name)
			}
			return
		case reflect.Uint64:
			v.SetUint(uint64(next))
		case reflect.Int64:
			v.SetInt(int64(next))
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]uint64{"a reason": uint64(next)}))
		default:
			t.Fatalf("%s is a %v", name, v.Kind())
		}
		want[next] = name
		next++
	}
	fill(reflect.ValueOf(&p).Elem(), "Process")
	for name, v := range gather(t, &Collector{total: func() stats.Process { return p }}) {
		if _, ok := want[v]; !ok {
			t.Errorf("%s is %v, which is in no field, or in two samples", name, v)
		}
		delete(want, v)
	}
	for _, name := range want {
		t.Errorf("%s is not exported", name)
	}
}

// pair returns the two ends of a connection in DDP mode over loopback.
func pair(ctx context.Context, l *extsock.Listener, cfg *extsock.Config) (near, far *extsock.Conn, err error) {
	near, err = (&extsock.Dialer{Config: cfg}).DialDDP(ctx, "tcp", l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	far, err = l.AcceptDDP()
	if err != nil {
		near.Close()
	}
	return near, far, err
}

func listen(t *testing.T) *extsock.Listener {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestTraffic compares the samples with the Stats of connections that move data, before and after
// they have ended.
func TestTraffic(t *testing.T) {
	idle(t)
	ctx := prototest.TimeLimit(t)
	before := gather(t, NewCollector())
	near, far, err := pair(ctx, listen(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	const size = 3 << 20
	go near.Write(make([]byte, size))
	if _, err := io.ReadFull(far, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if now := gather(t, NewCollector()); now["rddp_connections_open"] != 2 || now["rddp_connections_total"]-before["rddp_connections_total"] != 2 {
		t.Errorf("of 2 connections, %v are open", now["rddp_connections_open"])
	}
	near.Close()
	far.Close()
	idle(t)
	after := gather(t, NewCollector())
	n, f := near.Stats(), far.Stats()
	for name, want := range map[string]uint64{
		"rddp_connections_total":              2,
		"rddp_connections_open":               0,
		"rddp_connection_failures_total":      0,
		"rddp_wire_bytes_total,sent":          n.Sent.Octets + f.Sent.Octets,
		"rddp_wire_bytes_total,received":      n.Received.Octets + f.Received.Octets,
		"rddp_fpdus_total,received":           n.Received.FPDUs + f.Received.FPDUs,
		"rddp_messages_total,sent,send":       n.Sent.Sends + f.Sent.Sends,
		"rddp_messages_total,received,write":  n.Received.Writes + f.Received.Writes,
		"rddp_stream_read_bytes_total,copied": n.CopiedOctets + f.CopiedOctets,
		"rddp_stream_read_bytes_total,placed": n.DirectOctets + f.DirectOctets,
		"rddp_memory_reserved_bytes":          0,
	} {
		if got := after[name] - before[name]; got != float64(want) {
			t.Errorf("%s: %v, want %d", name, got, want)
		}
	}
	if got := after["rddp_stream_read_bytes_total,copied"] + after["rddp_stream_read_bytes_total,placed"]; got < size {
		t.Errorf("%v bytes read, of %d", got, size)
	}
	if after["rddp_memory_limit_bytes"] != 128<<20 {
		t.Errorf("memory limit %v", after["rddp_memory_limit_bytes"])
	}
}

// idle waits until no connection is open.
func idle(t *testing.T) {
	t.Helper()
	prototest.Wait(t, "all connections end", func() bool {
		s := extsock.TotalStats()
		return s.Open == 0 && s.MemoryReserved == 0
	})
}

// TestChurn gathers while connections begin, move data and end. No counter decreases, and no
// connection is left at the end.
func TestChurn(t *testing.T) {
	idle(t)
	before := gather(t, NewCollector())
	ctx := prototest.TimeLimit(t)
	const workers, rounds = 4, 25
	var working sync.WaitGroup
	for range workers {
		l := listen(t)
		working.Go(func() {
			for range rounds {
				near, far, err := pair(ctx, l, nil)
				if err != nil {
					t.Error(err)
					return
				}
				near.Write(make([]byte, 10_000))
				if _, err := io.ReadFull(far, make([]byte, 10_000)); err != nil {
					t.Error(err)
				}
				near.Close()
				far.Close()
			}
		})
	}
	over := make(chan struct{})
	go func() {
		working.Wait()
		close(over)
	}()
	last := before
	for scrapes := 0; ; scrapes++ {
		now := gather(t, NewCollector())
		for name, v := range last {
			if isCounter := strings.Contains(name, "_total"); isCounter && now[name] < v {
				t.Errorf("%s fell from %v to %v", name, v, now[name])
			}
		}
		open := 0.0
		for c := range extsock.Connections() {
			open++
			if c.Received.Octets > 1<<20 || c.Remote.(*net.TCPAddr).Port == 0 {
				t.Errorf("listed %+v", c)
			}
		}
		if open > 2*workers*2 { // a connection ends in the background
			t.Logf("%v connections are listed", open)
		}
		last = now
		select {
		case <-over:
			t.Logf("%d scrapes", scrapes)
			idle(t)
			now := gather(t, NewCollector())
			if got := now["rddp_connections_total"] - before["rddp_connections_total"]; got != 2*workers*rounds || now["rddp_connections_open"] != 0 {
				t.Errorf("%v connections, want %d; %v are open", got, 2*workers*rounds, now["rddp_connections_open"])
			}
			return
		default:
		}
	}
}
