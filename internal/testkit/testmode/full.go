//go:build conformance

package testmode

// Full is true with the build tag conformance. Tests then run with the counts that the requirements
// name, which takes minutes.
const Full = true
