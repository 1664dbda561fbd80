package pipeline_test

import (
	"errors"
	"fmt"

	"github.com/rddp/rddp/conformance/lab/pipeline"
)

// The effect of cut-through on the latency of 32 KiB on the E-UDP testbed.
func ExampleModel() {
	testbed := pipeline.Presets()[0]
	for _, pipelining := range []pipeline.Pipelining{pipeline.Coarse, pipeline.Fine} {
		m, err := pipeline.NewModel(testbed, pipelining)
		if err != nil {
			fmt.Println(err)
			return
		}
		const n = 32 << 10
		fmt.Printf("%v: %.0f µs, %.0f Mb/s, limited by %s\n", pipelining, m.Latency(n).Microseconds(), m.Bandwidth(n)*8e-6, m.Bottleneck(n))
	}
	// Output:
	// coarse: 770 µs, 951 Mb/s, limited by SDMA
	// fine: 320 µs, 951 Mb/s, limited by SDMA
}

// A Sim shows the progress of each message, event by event.
func ExampleSim() {
	s, err := pipeline.NewSim(pipeline.Presets()[5], pipeline.Fine)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range []int{64, 10_000} {
		if _, err := s.Post(0, n); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := s.Run(); err != nil {
		fmt.Println(err)
		return
	}
	for o, ok := s.Outcome(); ok; o, ok = s.Outcome() {
		fmt.Printf("%4d ns: message %d %v, %d bytes\n", o.At.Duration(), o.Message, o.Kind, o.Bytes)
	}
	// Output:
	//  765 ns: message 0 completed, 64 bytes
	// 1120 ns: message 1 completed, 10000 bytes
	// 1436 ns: message 0 arrived, 64 bytes
	// 1760 ns: message 1 arrived, 8928 bytes
	// 1792 ns: message 1 arrived, 1072 bytes
	// 1936 ns: message 0 delivered, 64 bytes
	// 2292 ns: message 1 delivered, 10000 bytes
}

// The host queue takes descriptors when the engine queue is full, until it is also full.
func ExampleQueue() {
	q := pipeline.NewQueue[string](1, 1)
	for _, d := range []string{"first", "second", "third"} {
		level, err := q.Post(d)
		if full := (*pipeline.QueueFullError)(nil); errors.As(err, &full) {
			fmt.Println(d, "refused")
			continue
		}
		fmt.Println(d, "in the queue of the", level)
	}
	q.Take()
	d, refilled := q.Complete()
	fmt.Println(d, "completed, refilled:", refilled)
	// Output:
	// first in the queue of the engine
	// second in the queue of the host
	// third refused
	// first completed, refilled: true
}
