//go:build conformance

package extsock_test

const full = true // the full counts of cases
