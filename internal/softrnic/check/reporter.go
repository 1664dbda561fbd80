package check

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/rddp/rddp/internal/locks"
)

// A Reporter logs findings. Any goroutine may use it.
//
// Sites are looked for in files, which takes a while. So findings that have one are logged by a
// goroutine, in order, and the caller does not wait.
type Reporter struct {
	*reports
	process string // see Of
}

// reports are the findings about all processes.
type reports struct {
	log *slog.Logger

	mu     locks.Mutex[locks.Leaf]
	report Report // +checklocks:mu
	sites  sites  // +checklocks:mu
	// what the goroutine has to log
	queue []reported // +checklocks:mu
	// closed when the queue is empty; nil if there is no goroutine
	written chan struct{} // +checklocks:mu
}

// A reported is a finding with its places: that of the mistake, and that which made its object.
type reported struct {
	Finding
	process string
	places  [2]place
}

// NewReporter returns a Reporter that logs all findings but those that are suppressed.
func NewReporter(log *slog.Logger, suppress []Suppression) *Reporter {
	return &Reporter{reports: &reports{log: log, report: Report{Suppress: suppress}}}
}

// Of returns a Reporter whose findings have the name of a process. The findings of both are counted
// together. r may be nil.
func (r *Reporter) Of(process string) *Reporter {
	if r == nil {
		return nil
	}
	return &Reporter{r.reports, process}
}

// IsVerbose reports whether the user wants to know what most programs do, and none can be blamed
// for. r may be nil.
func (r *Reporter) IsVerbose() bool {
	return r != nil && r.log.Enabled(context.Background(), slog.LevelInfo)
}

// Makes is the event that the program makes an object at a place; what is what the log calls that,
// such as "created". Unmakes is the event that the object is gone. Another object may have the name
// later.
func (r *Reporter) Makes(object, what string, s Site) {
	if r == nil || s == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sites.add(object, place{what, s})
}

// Unmakes is described at Makes. The object's name is asked for only if there is a Reporter: most
// programs are not checked, and some deregister memory all the time.
func (r *Reporter) Unmakes(object fmt.Stringer) {
	if r == nil {
		return
	}
	name := object.String()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sites.remove(name)
	r.report.Forgets(name)
}

// Add reports findings.
func (r *Reporter) Add(all ...Finding) { r.AddAt("", nil, all...) }

// AddAt reports findings about a place in the program; what is what the log calls it, such as "at".
// The Site may be nil.
func (r *Reporter) AddAt(what string, s Site, all ...Finding) {
	for _, f := range all {
		r.AddAbout(f.Object, what, s, f)
	}
}

// AddAbout is AddAt for a finding whose object was made where another one was.
func (r *Reporter) AddAbout(object, what string, s Site, all ...Finding) {
	for _, f := range all {
		r.mu.Lock()
		fresh := r.report.Add(f)
		x := reported{f, r.process, [2]place{{what, s}, r.sites.all[object].place}}
		waits := fresh && (s != nil || x.places[1].site != nil || r.written != nil)
		if waits {
			if r.queue = append(r.queue, x); r.written == nil {
				r.written = make(chan struct{})
				go r.write()
			}
		}
		r.mu.Unlock()
		if fresh && !waits {
			r.write1(&x)
		}
	}
}

// write logs the findings of the queue until it is empty.
func (r *reports) write() {
	for {
		r.mu.Lock()
		if len(r.queue) == 0 {
			close(r.written)
			r.written = nil
			r.mu.Unlock()
			return
		}
		x := r.queue[0]
		r.queue = r.queue[1:]
		r.mu.Unlock()
		r.write1(&x)
	}
}

// write1 logs a finding.
func (r *reports) write1(x *reported) {
	what := "check"
	if x.Kind.IsNote() {
		what = "note"
	}
	args := []any{what, x.Kind.String()}
	if x.process != "" {
		args = append(args, "process", x.process)
	}
	for _, p := range x.places {
		if p.site == nil {
			continue
		}
		if s := p.site.String(); s != "" {
			args = append(args, p.what, s)
		}
	}
	// The log limits the number of equal messages, and so the message says it all.
	r.log.Warn(x.String(), append(args, "rule", x.Kind.Rule())...)
}

// Wait waits until all findings are in the log.
func (r *reports) Wait() {
	r.mu.Lock()
	written := r.written
	r.mu.Unlock()
	if written != nil {
		<-written
	}
}

// Summarize logs how much was found, and returns it.
func (r *reports) Summarize() Counts {
	r.Wait()
	r.mu.Lock()
	c := r.report.Counts()
	r.mu.Unlock()
	r.log.Warn("checked", "findings", c.Findings, "notes", c.Notes, "suppressed", c.Suppressed, "repeated", c.Repeated)
	return c
}
