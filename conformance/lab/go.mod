// The laboratory: what compares, measures, or needs other people's projects. Nothing here decides
// conformance, and no program links it.
module github.com/rddp/rddp/conformance/lab

go 1.26.3

require (
	github.com/rddp/rddp v0.0.0
	github.com/rddp/rddp/toe/usertcp v0.0.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/google/btree v1.1.2 // indirect
	github.com/google/gopacket v1.1.19 // indirect
	github.com/klauspost/crc32 v1.3.0 // indirect
	golang.org/x/exp v0.0.0-20250711185948-6ae5c78190dc // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	gvisor.dev/gvisor v0.0.0-20260905035102-160fafc42237 // indirect
)

replace (
	github.com/rddp/rddp => ../..
	github.com/rddp/rddp/toe/usertcp => ../../toe/usertcp
)
