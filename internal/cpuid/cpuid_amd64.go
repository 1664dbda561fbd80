package cpuid

// ID returns the registers EAX, EBX, ECX and EDX that the CPUID instruction sets for this leaf. A
// leaf above the highest of the CPU, which is EAX of leaf 0, has no meaning.
func ID(leaf, subleaf uint32) (a, b, c, d uint32)

// IsIntel reports whether Intel made the CPU.
func IsIntel() bool {
	_, b, c, d := ID(0, 0)
	return b == 'G'|'e'<<8|'n'<<16|'u'<<24 && d == 'i'|'n'<<8|'e'<<16|'I'<<24 && c == 'n'|'t'<<8|'e'<<16|'l'<<24
}
