//go:build amd64 || arm64

package run

import (
	"bytes"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Apart has another process carry this command out if Run could not leave the program's session in this
// one, because it leads its process group: a shell with job control has started it, or it is the first
// process of a container. Apart then waits, and what a parent sees is as if this process had run the
// program: signals, process group, and end. done is false if this process must go on by itself. Whoever
// uses Run should call Apart before anything that must not be done twice.
func Apart() (status int, done bool) {
	if unix.Getpgrp() != os.Getpid() || !sessionsCount() {
		return 0, false
	}
	// The other process is killed when this thread ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := newForwarder()
	defer signals.stop()
	pid, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, false
	}
	signals.pid.Store(int64(pid))
	var w unix.WaitStatus
	for {
		if _, err = unix.Wait4(pid, &w, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if w.Signaled() {
		endBy(w.Signal())
		return 128 + int(w.Signal()), true
	}
	return w.ExitStatus(), true
}

// beApart moves this process into a session of its own, after the program has started, which stays in
// its own session and process group. Linux shares the processors among sessions first, if sessionsCount.
// A program with many threads that compute then has one share, not one for each thread, beside its
// device. See Apart for a process that can't move.
func beApart() { _, _ = unix.Setsid() }

// sessionsCount reports whether Linux shares the processors among sessions. It is wrong where a cgroup
// does that, and then nothing is lost but one process more.
func sessionsCount() bool {
	b, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled")
	return err == nil && bytes.HasPrefix(b, []byte("1"))
}
