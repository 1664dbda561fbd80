// Package hostile holds no code: its tests put peers that say nothing in front of the command's servers. It is the sibling
// of conformance/hostile, which does this to the extended socket.
package hostile
