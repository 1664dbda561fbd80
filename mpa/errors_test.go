package mpa

import (
	"errors"
	"io"
	"testing"
)

// The registry of RFC 6580 §3.3 and RFC 6581 §8: "4-bit Layer, always 0x2 for MPA errors".
// MPA-5044-8-1, MPA-5044-8-4, MPA-5044-8-5, MPA-6580-3.3-1, MPA-6580-3.3-2, MPA-6581-8-1,
// MPA-6581-8-2, MPA-6581-8-3, MPA-6581-8-4, MPA-6581-11-1
func TestRFC6580_3_3_Codes(t *testing.T) {
	tests := []struct {
		code Code
		num  uint8
		name string
	}{
		{CodeClosed, 1, "TCP connection closed, terminated, or lost"},
		{CodeCRC, 2, "MPA CRC Error"},
		{CodeMarker, 3, "MPA Marker and ULPDU Length field mismatch"},
		{CodeFrame, 4, "Invalid MPA Request Frame or MPA Response Frame"},
		{CodeLocalCatastrophic, 5, "Local catastrophic"},
		{CodeInsufficientIRD, 6, "Insufficient IRD resources"},
		{CodeNoRTR, 7, "No matching RTR option"},
		{Code(8), 8, "Code(8)"},
	}
	for _, tt := range tests {
		layer, etype, code := (&Error{Code: tt.code}).TerminateCode()
		if layer != 2 || etype != 0 || code != tt.num {
			t.Errorf("%v: TerminateCode = %d, %d, %d, want 2, 0, %d", tt.code, layer, etype, code, tt.num)
		}
		if got := tt.code.String(); got != tt.name {
			t.Errorf("Code(%d).String() = %q, want %q", tt.num, got, tt.name)
		}
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{&Error{Code: CodeCRC, Off: 52, Reason: "received 1, calculated 2"}, "mpa: MPA CRC Error, FPDU at stream offset 52: received 1, calculated 2"},
		{&Error{Code: CodeClosed, Err: io.EOF}, "mpa: TCP connection closed, terminated, or lost: EOF"},
		{&Error{Code: CodeNoRTR}, "mpa: No matching RTR option"},
		{&RejectError{}, "mpa: connection rejected by the peer"},
		{&RejectError{Enhanced: true, IRD: 1, ORD: 32, PrivateData: []byte("no")}, `mpa: connection rejected by the peer (its IRD is 1, its ORD 32): "no"`},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
	if err := error(&Error{Code: CodeFrame, Err: ErrSameRole}); !errors.Is(err, ErrSameRole) {
		t.Errorf("%v does not wrap %v", err, ErrSameRole)
	}
}
