// The TCP in user space, and the tests that need it. It has a go.mod of its own so that a program
// which does not use it need not know gVisor.
module github.com/rddp/rddp/toe/usertcp

go 1.26.3

require (
	github.com/google/gopacket v1.1.19
	github.com/rddp/rddp v0.0.0
	go.uber.org/goleak v1.3.0
	golang.org/x/net v0.58.0
	golang.org/x/sys v0.47.0
	gvisor.dev/gvisor v0.0.0-20260905035102-160fafc42237
)

require (
	github.com/google/btree v1.1.2 // indirect
	github.com/klauspost/crc32 v1.3.0 // indirect
	golang.org/x/exp v0.0.0-20250711185948-6ae5c78190dc // indirect
	golang.org/x/time v0.15.0 // indirect
)

replace github.com/rddp/rddp => ../..
