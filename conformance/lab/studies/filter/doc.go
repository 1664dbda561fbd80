// Filter is a study: a stream of blocks flows from a source through copies of a filter to a sink,
// as in DataCutter. `make study-filter` runs it, and docs/studies/filter.md has the results.
//
// # Parts
//
// Each copy of the filter is a process. Another process is both source and sink, so that one clock
// measures how long a block takes. It has one connection with each copy: blocks go out on it, and
// come back in the same order. At most a window of blocks is on the way through a copy.
//
// A filter takes a fixed time for each byte, as if it had its own processor. It waits instead of
// computing, because the machine has fewer processors than the study has processes. A block that
// arrives while another one is filtered waits for its turn. One copy may be slower than the others
// by a factor.
//
// # Schedules
//
// Round-robin gives blocks to the copies in turn, and waits for the copy whose turn it is. Demand-
// driven gives a block to the copy with the fewest blocks on the way.
//
// # Checks
//
// The sink checks that each block comes back once, in its order, with all its bytes.
package main
