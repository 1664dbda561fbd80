package fault

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/toe/badlink"
)

// A Plan describes the faults to inject. The zero value has none.
type Plan struct {
	Seed    uint64
	Network badlink.Faults // for both directions: Loss, Delay, Jitter and Rate
	Cuts    []Cut
	Rules   []Rule
	Timed   []Timed
	// Liberties are what the device does that is no fault.
	Liberties Liberties
}

// A Cut resets a connection: after a number of bytes, counting both directions, or after a time.
// One of the two is 0.
type Cut struct {
	Bytes int64
	After time.Duration
}

// A Place is the kind of operation to which a Rule applies.
type Place int

// The places.
const (
	Send Place = iota
	Receive
	Register
)

// A Rule makes some of the operations at a place fail.
type Rule struct {
	Place  Place
	Status uverbs.WCStatus // of Send and Receive
	Errno  syscall.Errno   // of Register
	// Number is the number of the operation that fails, from 1. If it is 0, each operation fails
	// with probability Share.
	Number uint64
	Share  float64
}

// A Timed fault happens once: an asynchronous event of the device, or the error of a queue pair.
type Timed struct {
	QP    bool
	Event uverbs.EventType // unless QP is set
	After time.Duration
}

// The names in verbs and in Linux.
var (
	statuses = map[string]uverbs.WCStatus{
		"LOC_LEN_ERR": uverbs.LocalLengthErr, "LOC_QP_OP_ERR": uverbs.LocalQPErr, "LOC_PROT_ERR": uverbs.LocalProtErr, "WR_FLUSH_ERR": uverbs.FlushErr,
		"MW_BIND_ERR": uverbs.MWBindErr, "BAD_RESP_ERR": uverbs.BadResponseErr, "LOC_ACCESS_ERR": uverbs.LocalAccessErr,
		"REM_INV_REQ_ERR": uverbs.RemoteInvalidErr, "REM_ACCESS_ERR": uverbs.RemoteAccessErr, "REM_OP_ERR": uverbs.RemoteOpErr,
		"RETRY_EXC_ERR": uverbs.RetryExceeded, "RNR_RETRY_EXC_ERR": uverbs.RNRRetryExceeded, "REM_ABORT_ERR": uverbs.RemoteAbortedErr,
		"FATAL_ERR": uverbs.FatalErr, "RESP_TIMEOUT_ERR": uverbs.ResponseTimeout, "GENERAL_ERR": uverbs.GeneralErr,
	}
	events = map[string]uverbs.EventType{
		"DEVICE_FATAL": uverbs.EventDeviceFatal, "PORT_ACTIVE": uverbs.EventPortActive, "PORT_ERR": uverbs.EventPortErr,
		"LID_CHANGE": uverbs.EventLIDChange, "PKEY_CHANGE": uverbs.EventPKeyChange, "SM_CHANGE": uverbs.EventSMChange,
		"CLIENT_REREGISTER": uverbs.EventReregister, "GID_CHANGE": uverbs.EventGIDChange,
	}
	errnos = map[string]syscall.Errno{
		"EPERM": syscall.EPERM, "EAGAIN": syscall.EAGAIN, "ENOMEM": syscall.ENOMEM, "EACCES": syscall.EACCES, "EFAULT": syscall.EFAULT,
		"EBUSY": syscall.EBUSY, "EINVAL": syscall.EINVAL, "ENOSPC": syscall.ENOSPC, "EOPNOTSUPP": syscall.EOPNOTSUPP,
	}
)

// Parse parses the faults in specs. Its errors name the invalid fault.
func Parse(specs []string) (Plan, error) {
	p := Plan{Seed: 1}
	for _, spec := range specs {
		for item := range strings.SplitSeq(spec, ",") {
			if err := p.add(item); err != nil {
				return Plan{}, fmt.Errorf("%q: %w", item, err)
			}
		}
	}
	return p, nil
}

