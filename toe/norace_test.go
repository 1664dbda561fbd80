//go:build !race

package toe_test

const raceEnabled = false
