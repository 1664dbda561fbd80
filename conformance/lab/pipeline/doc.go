// Package pipeline simulates a protocol offload engine in virtual time, and computes the results of
// the simulation in closed form. It is the timed variant of package simtoe: simtoe moves bytes, and
// this package determines when they move.
//
// The engine is that of the research on which rddp builds, E-UDP on Myrinet, and of later hardware.
// A host posts descriptors of messages to a two-level [Queue]. The sender's engine reads the
// messages from host memory by DMA, packet by packet, processes them and sends them on a link. The
// receiver's engine processes them and writes them to host memory by DMA. These are the five stages
// of a pipeline. [Params] has the cost of each stage for a packet and for a byte, and [Presets] has
// parameters for links of 1 to 400 Gb/s.
//
// # Pipelining
//
// With [Coarse] pipelining (store and forward) a stage begins a packet when all of it has arrived.
// With [Fine] pipelining (cut-through) a stage begins when a threshold has arrived, so the stages
// work on one packet at the same time. A stage never passes bytes that have not arrived. An
// Ethernet frame cannot pause, so there the threshold must be high enough; [Params.MinThreshold]
// computes it, and a [Sim] ends with an [UnderrunError] if it is too low.
// conformance/models/pipeline.pml is a Promela model of the threads of the stages, with the states
// of [State].
//
// # Simulation and model
//
// A [Sim] handles one event after the other. A [Model] is a formula for the latency of one message
// and the bandwidth of many. The comment of Model has the formula. The tests compare the two for
// all presets and for random parameters.
//
// # Limits
//
// The engine's memory holds everything that the descriptors in its queue describe. The receiver
// always has enough posted buffers. Nothing is lost on the link, and nothing is acknowledged: a
// message is complete when its last byte has left. Two directions meet only in a shared DMA; a
// Model describes one direction alone.
//
// The package imports nothing of this module, starts no goroutine and reads no clock.
package pipeline
