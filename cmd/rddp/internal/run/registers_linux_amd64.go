package run

import "golang.org/x/sys/unix"

// registers are those of a thread that has just made a system call.
type registers struct{ unix.PtraceRegs }

func (r *registers) get(thread int) error { return unix.PtraceGetRegs(thread, &r.PtraceRegs) }
func (r *registers) set(thread int) error { return unix.PtraceSetRegs(thread, &r.PtraceRegs) }

// prepare has the thread repeat its instruction for calls, with another call.
func (r *registers) prepare(c threadCall) {
	const instruction = 2 // bytes
	r.Rip -= instruction
	r.Rax, r.Rdi, r.Rsi, r.Rdx, r.Orig_rax = c.number, c.args[0], c.args[1], c.args[2], ^uint64(0)
}

func (r *registers) result() uint64 { return r.Rax }

// finish has the call return a result.
func (r *registers) finish(result uint64) { r.Rax, r.Orig_rax = result, ^uint64(0) }
