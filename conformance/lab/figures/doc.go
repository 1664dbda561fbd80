// Figures draws the output of `rddp perf --json`, `breakdown -json` and `model -json`, which it
// reads from standard input or from a file:
//
//	rddp perf --self --json | go run -C conformance/lab ./figures -html /tmp/perf.html
//	go run -C conformance/lab ./model -json | go run -C conformance/lab ./figures -svg "$PWD/docs/engine"
//	rddp perf --self --one-cpu --json | go run -C conformance/lab ./figures -ratios /tmp/ratios.svg
//
// -html writes a document with the figures and all values as tables. The document needs no script,
// style sheet or picture. -svg writes each figure to a file of its own, whose name begins with the
// value of -svg. Figures of rddp perf have error bars from the lowest to the highest round. Those
// of a latency go from the median to the 99th percentile. -ratios writes one chart, narrow enough
// for a phone, with the ratio of each operation to plain TCP; its y-axis is the same for most
// inputs.
package main
