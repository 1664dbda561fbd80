// Package hostile contains only tests, which connect silent peers to the command's servers.
// conformance/hostile does the same to the extended socket.
package hostile
