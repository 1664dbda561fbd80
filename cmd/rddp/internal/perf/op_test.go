package perf

import (
	"fmt"
	"slices"
	"testing"
)

func TestJobs(t *testing.T) {
	tests := []struct {
		desc string
		o    Options
		size int
		want []string
	}{
		{"every depth and post", Options{Ops: []string{"write"}, Sizes: []int{64}, Depths: []int{4, 1}}, 64,
			[]string{"write of 64 bytes, 1 one, CRC on", "write of 64 bytes, 4 one, CRC on", "write of 64 bytes, 4 batch, CRC on"}},
		{"batches of one", Options{Ops: []string{"write"}, Sizes: []int{64}, Depths: []int{1}, Posts: []string{PostBatch}}, 64,
			[]string{"write of 64 bytes, 1 one, CRC on"}},
		{"named twice", Options{Ops: []string{"echo", "echo"}, Sizes: []int{5, 5}, CRC: []bool{false, true, false}}, 5,
			[]string{"echo of 5 bytes, CRC off", "echo of 5 bytes, CRC on"}},
		{"atomics have their size", Options{Ops: []string{"atomic", "echo", "tcp"}, Sizes: []int{64}, Depths: []int{1}}, atomicSize,
			[]string{"atomic of 8 bytes, 1 one, CRC on"}},
		{"another size", Options{Ops: []string{"atomic", "echo", "tcp"}, Sizes: []int{64}, Depths: []int{1}}, 64, []string{"echo of 64 bytes, CRC on"}},
	}
	for _, tt := range tests {
		var got []string
		for _, j := range complete(t, &tt.o).jobs(tt.size) {
			got = append(got, fmt.Sprint(j))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.desc, got, tt.want)
		}
	}
}

// Each RDMA operation is compared with the equivalent over plain TCP.
func TestReference(t *testing.T) {
	for name, want := range map[string][2]string{ // with a depth of 1 and of 16
		"write": {opTCP, opTCP}, "read": {opTCPEcho, opTCP}, "send": {opTCP, opTCP}, "atomic": {opTCPEcho, opTCPEcho},
		"stream": {opTCP, ""}, "message": {opTCPEcho, ""}, "echo": {opTCPEcho, ""}, // they have no depth
	} {
		for i, depth := range []int{1, 16} {
			op, ok := operationOf(name)
			if !ok || op.kind.posts() != (want[1] != "") {
				t.Fatalf("operation %s: %+v", name, op)
			}
			if want[i] == "" {
				continue
			}
			if got := (job{operation: op, size: 8, depth: depth}).reference().name; got != want[i] {
				t.Errorf("the reference of %s with depth %d is %s, want %s", name, depth, got, want[i])
			}
		}
	}
	o := complete(t, &Options{Ops: []string{"write", "echo"}, Sizes: []int{64}})
	var names []string
	for _, ref := range o.references(64, o.jobs(64)) {
		names = append(names, ref.name)
	}
	if !slices.Equal(names, []string{opTCP, opTCPEcho}) {
		t.Errorf("references: %q", names)
	}
}
