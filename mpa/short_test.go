//go:build !conformance

package mpa

const full = false // about a hundredth of the cases
