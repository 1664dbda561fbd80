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
	// Anywhere are deviations that may come in any case, now and then.
	Anywhere []Deviation
	// Harmful are cases that are not asked, for what they would do to the peer's machine; IDs as in Deviations.
	Harmful map[string]string
	// Pause is between startup and the first FPDU of an Initiator.
	Pause time.Duration
}

// A Deviation is a case that fails, and how.
type Deviation struct {
	Sentence string // describes it
	Got      string // is in Result.Got: with any other answer the case fails as it would without a profile
	Expected string // is in Result.Expected
}

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
	list := p.Anywhere
	if d, ok := lookUp(p.Deviations, id, part); ok {
		list = append([]Deviation{d}, list...)
	}
	for _, d := range list {
		if strings.Contains(got, d.Got) && strings.Contains(expected, d.Expected) {
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
