// Figures draws what `rddp perf --json`, `breakdown -json` and `model -json` print, which it
// reads from standard input or from a file:
//
//	rddp perf --self --json | go run -C conformance/lab ./figures -html /tmp/perf.html
//	go run -C conformance/lab ./model -json | go run -C conformance/lab ./figures -svg "$PWD/docs/engine"
//
// -html writes a document with the figures and all values as tables. It needs nothing else: no
// script, no style sheet, no picture. -svg writes each figure to a file of its own, whose name
// begins with what -svg says. Figures of rddp perf have error bars from the lowest to the highest
// round; those of a latency go from the median to the 99th percentile.
package main
