//go:build conformance

package mpa

const full = true // the full counts of cases
