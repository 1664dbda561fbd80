package spec

import (
	"strings"
	"time"
)

// A Profile lists the known deviations of one kind of peer: the cases that fail with it, and the
// reasons.
type Profile struct {
	Name string
	// Deviations is indexed by the ID of the case. If a deviation concerns one role only, the role
	// follows after '@': "5044/7.1.1/wrong-key@initiator".
	Deviations map[string]Deviation
	// Races are deviations that may appear in any case, now and then; Got is all of Result.Got. A
	// case that fails so is asked again. If it fails so maxTries times, it fails.
	Races []Deviation
	// Stall, if not empty, says why a Responder may leave the first FPDU unread. A case in which it
	// has sent nothing after its Reply, and keeps the connection open, is asked again, as with
	// Races.
	Stall string
	// Harmful lists cases that are not asked because they would harm the peer's machine. The IDs
	// are as in Deviations.
	Harmful map[string]string
	// Pause is the time between startup and the first FPDU of an Initiator.
	Pause time.Duration
}

// A Deviation describes a case that fails, and how it fails.
type Deviation struct {
	Sentence string // describes it
	Got      string // is in Result.Got: with any other answer the case fails as it would without a profile
	Or       string // if not empty: may be in Result.Got instead
	Expected string // is in Result.Expected
}

// maxTries is the maximum number of times that a case is asked while it fails in a race or a stall.
const maxTries = 5

// Profiles returns all profiles by name.
func Profiles() map[string]*Profile {
	return map[string]*Profile{"rfc": {Name: "rfc"}, "siw": siw()}
}

func (p *Profile) name() string {
	if p == nil {
		return "rfc"
	}
	return p.Name
}

func (p *Profile) pause() time.Duration {
	if p == nil {
		return 0
	}
	return p.Pause
}

// known returns the sentence for a case that has failed in a known way.
func (p *Profile) known(id string, part Part, expected, got string) (sentence string, ok bool) {
	if p == nil {
		return "", false
	}
	d, ok := lookUp(p.Deviations, id, part)
	if !ok || !strings.Contains(expected, d.Expected) {
		return "", false
	}
	if !strings.Contains(got, d.Got) && (d.Or == "" || !strings.Contains(got, d.Or)) {
		return "", false
	}
	return d.Sentence, true
}

// race returns the sentence for a failure that may disappear when the case is asked again.
func (p *Profile) race(expected, got string) (sentence string, ok bool) {
	if p == nil {
		return "", false
	}
	for _, d := range p.Races {
		if got == d.Got && strings.Contains(expected, d.Expected) {
			return d.Sentence, true
		}
	}
	return "", false
}

// again reports whether a failed case is to be asked again.
func (p *Profile) again(r Result) bool {
	_, race := p.race(r.Expected, r.Got)
	return race || p.stalls() && r.mute
}

func (p *Profile) stalls() bool { return p != nil && p.Stall != "" }

func (p *Profile) harmful(id string, part Part) (sentence string, ok bool) {
	if p == nil {
		return "", false
	}
	return lookUp(p.Harmful, id, part)
}

func lookUp[T any](list map[string]T, id string, part Part) (entry T, ok bool) {
	if entry, ok = list[id+"@"+part.String()]; !ok {
		entry, ok = list[id]
	}
	return entry, ok
}
