//go:build !linux

package perf

func coldMemory(int) (small, huge []byte, free func()) { return nil, nil, nil }
