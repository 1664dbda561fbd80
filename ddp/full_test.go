//go:build conformance

package ddp

const full = true // the full counts of cases
