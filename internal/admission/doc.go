// Package admission decides which connections keep their place when there are too many: those that
// say nothing make room for newcomers, and no source can take the places of another one.
//
// A limit alone lets a few peers keep everybody out: as many of them as the limit allows take all
// places. So a [Limiter] counts connections by [Source], and a [Place] goes through these states:
//
//	New ──Enter──► quiet ──Heard──► held
//	                 │        └───► lent ─ a place that was held becomes free ─► held
//	                 │                └──── a connection that may hold it needs it ─► displaced
//	                 └───────────────────── a newcomer finds no room ───────────────► displaced
//
// # Quiet
//
// The peer of a quiet connection has not said what the server needs. An honest peer does so within
// a round trip, so the connection that has been quiet longest is the least likely to be an honest
// peer's. If there are too many, a connection of the source that has most of them loses its place,
// the oldest one. So a flood from one source displaces its own connections, and an honest peer
// elsewhere keeps its place.
//
// # Held and lent
//
// Peers that have spoken could still hold all places, by saying a little and then nothing. So a
// source may hold as many places as it leaves free: one source at most half of them, two sources a
// third each. (Switches share their buffers in this way: Choudhury and Hahne, 1998.) Nobody takes a
// place that is held. What a source needs beyond that it has on loan as long as no connection that
// may hold a place needs it; the place that was lent last goes first. So a single source can use
// all places, and yet any other one finds room. With n sources that take what they can, 1/(n+1) of
// the places are free for others.
//
// If quiet connections share the places with the others, they may take back lent ones, but not more
// than a sixteenth of all places: then they compete with each other.
//
// # Limits
//
// Peers of one source compete with each other: those behind one proxy, for example. As many sources
// as there are places can still take all of them.
package admission
