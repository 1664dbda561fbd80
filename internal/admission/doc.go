// Package admission decides which connections keep their place when there are too many. Silent
// connections make room for newcomers, and no source can take the places of another one.
//
// A limit alone lets a few peers lock out everybody else: they open as many connections as the
// limit allows. So a [Limiter] counts connections by [Source], and a [Place] goes through these
// states:
//
//	New ──Enter──► quiet ──Heard──► held
//	                 │        └───► lent ─ a place that was held becomes free ─► held
//	                 │                └──── a connection that may hold it needs it ─► displaced
//	                 └───────────────────── a newcomer finds no room ───────────────► displaced
//
// # Quiet
//
// The peer of a quiet connection has not sent what the server needs. An honest peer sends it within
// a round trip, so the connection that has been quiet longest is the least likely to be an honest
// peer's. If there are too many quiet connections, the source that has most of them loses its
// oldest one. So a flood from one source displaces its own connections, and an honest peer
// elsewhere keeps its place.
//
// # Held and lent
//
// Peers could still hold all places by sending a little and then nothing. So a source may hold at
// most as many places as it leaves free: one source at most half of them, two sources a third each.
// (Switches share their buffers in this way: Choudhury and Hahne, 1998.) A held place is never
// taken away. Further places are lent to a source until a connection that may hold a place needs
// one; the place lent last is taken back first. So a single source can use all places, but any
// other source still finds room. If n sources take as many places as they can, 1/(n+1) of the
// places are free for others.
//
// If quiet connections share the places with the others, they may take back lent places, but at
// most a sixteenth of all places. Beyond that they compete with each other.
//
// # Limits
//
// Peers of one source, such as those behind one proxy, compete with each other. If there are as
// many sources as places, they can still take all places.
package admission
