package check

import (
	"log/slog"

	"github.com/rddp/rddp/internal/locks"
)

// A Reporter logs findings. Any goroutine may use it.
type Reporter struct {
	log *slog.Logger

	mu     locks.Mutex[locks.Leaf]
	report Report // +checklocks:mu
}

// NewReporter returns a Reporter that logs all findings but those that are suppressed.
func NewReporter(log *slog.Logger, suppress []Suppression) *Reporter {
	return &Reporter{log: log, report: Report{Suppress: suppress}}
}

// Add reports findings.
func (r *Reporter) Add(all ...Finding) {
	for _, f := range all {
		r.mu.Lock()
		fresh := r.report.Add(f)
		r.mu.Unlock()
		if !fresh {
			continue
		}
		what := "check"
		if f.Kind.IsNote() {
			what = "note"
		}
		// The log limits the number of equal messages, and so the message says it all.
		r.log.Warn(f.String(), what, f.Kind.String(), "rule", f.Kind.Rule())
	}
}

// Summarize logs how much was found, and returns it.
func (r *Reporter) Summarize() Counts {
	r.mu.Lock()
	c := r.report.Counts()
	r.mu.Unlock()
	r.log.Warn("checked", "findings", c.Findings, "notes", c.Notes, "suppressed", c.Suppressed, "repeated", c.Repeated)
	return c
}
