// Baseline compares measurements of `rddp perf` with a baseline in a file, or writes that file:
//
//	make build && go run -C conformance/lab ./baseline -rddp "$PWD/bin/rddp" "$PWD/conformance/bench/baseline.json"
//
// `make bench-check` and `make bench-baseline` run it. It measures its rows next to plain TCP, with
// all ends on one CPU and the congestion control cubic, because such ratios can be compared with
// those of another day. A row is slower if it has lost more than 5 % and more than the spread of
// the rounds. One measurement may be bad luck, so such a row is measured again before it counts as
// a loss.
package main
