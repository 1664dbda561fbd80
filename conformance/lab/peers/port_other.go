//go:build !linux

package main

import "errors"

// errUnsupported means that this operating system has no /proc.
var errUnsupported = errors.New("peers runs on Linux only: it reads /proc")

func reserve() (port int, release func(), err error) { return 0, nil, errUnsupported }

func listening(int) (port int, err error) { return 0, errUnsupported }
