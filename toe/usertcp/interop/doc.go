// Package interop contains only tests: of this stack over the TCP in user space, against siw. They
// have the build tag interop, and need what conformance/interop needs.
package interop
