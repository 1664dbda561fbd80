package seccomp

import "testing"

func TestPick(t *testing.T) {
	upTo := func(n int) map[int]bool {
		open := make(map[int]bool)
		for i := range n {
			open[i] = true
		}
		return open
	}
	with := func(open map[int]bool, more ...int) map[int]bool {
		for _, n := range more {
			open[n] = true
		}
		return open
	}
	tests := []struct {
		desc     string
		class    Class
		open     map[int]bool
		limit    int
		underWay []Dup
		want     int
	}{
		{"few descriptors", Devices, upTo(3), 4096, nil, 1021},
		{"few descriptors, rdma_cm", Channels, upTo(3), 4096, nil, 1023},
		{"the best ones are taken", Devices, with(upTo(3), 1021, 1017), 4096, nil, 1013},
		{"a low limit", Devices, upTo(3), 256, nil, 253},
		{"the lowest limit", Devices, upTo(3), 40, nil, 37},
		{"no limit below the first", Devices, upTo(3), 33, nil, -1},
		{"too few free numbers below 1024", Devices, upTo(980), 4096, nil, 1045},
		{"none", Channels, upTo(1100), 4096, nil, 1167},
		{"near the limit", Channels, upTo(1100), 1128, nil, 1111},
		{"at the limit", Channels, upTo(1100), 1104, nil, 1103},
		{"beyond it", Channels, upTo(1100), 1102, nil, -1},
		{"few descriptors, a netlink socket", Sockets, upTo(3), 4096, nil, 1008},
		{"no netlink socket beyond 1024, whatever the limit", Sockets, upTo(1009), 1 << 30, nil, -1},
		{"a thread may be making the best one", Devices, upTo(3), 4096, []Dup{{1021, true}}, 1017},
		{"a thread may be making one above", Devices, upTo(3), 4096, []Dup{{992, false}}, 989},
		{"a thread may be making any", Devices, upTo(3), 4096, []Dup{{32, false}, {1021, true}}, 1017},
		{"a thread may be making any of a few", Channels, with(upTo(3), 35, 39), 64, []Dup{{32, false}}, 63},
		{"a thread may be making one far above", Devices, upTo(3), 4096, []Dup{{1<<31 - 1, false}}, 1021},
	}
	for _, tt := range tests {
		n, ok := Pick(tt.class, tt.open, tt.limit, tt.underWay)
		if n != tt.want || ok != (tt.want >= 0) {
			t.Errorf("%s: %d, %v, want %d", tt.desc, n, ok, tt.want)
		}
	}
}

func TestHas(t *testing.T) {
	for n, want := range map[int]Class{0: 0, 1: 0, 3: 0, 29: 0, 31: 0, 32: 0, 33: Devices, 34: 0, 35: Channels, 1021: Devices, 1023: Channels, 1<<20 + 1: Devices, -1: 0} {
		for _, c := range []Class{Devices, Channels} {
			if c.Has(n) != (c == want) {
				t.Errorf("class %d has %d: %v", c, n, c.Has(n))
			}
		}
	}
}
