package rdmap

import (
	"testing"

	"github.com/rddp/rddp/ddp"
)

// opcodeTable is RFC 5040 figure 4 and RFC 7306 §4.1.
var opcodeTable = []struct {
	op      Opcode
	control uint8
	name    string
	tagged  bool
	qn      ddp.QN
}{
	{OpWrite, 0x40, "RDMA Write", true, 0},
	{OpReadRequest, 0x41, "RDMA Read Request", false, 1},
	{OpReadResponse, 0x42, "RDMA Read Response", true, 0},
	{OpSend, 0x43, "Send", false, 0},
	{OpSendInvalidate, 0x44, "Send with Invalidate", false, 0},
	{OpSendSE, 0x45, "Send with Solicited Event", false, 0},
	{OpSendSEInvalidate, 0x46, "Send with Solicited Event and Invalidate", false, 0},
	{OpTerminate, 0x47, "Terminate", false, 2},
	{OpImmediate, 0x48, "Immediate Data", false, 0},
	{OpImmediateSE, 0x49, "Immediate Data with Solicited Event", false, 0},
	{OpAtomicRequest, 0x4A, "Atomic Request", false, 1},
	{OpAtomicResponse, 0x4B, "Atomic Response", false, 3},
}

// The control field of every message: RV 01b, reserved bits "MUST be set to zero by sender, ignored
// by the receiver", the opcode; Tagged and QN by figure 4.
//
// RDMAP-5040-4.1-2, RDMAP-5040-4.1-4 to RDMAP-5040-4.1-15, RDMAP-5040-4.1-18, RDMAPX-7306-4.1-2 to
// RDMAPX-7306-4.1-6
func TestRFC5040_4_1_ControlField(t *testing.T) {
	for i, tt := range opcodeTable {
		t.Run(tt.name, func(t *testing.T) {
			if uint8(tt.op) != uint8(i) {
				t.Errorf("opcode %#04x, want %#x", uint8(tt.op), i)
			}
			if got := Control(tt.op); got != tt.control {
				t.Errorf("Control(%v) = %#x, want %#x", tt.op, got, tt.control)
			}
			if op, rv := ParseControl(tt.control); op != tt.op || rv != 1 {
				t.Errorf("ParseControl(%#x) = %v, %d, want %v, 1", tt.control, op, rv, tt.op)
			}
			// "ignored" are the two reserved bits.
			if op, rv := ParseControl(tt.control | 0x30); op != tt.op || rv != 1 {
				t.Errorf("ParseControl(%#x) = %v, %d, want %v, 1", tt.control|0x30, op, rv, tt.op)
			}
			if got := tt.op.String(); got != tt.name {
				t.Errorf("name %q, want %q", got, tt.name)
			}
			if tt.op.IsTagged() != tt.tagged || !tt.tagged && tt.op.Queue() != tt.qn {
				t.Errorf("tagged %t, queue %d, want %t, %d", tt.op.IsTagged(), tt.op.Queue(), tt.tagged, tt.qn)
			}
		})
	}
	if got := Opcode(0xC).String(); got != "opcode 0xc" {
		t.Errorf("Opcode(0xC) is called %q", got)
	}
}

func TestAdmit(t *testing.T) {
	const refused TerminateCode = 0xEEEE
	for _, tt := range []struct {
		desc       string
		extensions bool
		tagged     bool
		control    uint8
		qn         ddp.QN
		need       ddp.Access
		code       TerminateCode // refused with it; 0: admitted
	}{
		{"Write", false, true, 0x40, 0, ddp.RemoteWrite, 0},
		{"Write, reserved bits set", false, true, 0x70, 0, ddp.RemoteWrite, 0},
		{"Read Response", false, true, 0x42, 0, ddp.ReadSink, 0},
		{"Send", false, false, 0x43, 0, 0, 0},
		{"Send, reserved bits set", false, false, 0x73, 0, 0, 0},
		{"Read Request", false, false, 0x41, 1, 0, 0},
		{"Terminate", false, false, 0x47, 2, 0, 0},
		{"Immediate Data", true, false, 0x48, 0, 0, 0},
		{"Atomic Request", true, false, 0x4A, 1, 0, 0},
		{"Atomic Response", true, false, 0x4B, 3, 0, 0},
		{"RV 0", true, false, 0x03, 0, 0, codeVersion},
		{"RV 0, extension", true, false, 0x08, 0, 0, codeVersion},
		{"RV 2", true, true, 0x80, 0, 0, codeVersion},
		{"RV 3", true, true, 0xC0, 0, 0, codeVersion},
		{"extension opcode while off", false, false, 0x48, 0, 0, codeOpcode},
		{"opcode 0xC", true, false, 0x4C, 0, 0, codeOpcode},
		{"opcode 0xD", true, false, 0x4D, 0, 0, codeOpcode},
		{"opcode 0xE", true, true, 0x4E, 0, 0, codeOpcode},
		{"opcode 0xF", true, false, 0x4F, 0, 0, codeOpcode},
		{"Send, tagged", true, true, 0x43, 0, 0, codeOpcode},
		{"Write, untagged", true, false, 0x40, 0, 0, codeOpcode},
		{"Send on queue 1", true, false, 0x43, 1, 0, codeOpcode},
		{"Read Request on queue 0", true, false, 0x41, 0, 0, codeOpcode},
		{"Terminate on queue 0", true, false, 0x47, 0, 0, codeOpcode},
		{"Atomic Response on queue 1", true, false, 0x4B, 1, 0, codeOpcode},
		{"Immediate Data on queue 3", true, false, 0x48, 3, 0, codeOpcode},
		{"Send on queue 3 while off: DDP's business", false, false, 0x43, 3, 0, 0},
		{"Send on queue 4: DDP's business", true, false, 0x43, 4, 0, 0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			need, err := admission{extensions: tt.extensions}.admit(tt.tagged, tt.control, tt.qn)
			code := TerminateCode(0)
			if e, ok := err.(*streamError); ok {
				code = e.Code
			} else if err != nil {
				code = refused
			}
			if need != tt.need || code != tt.code {
				t.Errorf("admit(%t, %#x, %d) = %v, code %#04x (%v), want %v, code %#04x",
					tt.tagged, tt.control, tt.qn, need, uint16(code), err, tt.need, uint16(tt.code))
			}
		})
	}
	const write, answer = 0x40, 0x42
	denied := admission{denied: ddp.RemoteWrite}
	if need, err := denied.admit(true, write, 0); need != ddp.RemoteWrite|ungranted || err != nil {
		t.Errorf("a Write that is denied needs %v, %v", need, err)
	}
	if need, err := denied.admit(true, answer, 0); need != ddp.ReadSink || err != nil {
		t.Errorf("an answer needs %v, %v", need, err)
	}
}
