// Package hostile contains only tests, which connect silent peers to the command's servers.
// conformance/hostile does the same with the extended socket.
package hostile
