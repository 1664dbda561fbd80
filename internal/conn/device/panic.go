package device

import (
	"errors"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/panics"
)

// panicked counts a panic and returns it as an error.
func (e *Engine) panicked(value any) error {
	err := e.link.Panicked(value)
	if p := (*panics.Error)(nil); !errors.As(err, &p) || p.Claim() {
		e.count.Add(counters.Panics, 1)
	}
	return err
}

// closeQP closes the queue pair, whose Close returns nil.
func (e *Engine) closeQP() {
	_ = panics.Guard(e.link.QP.Close)
}
