// Model shows the performance of an offload engine on links of 1 to 400 Gb/s. For each link, each
// size of message and both kinds of pipelining it computes latency and bandwidth with the closed
// form of package conformance/lab/pipeline, simulates the same, and shows the difference. Nothing
// is measured or sent: the parameters are those of pipeline.Presets, whose comment explains the
// origin of each number.
//
// A Report contains the results. It can be written as tables or as one JSON object per line. The
// program figures draws it.
package main
