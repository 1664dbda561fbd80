//go:build conformance

package testmode

// Full is true with the build tag conformance. Tests then run as often as the requirements say,
// which takes minutes.
const Full = true
