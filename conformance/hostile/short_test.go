//go:build !conformance

package hostile

const full = false
