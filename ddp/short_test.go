//go:build !conformance

package ddp

const full = false // about a hundredth of the cases
