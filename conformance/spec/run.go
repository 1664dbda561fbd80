package spec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// A Part is the peer's role in MPA startup. This end has the other role.
type Part uint8

// The parts.
const (
	Responder Part = 1 << iota
	Initiator
	both = Responder | Initiator
)

func (p Part) String() string {
	switch p {
	case Responder:
		return "responder"
	case Initiator:
		return "initiator"
	}
	return "both"
}

// A Config configures Run.
type Config struct {
	// Part is the peer's role.
	Part Part
	// Open dials or accepts the next connection, before the deadline of the context. With a
	// *NoPeerError, Run ends.
	Open func(context.Context) (net.Conn, error)
	// Address is the peer's name in reports.
	Address string
	// Sections selects the cases whose ID begins with one of these prefixes, which end at a point
	// or slash: "5044", "5044/7.1". An empty list selects all cases.
	Sections []string
	// Profile contains the known deviations. Nil means ProfileRFC.
	Profile *Profile
	// Timeout bounds a case, including the opening of connections. Zero means 5 s.
	Timeout time.Duration
	// Quiet is how long Run waits to see that a peer sends nothing. Zero means a tenth of Timeout,
	// at most 300 ms.
	Quiet time.Duration
	// Done is called with each result when it is known. It may be nil.
	Done func(Result)

	plain bool // the peer is a Responder that serves revision 1 only
}

func (c *Config) timeout() time.Duration {
	if c.Timeout == 0 {
		return 5 * time.Second
	}
	return c.Timeout
}

func (c *Config) quiet() time.Duration {
	if c.Quiet == 0 {
		return min(c.timeout()/10, 300*time.Millisecond)
	}
	return c.Quiet
}

// A NoPeerError means that there is no peer to ask: no connection could be opened at the start, or
// for several cases in a row, or Config.Open says so.
type NoPeerError struct {
	Err error
}

func (e *NoPeerError) Error() string { return fmt.Sprintf("no peer: %v", e.Err) }

// Unwrap returns the reason why the last connection could not be opened.
func (e *NoPeerError) Unwrap() error { return e.Err }

// ErrNoCase means that no case has the requested role and sections.
var ErrNoCase = errors.New("spec: there is no such case")

// maxUnopened is the number of cases in a row without a connection after which Run gives up the
// peer.
const maxUnopened = 3

// An openError means that a connection could not be opened.
type openError struct{ err error }

func (e *openError) Error() string { return "no connection: " + e.err.Error() }
func (e *openError) Unwrap() error { return e.err }

// A Case is one question to a peer.
type Case struct {
	ID          string // RFC, section and name: "5044/7.1.1/wrong-key"
	Part        Part   // the roles of peers that it can be asked
	Requirement string // one sentence
	IDs         []string
	needs       Flags
	run         func(*session)
}

// RFC returns the number of the RFC.
func (c Case) RFC() string { return strings.SplitN(c.ID, "/", 3)[0] }

// Section returns the section of the RFC.
func (c Case) Section() string { return strings.SplitN(c.ID, "/", 3)[1] }

// Name returns the case's name within its section.
func (c Case) Name() string { return strings.SplitN(c.ID, "/", 3)[2] }

// Select returns the cases for a role (0 means both) that one of the sections selects, as in
// Config.Sections, in the order in which Run asks them.
func Select(part Part, sections []string) []Case {
	var list []Case
	for _, c := range Cases() {
		if (part == 0 || c.Part&part != 0) && selected(c.ID, sections) {
			list = append(list, c)
		}
	}
	return list
}

func selected(id string, sections []string) bool {
	for _, s := range sections {
		rest, ok := strings.CutPrefix(id, strings.TrimSuffix(s, "/"))
		if ok && (rest == "" || rest[0] == '/' || rest[0] == '.') {
			return true
		}
	}
	return len(sections) == 0
}

// A Status is the result of a case in one word.
type Status string

