package place

import (
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/rddp/rddp/internal/cpuid"
)

// TestChoice checks the rule by which Copy gets its kernel, and that the rule is applied to the CPU
// of this machine.
func TestChoice(t *testing.T) {
	tests := []struct {
		intel, erms bool
		want        kernel
	}{{false, false, plain}, {false, true, plain}, {true, false, plain}, {true, true, rep}}
	for _, tt := range tests {
		if got := choose(tt.intel, tt.erms); got != tt.want {
			t.Errorf("Intel %v, ERMS %v: %v, want %v", tt.intel, tt.erms, got, tt.want)
		}
	}
	t.Logf("Intel %v, ERMS %v: Copy uses %v", cpuid.IsIntel(), hasERMS(), cached)
	if want := choose(cpuid.IsIntel(), cpu.X86.HasERMS); cached != want {
		t.Errorf("Copy uses %v, want %v", cached, want)
	}
}

// TestERMS compares the reading of CPUID with that of another package.
func TestERMS(t *testing.T) {
	if got, want := hasERMS(), cpu.X86.HasERMS; got != want {
		t.Errorf("hasERMS() = %v, want %v", got, want)
	}
}