// add adds one fault.
func (p *Plan) add(item string) (err error) {
	rest, when, timed := strings.Cut(strings.TrimSpace(item), "@")
	what, value, valued := strings.Cut(rest, "=")
	if takes, ok := grammar[what]; !ok {
		return fmt.Errorf("unknown; there are %s", strings.Join(kinds, ", "))
	} else if takes.value != valued && what != "legal" {
		return fmt.Errorf("%s is written %s", what, takes.form)
	} else if timed && takes.when == never || !timed && takes.when == always {
		return fmt.Errorf("%s is written %s", what, takes.form)
	}
	switch what {
	case "loss":
		p.Network.Loss, err = parseShare(value)
	case "delay":
		p.Network.Delay, err = parseTravel(value)
	case "jitter":
		p.Network.Jitter, err = parseTravel(value)
	case "rate":
		p.Network.Rate, err = parseNumber(value, map[string]int64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9})
	case "seed":
		p.Seed, err = strconv.ParseUint(value, 10, 64)
		if err != nil {
			err = errors.New("the seed is a number")
		}
	case "legal":
		err = p.Liberties.add(value)
	case "cut":
		var c Cut
		if c.After, err = parseTime(when); err != nil {
			c.Bytes, err = parseNumber(when, map[string]int64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30})
		}
		if err != nil {
			err = errors.New("a connection is cut after bytes, such as 1MiB, or after a time, such as 2s")
		}
		p.Cuts = append(p.Cuts, c)
	case "qp-error", "event":
		t := Timed{QP: what == "qp-error"}
		if t.After, err = parseTime(when); err == nil && !t.QP {
			t.Event, err = lookUp(events, value)
		}
		p.Timed = append(p.Timed, t)
	case "send", "receive", "register":
		r := Rule{Place: map[string]Place{"send": Send, "receive": Receive, "register": Register}[what], Share: 1}
		if r.Place == Register {
			r.Errno, err = lookUp(errnos, value)
		} else {
			r.Status, err = lookUp(statuses, value)
		}
		if err == nil && timed {
			err = r.parseWhen(when)
		}
		p.Rules = append(p.Rules, r)
	}
	return err
}

// Whether a fault has a WHEN.
const (
	never = iota
	maybe
	always
)

// grammar describes the form of each fault.
var grammar = map[string]struct {
	value bool
	when  int
	form  string
}{
	"loss": {true, never, "loss=1%"}, "delay": {true, never, "delay=5ms"}, "jitter": {true, never, "jitter=1ms"},
	"rate": {true, never, "rate=100M"}, "seed": {true, never, "seed=7"}, "legal": {false, never, "legal, legal=bytes or legal=-bytes"},
	"cut": {false, always, "cut@1MiB or cut@2s"}, "qp-error": {false, always, "qp-error@2s"}, "event": {true, always, "event=PORT_ERR@2s"},
	"send": {true, maybe, "send=RETRY_EXC_ERR@3"}, "receive": {true, maybe, "receive=LOC_PROT_ERR@3"}, "register": {true, maybe, "register=ENOMEM@3"},
}

var kinds = func() (all []string) {
	for k := range grammar {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}()

func (r *Rule) parseWhen(s string) (err error) {
	if strings.HasSuffix(s, "%") {
		r.Share, err = parseShare(s)
		return err
	}
	r.Number, err = strconv.ParseUint(s, 10, 64)
	if err != nil || r.Number == 0 {
		return errors.New("behind the @ is a number from 1, or a share such as 2%")
	}
	return nil
}

// parseShare parses a percentage.
func parseShare(s string) (float64, error) {
	digits, ok := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || math.IsNaN(f) || f < 0 || f > 100 {
		return 0, errors.New("a share is written 2%, from 0% to 100%")
	}
	return f / 100, nil
}

func parseTime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, errors.New("a time is written 5ms or 1.5s")
	}
	return d, nil
}

// maxTravel is the maximum Delay or Jitter of a link in package badlink.
const maxTravel = 365 * 24 * time.Hour

// parseTravel parses a delay or a jitter.
func parseTravel(s string) (time.Duration, error) {
	d, err := parseTime(s)
	if err == nil && d > maxTravel {
		return 0, fmt.Errorf("a packet travels at most %.0fh", maxTravel.Hours())
	}
	return d, err
}

// parseNumber parses a whole number above 0 with a unit.
func parseNumber(s string, units map[string]int64) (int64, error) {
	digits := strings.TrimRight(s, "BGKMik")
	unit, ok := units[s[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n <= 0 || n > math.MaxInt64/unit {
		var all []string
		for u := range units {
			if u != "" {
				all = append(all, u)
			}
		}
		slices.Sort(all)
		return 0, fmt.Errorf("a number above 0 with one of the units %s", strings.Join(all, ", "))
	}
	return n * unit, nil
}

func lookUp[V any](names map[string]V, name string) (V, error) {
	v, ok := names[name]
	if !ok {
		var all []string
		for n := range names {
			all = append(all, n)
		}
		slices.Sort(all)
		return v, fmt.Errorf("there is no %q; there are %s", name, strings.Join(all, ", "))
	}
	return v, nil
}
