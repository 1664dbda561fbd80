//go:build race

package mpa

const raceEnabled = true
