//go:build !linux

package main

import "errors"

func setCongestion(int, string) error { return errors.ErrUnsupported }
