package ddp_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rddp/rddp/ddp"
)

func TestStore(t *testing.T) {
	tests := []struct {
		desc string
		off  int
		p    string
		want string
		code ddp.Code
	}{
		{desc: "front", p: "ab", want: "ab3456"},
		{desc: "end", off: 4, p: "ef", want: "1234ef"},
		{desc: "all", p: "abcdef", want: "abcdef"},
		{desc: "nothing", off: 6, want: "123456"},
		{desc: "an octet too long", off: 5, p: "fg", code: ddp.CodeBounds},
		{desc: "in front", off: -1, p: "a", code: ddp.CodeBounds},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			memory := []byte("123456")
			r, err := new(ddp.Domain).Register(memory, ddp.RemoteRead, 3)
			if err != nil {
				t.Fatal(err)
			}
			err = r.Store(tt.off, []byte(tt.p))
			if tt.want == "" {
				if e := (*ddp.AccessError)(nil); !errors.As(err, &e) || e.Code != tt.code {
					t.Errorf("Store: %v, want %v", err, tt.code)
				}
				tt.want = "123456"
			} else if err != nil {
				t.Errorf("Store: %v", err)
			}
			if !bytes.Equal(memory, []byte(tt.want)) {
				t.Errorf("the memory is %q, want %q", memory, tt.want)
			}
			r.Deregister()
			if e := (*ddp.AccessError)(nil); !errors.As(r.Store(0, []byte("a")), &e) || e.Code != ddp.CodeInvalidSTag {
				t.Errorf("Store after Deregister: %v, want %v", e, ddp.CodeInvalidSTag)
			}
		})
	}
}
