package where

import "testing"

// TestSite: which of the frames is the place, and what is said of it.
func TestSite(t *testing.T) {
	o := &object{name: "program"}
	at := func(f string, n int) line { return line{f, "/src/a.c", n} }
	verbs := line{"ibv_post_send", "/usr/include/infiniband/verbs.h", 3329}
	for _, tt := range []struct {
		desc   string
		static bool
		frames [][]line
		want   string
	}{
		{"a line and its caller", false, [][]line{{at("send", 7)}, {at("run", 9)}, {at("main", 11)}}, "send at /src/a.c:7, called by run at /src/a.c:9"},
		{"nothing calls main", false, [][]line{{at("main", 7)}, {{}}}, "main at /src/a.c:7"},
		{"a function of verbs.h in the program", false, [][]line{{verbs}, {at("send", 7)}, {at("main", 9)}}, "send at /src/a.c:7, called by main at /src/a.c:9"},
		{"one that was inlined", false, [][]line{{verbs, at("send", 7)}, {at("main", 9)}}, "send at /src/a.c:7, called by main at /src/a.c:9"},
		{"nothing but that", false, [][]line{{verbs}}, ""},
		{"no symbols", false, [][]line{nil, nil}, "program+0x0, called by program+0x1"},
		{"no lines", false, [][]line{{{Function: "send"}}}, "send at program+0x0"},
		{"static", true, [][]line{{{Function: "ioctl"}}, {{Function: "ioctl_write"}}, {{Function: "ibv_cmd_alloc_pd"}}, {{Function: "ibv_alloc_pd"}}, {at("main", 5)}}, "main at /src/a.c:5"},
		{"static, and the walk ended early", true, [][]line{{{Function: "ioctl"}}, {{Function: "ibv_cmd_alloc_pd"}}, {{Function: "alloc"}}}, ""},
		{"static, without symbols", true, [][]line{nil, nil, nil}, ""},
		{"Go", true, [][]line{{{Function: "syscall.Syscall6"}}}, ""},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			s := &Site{static: tt.static, lookup: func(p point) []line { return tt.frames[p.addr] }}
			for i := range tt.frames {
				s.frames = append(s.frames, point{o, uint64(i)})
			}
			if got := s.String(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
