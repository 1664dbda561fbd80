// Breakdown shows where the time of a message goes. It reads the output of `rddp perf --json`, and
// measures each size, CRC and operation (write, read, and send for messages) that ran at depth 1,
// with the same settings:
//
//	rddp perf --self --one-cpu --op write,read,message --depth 1 --json | go run -C conformance/lab ./breakdown
//
// One goroutine drives toe, mpa, ddp and rdmap of both ends by hand, over a connection of its own.
// This program reads the clock between the calls, so the layers need none. The same goroutine also
// writes and reads the bytes by plain TCP. Then the sum of the steps is compared with plain TCP,
// and with the time of the whole stack. If rddp perf ran on one CPU, this program runs itself on
// the same one, with taskset. Otherwise a write to TCP may include the wake-up of a thread that
// polls sockets.
//
// With -json it prints its input again, and then one object for each breakdown. The program figures
// draws them.
package main