// The values of Status. Only StatusFail makes a Report fail.
const (
	StatusPass  Status = "pass"
	StatusFail  Status = "fail"
	StatusKnown Status = "known" // fails, and the profile says why
	StatusSkip  Status = "skip"  // could not be asked; Result.Reason says why
)

// A Result is the peer's answer to one case.
type Result struct {
	Case
	Status        Status
	Reason        string // StatusSkip: why; StatusKnown: the deviation
	Expected, Got string // StatusFail and StatusKnown
	Log           []exchange
	Elapsed       time.Duration
	Tries         int // how often it was asked, if more than once, because the earlier answers were a known race or stall of the profile

	mute bool // see session.mute
}

// Run asks the peer all selected cases, in order, and returns the report. The error is ErrNoCase, a
// *NoPeerError or the error of ctx. With the last two, the report contains the cases asked so far.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	report := &Report{Part: cfg.Part, Address: cfg.Address, Profile: cfg.Profile.name()}
	cases := Select(cfg.Part, cfg.Sections)
	if report.Selected = len(cases); report.Selected == 0 {
		return report, ErrNoCase
	}
	if err := probe(ctx, &cfg); err != nil {
		return report, err
	}
	unopened := 0
	var none *NoPeerError
	for _, c := range cases {
		r, err := ask(ctx, &cfg, c)
		for try := 2; try <= maxTries && err == nil && r.Status == StatusFail && ctx.Err() == nil; try++ {
			if !cfg.Profile.again(r) {
				break
			}
			r, err = ask(ctx, &cfg, c)
			r.Tries = try
		}
		if ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
		if err == nil {
			unopened = 0
		} else if errors.As(err, &none) {
			return report, none
		} else if unopened++; unopened == maxUnopened {
			return report, &NoPeerError{err}
		}
		report.Results = append(report.Results, r)
		if cfg.Done != nil {
			cfg.Done(r)
		}
	}
	return report, nil
}

// probe opens a connection to see whether there is a peer, and whether a Responder serves revision
// 2. A Responder that knows only RFC 5044 closes the connection, as it should; Run then asks it in
// revision 1.
func probe(ctx context.Context, cfg *Config) error {
	end := time.Now().Add(cfg.timeout())
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	s := &session{ctx: ctx, cfg: cfg, end: end}
	defer s.close()
	if s.initiator() {
		s.shake(nil)
		s.first()
		cfg.plain = s.err != nil && s.ended != stillOpen && s.logged[0] == 0
	} else {
		s.start()
	}
	s.finish()
	var none *openError
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.Canceled):
		return cause
	case errors.As(s.err, &none):
		return &NoPeerError{none.err}
	}
	return nil
}

// ask asks one case. An error means that there was no connection for it.
func ask(ctx context.Context, cfg *Config, c Case) (r Result, err error) {
	if sentence, ok := cfg.Profile.harmful(c.ID, cfg.Part); ok {
		return Result{Case: c, Status: StatusSkip, Reason: "not asked: " + sentence}, nil
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, cfg.timeout())
	defer cancel()
	s := &session{ctx: ctx, cfg: cfg, needs: c.needs, end: begin.Add(cfg.timeout())}
	c.run(s)
	mute := s.mute()
	if mute && cfg.Profile.stalls() {
		s.wake()
	}
	s.close()
	r = Result{Case: c, Status: StatusPass, Elapsed: time.Since(begin), mute: mute}
	var failure *Failure
	var skipped *skip
	switch {
	case s.err == nil:
		return r, nil
	case errors.As(s.err, &skipped):
		r.Status, r.Reason = StatusSkip, skipped.reason
		return r, nil
	case errors.As(s.err, &failure):
		r.Expected, r.Got = failure.Expected, failure.Got
	default:
		r.Expected, r.Got, err = "a connection", s.err.Error(), s.err
	}
	r.Status, r.Log = StatusFail, s.log
	if sentence, ok := cfg.Profile.known(c.ID, cfg.Part, r.Expected, r.Got); ok && err == nil {
		r.Status, r.Reason = StatusKnown, sentence
	}
	return r, err
}
