// Package hostile holds no code: its tests are hostile peers and what becomes of connections under fire: cut at every octet, flooded,
// killed, left half-way. They print their figures and are named for the groups of threats: H is MPA startup, L life and death, Q queues
// and memory, R Reads, G what Go itself brings, T the path below. With the build tag conformance they run in full, without it in seconds.
package hostile
