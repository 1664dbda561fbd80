//go:build amd64 || arm64

package softrnic

import (
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// An ownText is a place in the program itself.
type ownText struct{ textSite }

func (ownText) IsOwn() bool { return true }

// TestCheckContextLeft: a context that the program has opened is left if it is open when the
// process ends, and nothing else is.
func TestCheckContextLeft(t *testing.T) {
	for _, tt := range []struct {
		desc string
		site check.Site
		end  func(p *program)
		want bool
	}{
		{"left", ownText{"main.c:7"}, func(p *program) { p.ctx.Exits(nil) }, true},
		{"left by librdmacm", textSite("main.c:7"), func(p *program) { p.ctx.Exits(nil) }, false},
		{"closed", ownText{"main.c:7"}, func(p *program) {
			c := p.channels[0]
			c.mu.Lock()
			c.closed = true
			c.mu.Unlock()
			p.ctx.Exits(nil)
		}, false},
		{"and used by a child", ownText{"main.c:7"}, func(p *program) {
			p.ctx.Exits(nil)
			if err := p.Free(uint32(uverbs.DeallocPD), p.newPD()); err != nil {
				p.t.Fatal(err)
			}
		}, false},
		{"and a PD, too", ownText{"main.c:7"}, func(p *program) {
			p.newPD()
			p.ctx.Exits(nil)
		}, false},
		{"ended by a signal", ownText{"main.c:7"}, func(*program) {}, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			p, log := newChecked(t)
			ctx, err := p.dev.Open(Memory{Bytes: pages(t, 1<<20), From: 4096})
			if err != nil {
				t.Fatal(err)
			}
			q := &program{t: t, dev: p.dev, ctx: ctx, site: func() check.Site { return tt.site }}
			if q.Context, err = guest.Open(ownKernel{q}); err != nil {
				t.Fatal(err)
			}
			tt.end(q)
			ctx.Close()
			log.reporter.Wait()
			log.mu.Lock()
			defer log.mu.Unlock()
			if got := strings.Contains(log.b.String(), "has not destroyed it by ibv_close_device"); got != tt.want {
				t.Errorf("it is found: %t, want %t:\n%s", got, tt.want, &log.b)
			}
		})
	}
}
