package where

import (
	"regexp"
	"strings"
)

// base returns the last part of a path in /proc/PID/maps.
func base(path string) string {
	path = strings.TrimSuffix(path, " (deleted)")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// isVerbs reports whether a file is libibverbs.
func isVerbs(name string) bool { return strings.HasPrefix(name, "libibverbs") }

// isManager reports whether a file is librdmacm.
func isManager(name string) bool { return strings.HasPrefix(name, "librdmacm") }

// innerFiles are those whose frames are not the program's own: rdma-core with its providers, the C
// library with its loader, what the sanitizers put in front of it, and valgrind's tools: the stack
// of a program under valgrind is not that of its thread.
var innerFiles = regexp.MustCompile(`^(libibverbs|librdmacm|lib[a-z0-9]+-rdmav\d+\.so|librspreload|libc\.so|libc-[\d.]+\.so|libc\.musl|libpthread[-.]|` +
	`ld-linux|ld-musl|ld-\d|ld\.so|\[vdso\]|lib(a|t|l|ub|hwa)san\.so|(memcheck|helgrind|drd|massif|dhat|cachegrind|callgrind|lackey|none|exp-bbv)-amd64-linux$)`)

func isInner(file string) bool { return innerFiles.MatchString(file) }

// entrances are functions of rdma-core that programs call, and those with which they give up
// memory. commands are functions behind them that have such names, too.
var (
	entrances = regexp.MustCompile(`^(_*ibv_\w+|(rxe|siw)_post_\w+|` +
		`rdma_(accept|bind_addr|connect|create_(ep|id|qp|qp_ex|srq|srq_ex)|destroy_(ep|event_channel|id|qp|srq)|disconnect|establish|get_cm_event|` +
		`get_remote_ece|get_request|join_multicast|join_multicast_ex|leave_multicast|listen|migrate_id|notify|reject|reject_ece|resolve_addr|resolve_route|` +
		`set_local_ece|set_option|reg_(msgs|read|write)|dereg_mr|post_\w+|get_(send|recv)_comp)|` +
		`_*(libc_)?(munmap|mremap|madvise|free|realloc))$`)
	commands = regexp.MustCompile(`^ibv_cmd_`)
)

// innerFunctions are other functions of rdma-core and of the C library, and those with which Go
// makes system calls.
var innerFunctions = regexp.MustCompile(`^(_*ibv_|_*verbs_|rdmacore\d+_|rxe_|siw_|ucma_|rdma_create_id2$|` +
	`runtime\.|syscall\.|internal/runtime/|golang\.org/x/sys/)`)

func isEntrance(name string) bool { return entrances.MatchString(name) && !commands.MatchString(name) }

func isInnerFunction(name string) bool { return isEntrance(name) || innerFunctions.MatchString(name) }
