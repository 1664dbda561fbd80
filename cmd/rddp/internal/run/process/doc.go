// Package process reaches the memory of another process, which need not help: it may compute, wait,
// or be stopped. It works for processes of the same user, without privilege, where the kernel lets
// one process debug another.
package process
