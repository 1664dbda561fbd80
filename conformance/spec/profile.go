package spec

import (
	"strings"
	"time"
)

// A Profile has the known deviations of one kind of peer: cases that fail with it, and why.
type Profile struct {
	Name string
	// Deviations are by the ID of the case; behind a '@' the part, where it is only one:
	// "5044/7.1.1/wrong-key@initiator".
	Deviations map[string]Deviation
	// Races are deviations that may come in any case, now and then; Got is the whole of Result.Got. They excuse nothing:
	// a case that fails so is asked again, and fails when it has failed so maxTries times.
	Races []Deviation
	// Harmful are cases that are not asked, for what they would do to the peer's machine; IDs as in Deviations.
	Harmful map[string]string
	// Pause is between startup and the first FPDU of an Initiator.
	Pause time.Duration
}

// A Deviation is a case that fails, and how.
type Deviation struct {
	Sentence string // describes it
	Got      string // is in Result.Got: with any other answer the case fails as it would without a profile
	Or       string // if not empty: may be in Result.Got instead
	Expected string // is in Result.Expected
}

// maxTries is how often a case is asked that fails in a race.
const maxTries = 5

// Profiles returns all profiles, by name.
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

// known returns the sentence for a case that has failed in this way.
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

// race returns the sentence for a failure that may be gone when the case is asked again.
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
