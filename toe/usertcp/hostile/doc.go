// Package hostile contains only tests. They are attacks on connections over the TCP in user space:
// packets that are forged, spoofed, repeated with other bytes or held back, and bad networks
// between two TCPs in user space, or between one and the kernel's. conformance/threats.md lists the
// attacks. With the build tag conformance the tests run in full; without it they take seconds.
package hostile
