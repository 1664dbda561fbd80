package check

// A Kind is a kind of mistake.
type Kind uint8

// The kinds.
const (
	Leak Kind = iota
	Unmapped
	kinds
)

// kindTable has the name of each kind, as in suppressions, and the rule that the program breaks. A
// note is no mistake by itself.
var kindTable = [kinds]struct {
	name, rule string
	note       bool
}{
	Leak:     {"leak", "a program destroys what it has created: the man page of each function that creates names the one that destroys", false},
	Unmapped: {"unmapped", "registered memory stays mapped until ibv_dereg_mr(3) has returned: a card keeps the old pages, and does not see the new ones", false},
}

// String returns the name of the kind.
func (k Kind) String() string { return kindTable[k].name }

// Rule returns the rule that the program breaks, and where it is written.
func (k Kind) Rule() string { return kindTable[k].rule }

// IsNote reports whether the kind is no mistake by itself.
func (k Kind) IsNote() bool { return kindTable[k].note }

// parseKind returns the kind with a name.
func parseKind(name string) (Kind, bool) {
	for k := range kinds {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}
