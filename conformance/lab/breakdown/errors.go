package main

import "errors"

var (
	errStranger     = errors.New("a stranger connected")
	errNoCompletion = errors.New("an operation without its Completion")
	errNoJobs       = errors.New("the input has no write, read or message at depth 1")
)
