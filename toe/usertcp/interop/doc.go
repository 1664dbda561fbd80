// Package interop contains only tests of this stack over the TCP in user space, against siw. They
// have the build tag interop, and have the same requirements as conformance/interop.
package interop
