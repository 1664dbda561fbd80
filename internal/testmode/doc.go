// Package testmode tells tests in what way they were built: it has a constant for each build tag that changes what a test
// asserts or how much it does.
package testmode
