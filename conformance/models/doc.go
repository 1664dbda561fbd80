// Package models holds Promela models of the protocols that this stack adds to the RFCs, and a test that has
// spin search all their states, and finds in each the errors that it is broken on purpose to have.
//
// The test has the build tag models and needs Debian's spin and gcc; without them it fails, it never skips:
//
//	go test -tags models ./conformance/models/
//
// README.md tells what is modelled, within which bounds, and what each broken variant shows.
package models
