//go:build !conformance

package rdmap

const full = false // about a hundredth of the cases
