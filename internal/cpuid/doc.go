// Package cpuid asks an x86 CPU what it is. It is for packages with assembly that choose by the
// maker of the CPU, or by a feature that golang.org/x/sys/cpu does not report. On other
// architectures the package is empty.
package cpuid
