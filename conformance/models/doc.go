// Package models contains Promela models of the protocols that this stack adds to the RFCs. A test
// has spin search all states of each model. Each model also has variants that are broken on
// purpose, and spin must find the error in each variant.
//
// The test has the build tag models and needs Debian's spin and gcc. Without them it fails; it
// never skips:
//
//	go test -tags models ./conformance/models/
//
// README.md says what is modeled, within which bounds, and what each broken variant shows.
package models
