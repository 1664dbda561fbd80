package main

import "syscall"

func setCongestion(fd int, name string) error {
	return syscall.SetsockoptString(fd, syscall.IPPROTO_TCP, syscall.TCP_CONGESTION, name)
}
