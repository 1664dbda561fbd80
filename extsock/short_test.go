//go:build !conformance

package extsock_test

const full = false // about a hundredth of the cases
