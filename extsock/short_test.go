//go:build !conformance

package extsock

// Full says that tests take about a hundredth of the cases.
const Full = false
