package extsock

// FallbackCounts is what the process has counted.
func FallbackCounts() []uint64 { c := fallbackCounts(); return c[:] }

// Remembered returns how many addresses d remembers.
func Remembered(d *Dialer) int {
	d.plain.mu.Lock()
	defer d.plain.mu.Unlock()
	return len(d.plain.places)
}

// RaceEnabled says whether the race detector is on, with which everything takes ten times as long.
const RaceEnabled = raceEnabled

// ForgetCrossovers has them measured anew.
func ForgetCrossovers() {
	crossovers.mu.Lock()
	defer crossovers.mu.Unlock()
	clear(crossovers.m)
}
