package uverbs

import "testing"

func TestPostSend(t *testing.T) {
	b := AppendDoorbell(nil, 77, 1234)
	if len(b) != PostSendLen {
		t.Fatalf("%d bytes", len(b))
	}
	if h, err := ParsePostSend(b); h != 77 || err != nil {
		t.Errorf("ParsePostSend = %d, %v", h, err)
	}
	for _, tt := range []struct {
		desc string
		b    []byte
	}{
		{"cut", b[:PostSendLen-1]},
		{"another command", append([]byte{27}, b[1:]...)},
		{"another length", append([]byte{28, 0, 0, 0, 7}, b[5:]...)},
		{"nothing", nil},
	} {
		if h, err := ParsePostSend(tt.b); err == nil {
			t.Errorf("%s: handle %d", tt.desc, h)
		}
	}
}
