//go:build !linux

package main

func reserve() (port int, release func(), err error) { return 0, nil, errUnsupported }

func listening(int) (port int, err error) { return 0, errUnsupported }
