// Package hostile holds no code: its tests are hostile peers, many connections over real sockets, and figures for what
// the stack must withstand. They are named for the groups of threats: H is MPA startup, Q queues and memory, R Reads.
// With the build tag conformance they run in full, without it in seconds.
package hostile
