// Baseline compares measurements of `rddp perf` with a baseline in a file, or writes that file:
//
//	make build && go run -C conformance/lab ./baseline -rddp "$PWD/bin/rddp" "$PWD/conformance/bench/baseline.json"
//
// `make bench-check` and `make bench-baseline` run it. It measures its rows next to plain TCP, with
// all ends on one CPU and the congestion control cubic. It judges by the cost of a row: the
// processor time of both ends for one operation, divided by plain TCP's in the same round. Rates
// depend on what else the machine does; this cost hardly does. A row is dearer if its cost has
// grown by more than 15 %, and all its runs cost more than those of the baseline. One measurement
// may be bad luck, so such a row is measured again before it counts as a loss.
//
// Why 15 %: on a virtual machine with two processors (Intel Xeon, model 207), medians of three runs
// differed by at most 6 % (short echoes: 14 %) between three measurements on a quiet machine, and
// by at most 12 % beside a program that computed without pause (one short echo by 23 %, with
// overlap).
// So such a program fails no check, and 5 µs more for each message of a byte stream fail it in all
// four rows with byte streams and in no other.
package main
