package spec

import "time"

// A Profile has the known deviations of one kind of peer: cases that fail with it, and why.
type Profile struct {
	Name string
	// Deviations are the sentences, by the ID of the case; behind a '@' the part, where it is only one:
	// "5044/7.1.1/wrong-key@initiator".
	Deviations map[string]string
	// Pause is between startup and the first FPDU of an Initiator.
	Pause time.Duration
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

func (p *Profile) known(id string, part Part) (sentence string, ok bool) {
	if p == nil {
		return "", false
	}
	if sentence, ok = p.Deviations[id+"@"+part.String()]; !ok {
		sentence, ok = p.Deviations[id]
	}
	return sentence, ok
}

// siw is Linux's software iWARP.
func siw() *Profile {
	return &Profile{Name: "siw", Pause: 100 * time.Millisecond, Deviations: map[string]string{}}
}
