// Early measures the benefit of early placement over a link that delays and loses packets. `make
// early` runs it, and docs/early.md has the results.
//
// # How it measures
//
//   - A trial has one connection or several, from one Stack of toe/usertcp to another, over a link
//     of toe/badlink in memory. Each posts RDMA Writes for a time. The trial ends when their
//     payload is in place. The bytes behind the gaps of all connections count together.
//   - For each link, loss and round there are two trials at once, with the same seed: one with
//     early placement and one without. The receiving Stream of the second shows nothing early
//     (usertcp.Stream.ShowEarly). Everything else is equal: both have Markers and FPDUs that fit
//     segments.
//   - A segment arrives when the receiving Stack reads its packet from the link, before the tap and
//     TCP see the packet.
//   - Payload counts as in place when the connection calls ReadSegment again after the run that
//     contained the payload, and the Region has the bytes. So the times are upper bounds.
//   - The bytes of an FPDU that is in place need no buffer: its headers and CRC have been used, and
//     the rest is where it belongs. All other bytes that have arrived behind a gap wait.
//   - The first quarter of a trial counts only for the maximum values of slow start. In slow start
//     the window grows until a segment is lost, so far more may wait than later. The rest counts
//     until the first connection has posted its last Write.
//   - The figures of the rounds are combined: means and percentiles are those of all segments of
//     all rounds, and a maximum is that of all rounds.
//
// The measured packages contain no code for the measurement. This program wraps both ends of the
// link and the Streams of both ends.
package main
