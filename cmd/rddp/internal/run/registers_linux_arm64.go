package run

import "golang.org/x/sys/unix"

// registers are those of a thread that has just made a system call.
type registers struct{ unix.PtraceRegsArm64 }

const generalRegisters = 1 // NT_PRSTATUS

func (r *registers) get(thread int) error {
	return unix.PtraceGetRegSetArm64(thread, generalRegisters, &r.PtraceRegsArm64)
}

func (r *registers) set(thread int) error {
	return unix.PtraceSetRegSetArm64(thread, generalRegisters, &r.PtraceRegsArm64)
}

// prepare has the thread repeat its instruction for calls, with another call.
func (r *registers) prepare(c threadCall) {
	const instruction = 4 // bytes
	r.Pc -= instruction
	r.Regs[8], r.Regs[0], r.Regs[1], r.Regs[2] = c.number, c.args[0], c.args[1], c.args[2]
}

func (r *registers) result() uint64 { return r.Regs[0] }

// finish has the call return a result.
func (r *registers) finish(result uint64) { r.Regs[0] = result }
