package extsock_test

import (
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestStopping takes memory back from a client that reads it, in the three ways of PORTING.md.
// After CloseWrite no Read fails, and no connection counts as failed.
func TestStopping(t *testing.T) {
	for _, tt := range []struct {
		way                  string
		fails                bool // a Read
		terminates, failures uint64
	}{
		{way: "CloseWrite"},
		{way: "Close", fails: true},
		{way: "Deregister", fails: true, terminates: 1, failures: 2},
	} {
		t.Run(tt.way, func(t *testing.T) {
			alone(t)
			before := extsock.TotalStats()
			bubble(t, func(t *testing.T) {
				client, server := simPair(t, simtoe.Config{Delay: time.Millisecond}, side{}, side{})
				r := register(t, server, prototest.Pattern(1<<16, 1), extsock.RemoteRead)
				h := r.Handle()
				const round = 4 * time.Millisecond // a Read takes two at most
				stopped := make(chan struct{})
				go func() {
					defer close(stopped)
					time.Sleep(50 * time.Millisecond)
					untilNext(round)
					time.Sleep(time.Nanosecond) // all Reads are on their way, and hardly any has arrived
					switch tt.way {
					case "CloseWrite":
						if err := server.CloseWrite(); err != nil {
							t.Error(err)
						}
						io.Copy(io.Discard, server)
						server.Close()
					case "Close":
						server.Close()
					case "Deregister":
						r.Deregister()
					}
				}()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					io.Copy(io.Discard, client)
				}()
				var readers sync.WaitGroup
				errs := make([]error, 4)
				for i := range errs {
					readers.Go(func() {
						for p := make([]byte, 8<<10); errs[i] == nil; {
							untilNext(round)
							select {
							case <-ended:
								return
							default:
								_, errs[i] = client.Remote(h).ReadAt(p, int64(i)*8<<10)
							}
						}
					})
				}
				readers.Wait()
				for _, err := range errs {
					if (err != nil) != tt.fails {
						t.Errorf("Read: %v", err)
					}
				}
				client.Close()
				<-ended
				<-stopped
				server.Close()
				if err := errors.Join(client.Wait(t.Context()), server.Wait(t.Context())); err != nil {
					t.Error(err)
				}
			})
			after := extsock.TotalStats()
			if n, f := after.Sent.Terminates-before.Sent.Terminates, after.Failures-before.Failures; n != tt.terminates || tt.way != "Close" && f != tt.failures {
				t.Errorf("%d Terminates and %d failures, want %d and %d", n, f, tt.terminates, tt.failures)
			}
		})
	}
}

// untilNext sleeps until the time is a multiple of d.
func untilNext(d time.Duration) {
	now := time.Now()
	time.Sleep(now.Truncate(d).Add(d).Sub(now))
}
