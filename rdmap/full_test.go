//go:build conformance

package rdmap

const full = true // the full counts of cases
