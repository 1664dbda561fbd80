package ping

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// A port that serves more than pings gives the connection on when its Request has come.
func TestServeRequest(t *testing.T) {
	tests := []struct {
		desc   string
		size   int     // of the client's pings
		server *Config // nil is the zero Config
		pings  int
		fails  bool // ServeRequest's error
	}{
		{"the zero Config", 1000, nil, 3, false},
		{"at the limit", 1000, &Config{Size: 1000}, 3, false},
		{"over the limit", 1000, &Config{Size: 999}, 0, true},
		{"a Config that makes no sense", 1000, &Config{Timeout: -1}, 0, true},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			network := simtoe.New(simtoe.Config{})
			l, err := extsock.Listen("tcp", "server:1", &extsock.Config{Backend: network, Startup: extsock.StartupPrefer, JudgeRequests: true})
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() {
				defer l.Close()
				conn, err := acceptConn(l)
				if err != nil {
					served <- err
					return
				}
				req, err := conn.ReceiveRequest(t.Context())
				if err == nil && req.FromRDDP {
					err = errors.New("the Request has the capability record")
				}
				if err == nil {
					err = ServeRequest(t.Context(), conn, req, tt.server)
				}
				served <- err
			}()
			sum, err := Client(t.Context(), "server:1", &Config{Socket: extsock.Config{Backend: network}, Size: tt.size, Count: 3, Validate: true})
			if e := <-served; sum.Pings != tt.pings || (err != nil) != tt.fails || (e != nil) != tt.fails {
				t.Errorf("%s: %d pings, client: %v, server: %v", tt.desc, sum.Pings, err, e)
			}
			time.Sleep(time.Minute) // the closes, in a bubble
		})
	}
}

// A context that is done ends the connection, and is no error.
func TestServeRequestUntilDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		client, server := extsock.NewConn(a, true, (&Config{}).socket()), extsock.NewConn(b, false, nil)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			req, err := server.ReceiveRequest(ctx)
			if err == nil {
				err = ServeRequest(ctx, server, req, nil)
			}
			served <- err
		}()
		if err := client.EnableDDP(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		if _, err := client.Read(make([]byte, 1)); err == nil {
			t.Error("the client's connection lives on")
		}
		if err := <-served; err != nil {
			t.Errorf("ServeRequest = %v", err)
		}
		client.Close()
		time.Sleep(time.Minute)
	})
}
