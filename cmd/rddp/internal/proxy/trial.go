package proxy

import (
	"context"
	"errors"

	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
)

// trialData is the private data with which an entrance tries its exit, and with which an exit
// rejects the trial.
const trialData = "rddp proxy: trial"

// try connects to the exit, up to the end of MPA startup, and logs a warning if that fails. An exit
// does not connect to its service for that. Any other peer that speaks DDP sees a connection that
// ends at once.
func (p *Proxy) try(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, p.cfg.timeout())
	defer cancel()
	to, config := p.Target(), *p.currentDialer().Config
	config.Startup, config.PrivateData = extsock.StartupRequire, []byte(trialData)
	c, err := (&extsock.Dialer{Config: &config}).DialDDP(limited, to.Network, to.Address)
	rejected := (*mpa.RejectError)(nil)
	switch {
	case err == nil:
		c.Close()
	case ctx.Err() != nil, errors.As(err, &rejected) && string(rejected.PrivateData) == trialData, p.cfg.Fallback && isForeign(err):
	default:
		p.cfg.log().Warn("no client can be carried: a trial connection to the exit has failed", "to", to, "err", errtext.Text(err))
	}
}

// isForeign reports whether err means that the peer does not speak DDP.
func isForeign(err error) bool {
	return errors.Is(err, extsock.ErrNotMPA) || errors.Is(err, extsock.ErrNoReply) || errors.Is(err, mpa.ErrSameRole) ||
		errors.Is(err, context.DeadlineExceeded)
}
