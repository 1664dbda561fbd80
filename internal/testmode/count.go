package testmode

// Count returns full if Full is true, and else short, which a test has done in seconds.
func Count(full, short int) int {
	if Full {
		return full
	}
	return short
}
