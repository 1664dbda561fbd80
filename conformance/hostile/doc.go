// Package hostile holds no code: its tests are hostile peers and what becomes of connections under fire: cut at every octet, flooded,
// killed, left half-way. They print their figures. With the build tag conformance they run in full, and without it in seconds.
package hostile
