package rdmap

import "testing"

func TestTerminateWords(t *testing.T) {
	for _, tt := range []struct {
		code TerminateCode
		want [3]string
	}{
		{0x0102, [3]string{"RDMAP", "RDMA remote protection error", "access rights violation"}},
		{0x1000, [3]string{"DDP", "DDP local catastrophic error", "0x00"}},
		{0x2002, [3]string{"MPA", "MPA error", "MPA CRC error"}},
		{0x2077, [3]string{"MPA", "MPA error", "0x77"}},
		{0x3F01, [3]string{"0x3", "0xf", "0x01"}},
	} {
		layer, etype, code := tt.code.Words()
		if got := [3]string{layer, etype, code}; got != tt.want {
			t.Errorf("Words of %#x = %q, want %q", uint16(tt.code), got, tt.want)
		}
	}
}
