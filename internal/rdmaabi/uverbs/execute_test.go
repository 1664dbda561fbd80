package uverbs

import (
	"syscall"
	"testing"
)

// A testHandler returns e from all that can fail, and numbers that differ.
type testHandler struct{ err error }

var testMapping = Mapping{Offset: 0x1000, Size: 0x2000}

func (h *testHandler) GetContext() (uint32, error)                  { return 1, h.err }
func (h *testHandler) CreateCompChannel() (uint32, error)           { return 1, h.err }
func (h *testHandler) QueryDevice() Device                          { return Device{MaxQP: 1} }
func (h *testHandler) QueryPort(uint8) (uint32, error)              { return 1, h.err }
func (h *testHandler) AllocPD() uint32                              { return 1 }
func (h *testHandler) DeallocPD(uint32) error                       { return h.err }
func (h *testHandler) CreateAH(uint32, Address) (uint32, error)     { return 1, h.err }
func (h *testHandler) DestroyAH(uint32) error                       { return h.err }
func (h *testHandler) RegMR(MemoryRegion) (uint32, Keys, error)     { return 1, Keys{2, 2}, h.err }
func (h *testHandler) ReregMR(MemoryRegion) (Keys, error)           { return Keys{1, 1}, h.err }
func (h *testHandler) DeregMR(uint32) error                         { return h.err }
func (h *testHandler) AllocMW(MemoryWindow) (uint32, uint32, error) { return 1, 2, h.err }
func (h *testHandler) DeallocMW(uint32) error                       { return h.err }
func (h *testHandler) CreateCQ(CQ) (uint32, uint32, Mapping, error) {
	return 1, 2, testMapping, h.err
}
func (h *testHandler) ResizeCQ(uint32, uint32) (uint32, Mapping, error) {
	return 1, testMapping, h.err
}
func (h *testHandler) ReqNotifyCQ(uint32, bool) error           { return h.err }
func (h *testHandler) DestroyCQ(uint32) (uint32, uint32, error) { return 1, 2, h.err }
func (h *testHandler) CreateQP(QP) (CreatedQP, error) {
	return CreatedQP{1, 2, Caps{3, 4, 5, 6, 7}, testMapping, Mapping{}}, h.err
}
func (h *testHandler) QueryQP(uint32) (QPState, error)  { return QPState{SignalAll: true}, h.err }
func (h *testHandler) ModifyQP(Change) error            { return h.err }
func (h *testHandler) DestroyQP(uint32) (uint32, error) { return 1, h.err }
func (h *testHandler) CreateSRQ(SRQ) (uint32, uint32, Mapping, error) {
	return 1, 2, testMapping, h.err
}
func (h *testHandler) ModifySRQ(SRQChange, uint64, bool) error { return h.err }
func (h *testHandler) QuerySRQ(uint32) (SRQState, error)       { return SRQState{1, 2, 3}, h.err }
func (h *testHandler) DestroySRQ(uint32) (uint32, error)       { return 1, h.err }

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
		out, driverOut, err := Execute(&testHandler{}, cmd, in, in)
		if err != nil || len(out) != want[0] || len(driverOut) != want[1] {
			t.Errorf("%v: %d and %d bytes, %v, want %v", cmd, len(out), len(driverOut), err, want)
		}
		if _, _, err := Execute(&testHandler{}, cmd, nil, nil); (err == nil) != fieldless[cmd] || err != nil && ErrnoOf(err) != syscall.EINVAL {
			t.Errorf("%v without input: %v", cmd, err)
		}
		out, driverOut, err = Execute(&testHandler{Refuse(syscall.EBUSY, "busy")}, cmd, in, in)
		if canFail := cmd&^Extended != QueryDevice && cmd != AllocPD; canFail && (ErrnoOf(err) != syscall.EBUSY || out != nil || driverOut != nil) {
			t.Errorf("%v that fails: %x, %x, %v", cmd, out, driverOut, err)
		}
	}
	for _, cmd := range []Command{4711, QueryPort | Extended} {
		if _, _, err := Execute(&testHandler{}, cmd, in, in); ErrnoOf(err) != syscall.EOPNOTSUPP {
			t.Errorf("%v: %v", cmd, err)
		}
	}
}
