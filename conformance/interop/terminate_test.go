//go:build interop

package interop

import (
	"strings"
	"testing"
)

func checkTerminate(t *testing.T, g *Guest, want string) {
	t.Helper()
	log := g.Log(t)
	for _, l := range log {
		if strings.Contains(l, "TERM") {
			t.Log(l)
		}
	}
	all := strings.Join(log, "\n")
	if !strings.Contains(all, "sent TERM: ") || !strings.Contains(all, want) {
		t.Errorf("siw's log has no Terminate with %s:\n%s", want, all)
	}
}

// siw's two omissions: neither a Read without the access right, nor a Send that invalidates an STag
// that it may not, ends the connection. If siw ever ends it, it must send the Terminate that the
// RFC requires.
func TestPeerNoTerminate(t *testing.T) {
	t.Run("Read, no right", func(t *testing.T) {
		g := Start(t)
		p := newPair(t, g, pairConfig{})
		b := p.server.Region("b", 8192, "w")
		if r := p.client.Try("do op=read len=100 stag=%d to=%d", b.STag, b.TO); !r.OK {
			checkTerminate(t, g, "layer 0, type 1, code 2")
		} else {
			t.Log("siw answers a Read of a region without remote read access")
		}
	})
	t.Run("Send with Invalidate, no such STag", func(t *testing.T) {
		g := Start(t)
		p := newPair(t, g, pairConfig{})
		p.client.Do("do op=sendinv len=10 inv=%d+0x5500", p.toServer.STag)
		if c := p.server.Wait("rq", 1)[0]; c.Status != "rem_inv_req_err" {
			t.Errorf("the receive is %+v, want status rem_inv_req_err", c)
		}
		if r := p.client.Try("do op=send len=10"); r.OK {
			t.Logf("the connection stays: %s", p.server.Try("wait q=rq ms=1000"))
		} else {
			checkTerminate(t, g, "layer 0, type 2, code 9")
		}
	})
}
