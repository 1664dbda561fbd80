package uverbs

import (
	"syscall"
	"testing"
)

// A testHandler returns e from all that can fail, and numbers that differ.
type testHandler struct{ e syscall.Errno }

var testMapping = Mapping{Offset: 0x1000, Size: 0x2000}

func (h *testHandler) GetContext() (uint32, syscall.Errno)                  { return 1, h.e }
func (h *testHandler) CreateCompChannel() (uint32, syscall.Errno)           { return 1, h.e }
func (h *testHandler) QueryDevice() Device                                  { return Device{MaxQP: 1} }
func (h *testHandler) QueryPort(uint8) (uint32, syscall.Errno)              { return 1, h.e }
func (h *testHandler) AllocPD() uint32                                      { return 1 }
func (h *testHandler) DeallocPD(uint32) syscall.Errno                       { return h.e }
func (h *testHandler) CreateAH(uint32, Address) (uint32, syscall.Errno)     { return 1, h.e }
func (h *testHandler) DestroyAH(uint32) syscall.Errno                       { return h.e }
func (h *testHandler) RegMR(MemoryRegion) (uint32, uint32, syscall.Errno)   { return 1, 2, h.e }
func (h *testHandler) ReregMR(MemoryRegion) (uint32, syscall.Errno)         { return 1, h.e }
func (h *testHandler) DeregMR(uint32) syscall.Errno                         { return h.e }
func (h *testHandler) AllocMW(MemoryWindow) (uint32, uint32, syscall.Errno) { return 1, 2, h.e }
func (h *testHandler) DeallocMW(uint32) syscall.Errno                       { return h.e }
func (h *testHandler) CreateCQ(CQ) (uint32, uint32, Mapping, syscall.Errno) {
	return 1, 2, testMapping, h.e
}
func (h *testHandler) ResizeCQ(uint32, uint32) (uint32, Mapping, syscall.Errno) {
	return 1, testMapping, h.e
}
func (h *testHandler) ReqNotifyCQ(uint32, bool) syscall.Errno           { return h.e }
func (h *testHandler) DestroyCQ(uint32) (uint32, uint32, syscall.Errno) { return 1, 2, h.e }
func (h *testHandler) CreateQP(QP) (CreatedQP, syscall.Errno) {
	return CreatedQP{1, 2, Caps{3, 4, 5, 6, 7}, testMapping, Mapping{}}, h.e
}
func (h *testHandler) QueryQP(uint32) (QPState, syscall.Errno)  { return QPState{SignalAll: true}, h.e }
func (h *testHandler) ModifyQP(Change) syscall.Errno            { return h.e }
func (h *testHandler) DestroyQP(uint32) (uint32, syscall.Errno) { return 1, h.e }
func (h *testHandler) CreateSRQ(SRQ) (uint32, uint32, Mapping, syscall.Errno) {
	return 1, 2, testMapping, h.e
}
func (h *testHandler) ModifySRQ(SRQChange, uint64, bool) syscall.Errno { return h.e }
func (h *testHandler) QuerySRQ(uint32) (SRQState, syscall.Errno)       { return SRQState{1, 2, 3}, h.e }
func (h *testHandler) DestroySRQ(uint32) (uint32, syscall.Errno)       { return 1, h.e }

// TestExecute: the answers are as long as the kernel's headers say, input that is too short is
// EINVAL, and a command that fails has no answer.
func TestExecute(t *testing.T) {
	// The lengths of answers in bytes, for the program and for rxe's provider.
	answers := map[Command][2]int{
		GetContext: {8}, QueryDevice: {176}, QueryDevice | Extended: {304}, QueryPort: {40}, AllocPD: {4}, DeallocPD: {}, CreateAH: {4, 8},
		DestroyAH: {}, RegMR: {12}, ReregMR: {8}, DeregMR: {}, AllocMW: {8}, DeallocMW: {}, CreateCompChannel: {4}, CreateCQ: {8, 16},
		CreateCQ | Extended: {16, 16}, ResizeCQ: {8, 16}, DestroyCQ: {8}, ReqNotifyCQ: {}, CreateQP: {32, 32}, CreateQP | Extended: {44, 32},
		QueryQP: {128}, ModifyQP: {}, ModifyQP | Extended: {8}, DestroyQP: {4}, CreateSRQ: {16, 24}, ModifySRQ: {}, QuerySRQ: {16}, DestroySRQ: {4},
	}
	// These commands have no fields, or need none of them.
	fieldless := map[Command]bool{GetContext: true, QueryDevice: true, QueryDevice | Extended: true, AllocPD: true, CreateCompChannel: true}
	if len(answers) != len(executors) {
		t.Errorf("%d commands are executed, want %d", len(executors), len(answers))
	}
	in := make([]byte, 128)
	for cmd, want := range answers {
		out, driverOut, e := Execute(&testHandler{}, cmd, in, in)
		if e != 0 || len(out) != want[0] || len(driverOut) != want[1] {
			t.Errorf("%v: %d and %d bytes, %v, want %v", cmd, len(out), len(driverOut), e, want)
		}
		if _, _, e := Execute(&testHandler{}, cmd, nil, nil); (e == 0) != fieldless[cmd] || e != 0 && e != syscall.EINVAL {
			t.Errorf("%v without input: %v", cmd, e)
		}
		out, driverOut, e = Execute(&testHandler{syscall.EBUSY}, cmd, in, in)
		if canFail := cmd&^Extended != QueryDevice && cmd != AllocPD; canFail && (e != syscall.EBUSY || out != nil || driverOut != nil) {
			t.Errorf("%v that fails: %x, %x, %v", cmd, out, driverOut, e)
		}
	}
	for _, cmd := range []Command{4711, QueryPort | Extended} {
		if _, _, e := Execute(&testHandler{}, cmd, in, in); e != syscall.EOPNOTSUPP {
			t.Errorf("%v: %v", cmd, e)
		}
	}
}
