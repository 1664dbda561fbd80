//go:build conformance

package extsock

// Full says that tests take the full counts of cases.
const Full = true
