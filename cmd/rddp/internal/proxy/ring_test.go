package proxy

import (
	"net"
	"testing"

	"github.com/rddp/rddp/internal/prototest"
)

// TestRing: proxies with few places that lead to each other come to rest, and their client learns that there is no way.
func TestRing(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) }) // when both proxies have ended
	exit := start(t, "rddp://127.0.0.1:0", "127.0.0.1:1", Config{MaxConns: 8})
	entrance := start(t, "127.0.0.1:0", exit.Addr().String(), Config{MaxConns: 8})
	if err := exit.Retarget(entrance.Addr()); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*running{entrance, exit} {
		go func() {
			for {
				select {
				case <-p.ended: // as many as it takes
				case <-over:
					return
				}
			}
		}()
	}
	c, err := net.Dial("tcp", entrance.Addr().Address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	prototest.Wait(t, "the ring is at rest", func() bool {
		return entrance.Stats().Refused+exit.Stats().Refused > 0 && entrance.Stats().Open == 0 && exit.Stats().Open == 0
	})
}
