package where

import "testing"

// TestInner: which files and functions are those of rdma-core and of the C library.
func TestInner(t *testing.T) {
	for _, name := range []string{
		"libibverbs.so.1.14.44.0", "libibverbs-3a2f.so.1", "librdmacm.so.1.3.44.0", "librxe-rdmav34.so", "libsiw-rdmav59.so", "libc.so.6", "libc-2.31.so", "memcheck-amd64-linux",
		"ld-linux-x86-64.so.2", "ld-musl-x86_64.so.1", "libpthread-2.31.so", "[vdso]", "libasan.so.8",
	} {
		if !isInner(name) {
			t.Errorf("%s is the program's", name)
		}
	}
	for _, name := range []string{"program", "libuct_ib.so.0", "librdma-app.so", "libcurl.so.4", "ibverbs", "libpython3.11.so.1.0", "libc++.so.1"} {
		if isInner(name) {
			t.Errorf("%s is not the program's", name)
		}
	}
	for name, want := range map[string][2]bool{ // inner, entrance
		"ibv_alloc_pd": {true, true}, "__ibv_reg_mr": {true, true}, "rdma_create_id": {true, true}, "rxe_post_send": {true, true}, "__munmap": {true, true},
		"free": {true, true}, "rdma_post_send": {true, true},
		"ibv_cmd_alloc_pd": {true, false}, "rxe_alloc_pd": {true, false}, "ucma_query_route": {true, false}, "syscall.Syscall6": {true, false},
		"internal/runtime/syscall.Syscall6": {true, false}, "rdmacore44_0_ibv_cmd_create_qp": {true, false}, "rdma_create_id2": {true, false},
		"main": {}, "rdma_server_connect": {}, "rdma_connect_all": {}, "post_send": {}, "write_all": {}, "freeze": {}, "my_ibv_alloc_pd": {}, "": {},
	} {
		if got := [2]bool{isInnerFunction(name), isEntrance(name)}; got != want {
			t.Errorf("%q: inner, entrance: %v, want %v", name, got, want)
		}
	}
	for path, want := range map[string]string{"/a/b.so": "b.so", "/a/b (deleted)": "b", "[vdso]": "[vdso]", "": ""} {
		if got := base(path); got != want {
			t.Errorf("base(%q) = %q, want %q", path, got, want)
		}
	}
}
