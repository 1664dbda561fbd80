// Model shows what an offload engine would do on links of 1 to 400 Gb/s. For each link, each size
// of message and both kinds of pipelining it computes latency and bandwidth with the closed form of
// package conformance/lab/pipeline, simulates the same, and shows how far the two are apart.
// Nothing is measured, and nothing is sent: the parameters are those of pipeline.Presets, whose
// comment says where each number comes from.
//
// A Report has the results. It can be written as tables and as one JSON object per line. The
// program figures draws it.
package main
