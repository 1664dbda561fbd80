//go:build !race

package extsock

const raceEnabled = false
