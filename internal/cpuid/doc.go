// Package cpuid identifies an x86 CPU. It is for packages whose assembly depends on the maker of
// the CPU, or on a feature that golang.org/x/sys/cpu does not report. On other architectures the
// package is empty.
package cpuid
