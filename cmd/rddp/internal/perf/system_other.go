//go:build !linux

package perf

import "syscall"

func setCongestion(syscall.RawConn, string) error { return ErrUnsupported }

func systemCongestion() string { return "" }

func congestionOf(syscall.RawConn) (string, error) { return "", ErrUnsupported }

func machine() string { return "" }

func resident() int64 { return 0 }

func pin(int) (pinned int, unpin func(), err error) { return 0, nil, ErrUnsupported }
