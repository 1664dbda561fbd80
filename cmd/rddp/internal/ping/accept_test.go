package ping

import (
	"context"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A crowded is a Backend that acts as if the process had no file descriptors left for the first
// connections.
type crowded struct{ toe.Backend }

type crowdedListener struct {
	toe.Listener
	refused atomic.Int32
}

func (b crowded) Listen(ctx context.Context, network, address string) (toe.Listener, error) {
	l, err := b.Backend.Listen(ctx, network, address)
	return &crowdedListener{Listener: l}, err
}

func (l *crowdedListener) Accept() (toe.Stream, error) {
	if l.refused.Add(1) <= 3 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// TestServerOutlivesCrowds: peers that use up all file descriptors do not end the server, which
// continues when they have gone.
func TestServerOutlivesCrowds(t *testing.T) {
	for _, persistent := range []bool{false, true} {
		socket := extsock.Config{Backend: crowded{simtoe.New(simtoe.Config{})}}
		ctx, cancel := context.WithCancel(t.Context())
		addr, end := serve(ctx, t, "server:0", &Config{Socket: socket, Persistent: persistent})
		if sum, err := Client(ctx, addr, &Config{Socket: socket, Count: 1}); sum.Pings != 1 || err != nil {
			t.Errorf("%d pings, %v", sum.Pings, err)
		}
		if !persistent { // otherwise the end of the only connection ends the server
			defer cancel()
		} else {
			cancel()
		}
		if err := end(); err != nil {
			t.Errorf("Serve = %v, want nil", err)
		}
	}
}
