// Package process accesses the memory of another process, which need not cooperate: it may compute,
// wait, or be stopped. It works for processes of the same user, without privilege, if the kernel
// allows one process to debug another.
package process
