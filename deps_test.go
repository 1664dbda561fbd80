package rddp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rddp/rddp"

// modules are the folders of the modules in this tree. The first one is what programs link, the
// command, and what judges conformance. A module imports from itself and from those before it. The
// others replace those before them by the folders here, so that all of one commit fit together.
var modules = []string{".", "toe/usertcp", "conformance/lab"}

// testsRequire states which foreign modules the tests of each module may import, besides those with
// a door in it. What a program links that imports the first module is in TestLinked.
var testsRequire = map[string][]string{
	".": {
		"github.com/google/gopacket",   // another reader of packets; its init takes 30 ms of each program that links it
		"go.uber.org/goleak",           // finds goroutines that are left
		"github.com/prometheus/common", // Prometheus's parser
		"golang.org/x/net",             // nettest, which judges any net.Conn
		"pgregory.net/rapid",           // random cases, and the shortest that fails
	},
	"toe/usertcp":     {"github.com/google/gopacket", "go.uber.org/goleak", "golang.org/x/net"},
	"conformance/lab": {"github.com/prometheus/prometheus", "go.uber.org/goleak", "google.golang.org/grpc"},
}

// mayImport states, for each package, which packages of ours it may import. The packages stand in
// the order of the drawing in DESIGN.md §1, from the wire up: no import points back up, and mpa,
// ddp and toe do not know one another. A "*" stands for every package on the same floor or below,
// in the same module or those before it. Every package may import those of forAll, too.
var mayImport = map[string][]string{
	"":                                {},
	"toe":                             {},
	"toe/badlink":                     {},
	"toe/internal/deadline":           {},
	"toe/netconn":                     {"toe", "toe/internal/deadline", "internal/panics", "internal/tlshandshake"},
	"toe/kernel":                      {"toe", "toe/netconn"},
	"toe/simtoe":                      {"toe", "toe/internal/deadline"},
	"toe/usertcp":                     {"toe", "toe/internal/deadline", "toe/usertcp/internal/clock"},
	"toe/usertcp/examples/badnetwork": {"extsock", "extsock/stats", "toe/badlink", "toe/usertcp"},
	"toe/usertcp/hostile":             {},
	"toe/usertcp/internal/clock":      {},
	"toe/usertcp/internal/turned":     {"toe/usertcp/internal/clock"},
	"toe/usertcp/interop":             {},
	"toe/usertcp/sockets":             {},
	"toe/usertcp/tcpscript":           {},
	"toe/toetest":                     {"toe", "internal/testkit/prototest", "internal/testkit/testmode"},
	"toe/tun":                         {},
	"toe/rnic":                        {"toe", "ddp", "rdmap"},
	"toe/verbs":                       {"toe", "toe/kernel", "toe/rnic", "ddp", "rdmap", "internal/rdmaabi/ring", "internal/rdmaabi/siw", "internal/rdmaabi/ucma", "internal/rdmaabi/uverbs"},
	"mpa":                             {"mpa/internal/crc32c"},
	"mpa/internal/crc32c":             {"internal/cpuid"},
	"ddp":                             {"ddp/internal/place"},
	"ddp/internal/place":              {"internal/cpuid"},
	"rdmap":                           {"ddp"},

	"extsock": {
		"internal/conn", "internal/conn/driver", "internal/conn/device", "internal/conn/counters", "internal/conn/bytestream", "internal/conn/bytestream/rsockets", "internal/conn/bufpool", "internal/conn/startup", "internal/conn/observe", "internal/conn/wait",
		"toe", "toe/kernel", "toe/netconn", "toe/rnic", "mpa", "ddp", "rdmap", "extsock/stats", "internal/panics", "internal/tlshandshake",
	},
	"extsock/stats":   {},
	"extsock/metrics": {"extsock", "extsock/stats"},
	"extsock/capture": {"extsock", "toe", "internal/pcapng"},
	"internal/conn":   {"internal/conn/counters", "internal/conn/driver", "internal/conn/observe", "internal/conn/startup", "internal/conn/wait", "toe", "toe/kernel", "toe/netconn", "mpa", "ddp", "rdmap", "internal/panics"},
	"internal/conn/driver": {
		"internal/conn/inbox", "internal/conn/bytestream", "internal/conn/bufpool", "internal/conn/counters", "internal/conn/observe", "internal/conn/wait",
		"toe", "mpa", "ddp", "rdmap", "internal/panics",
	},
	"internal/conn/device": {
		"internal/conn/inbox", "internal/conn/bytestream", "internal/conn/counters", "internal/conn/observe", "internal/conn/wait",
		"toe/rnic", "ddp", "rdmap", "internal/panics",
	},
	"internal/testkit":                  {},
	"internal/testkit/devicetest":       {"toe", "toe/rnic", "ddp", "rdmap"},
	"internal/conn/counters":            {"rdmap"},
	"internal/conn/observe":             {"toe"},
	"internal/conn/wait":                {},
	"internal/conn/bufpool":             {},
	"internal/conn/startup":             {"toe", "mpa", "internal/conn/wait", "internal/admission", "internal/panics", "internal/tlshandshake"},
	"internal/conn/bytestream/rsockets": {"ddp", "internal/conn/bytestream", "rdmap"},
	"internal/conn/inbox":               {"ddp", "internal/conn/bytestream", "rdmap"},
	"internal/conn/bytestream":          {"rdmap", "internal/conn/bufpool"},

	// The RNIC of rddp run. It knows neither how commands come nor whose memory it is.
	"internal/softrnic":       {"internal/panics", "internal/accept", "internal/retry", "ddp", "internal/conn", "internal/conn/counters", "rdmap", "toe", "internal/softrnic/check", "internal/softrnic/fault", "internal/softrnic/shm", "internal/softrnic/trace", "internal/softrnic/user", "internal/pcapng", "mpa", "internal/rdmaabi/nldev", "internal/rdmaabi/ring", "internal/rdmaabi/uverbs"},
	"internal/softrnic/check": {},
	"internal/softrnic/fault": {"toe", "toe/badlink", "toe/kernel", "toe/netconn", "internal/rdmaabi/uverbs"},
	"internal/softrnic/shm":   {"internal/retry", "toe", "toe/kernel", "internal/softrnic/user"},
	"internal/softrnic/trace": {},
	"internal/softrnic/user":  {},

	"internal/dissect":          {"mpa", "ddp", "rdmap"},
	"internal/testkit/rawpeer":  {"mpa"},
	"internal/testkit/timeline": {},
	"internal/pcapng":           {"mpa", "ddp", "rdmap"},
	"internal/testkit/nopanic":  {"extsock"},
	"internal/testkit/testmode": {},
	"conformance/lab/report":    {},
	"internal/accept":           {"internal/retry", "internal/admission"},
	"internal/retry":            {},
	"internal/process":          {},
	"internal/admission":        {},
	"internal/locks":            {},
	"internal/panics":           {},
	"internal/ring":             {},
	"internal/states":           {},
	// The kernel's interface for RDMA, as rddp run answers it and toe/verbs uses it.
	"internal/rdmaabi/ring":      {},
	"internal/rdmaabi/siw":       {"internal/rdmaabi/uverbs"},
	"internal/rdmaabi/ucma":      {},
	"internal/rdmaabi/uverbs":    {},
	"internal/rdmaabi/nldev":     {},
	"internal/cpuid":             {},
	"internal/testkit/every":     {},
	"internal/tlshandshake":      {},
	"internal/testkit/prototest": {},
	"internal/testkit/scenario":  {"ddp", "extsock", "rdmap", "toe", "toe/badlink", "internal/testkit/prototest"},
	"internal/testkit/rsockpeer": {"extsock"},

	"conformance":                     {"*"},
	"conformance/requirements":        {},
	"conformance/requirements/count":  {"conformance/requirements"},
	"conformance/mutations":           {"conformance/requirements"},
	"conformance/spec":                {"mpa", "ddp", "rdmap", "internal/dissect", "internal/pcapng"},
	"conformance/specpeer":            {"ddp", "extsock", "rdmap", "conformance/spec", "internal/tlshandshake"},
	"conformance/hostile":             {"*"},
	"conformance/hostile/slowpeer":    {"mpa"},
	"conformance/interop":             {"*"},
	"conformance/interop/guest/agent": {"conformance/interop/guest/wire"},
	"conformance/interop/guest/wire":  {},
	"conformance/interop/socketpeer":  {"ddp", "examples/kvcache", "extsock", "rdmap", "toe/verbs"},
	"conformance/models":              {},
	"conformance/lab/floor":           {},
	"conformance/lab/baseline":        {},
	"conformance/lab/breakdown":       {"ddp", "extsock", "mpa", "rdmap", "toe", "toe/kernel", "conformance/lab/plot"},
	"conformance/lab/dashboard":       {"conformance/lab/plot"},
	"conformance/lab/figures":         {"conformance/lab/plot"},
	"conformance/lab/plot":            {},
	"conformance/lab/pipeline":        {},
	"conformance/lab/model":           {"conformance/lab/pipeline"},
	"conformance/lab/peers":           {"conformance/lab/plot", "conformance/lab/report"},
	"conformance/lab/early":           {"ddp", "extsock", "extsock/stats", "mpa", "rdmap", "toe", "toe/badlink", "toe/usertcp", "conformance/lab/plot", "conformance/lab/report"},
	"conformance/lab/studies/harness": {"ddp", "extsock", "rdmap", "conformance/lab/plot", "conformance/lab/report"},
	"conformance/lab/studies/cache":   {"ddp", "extsock", "toe/verbs", "conformance/lab/plot", "conformance/lab/studies/harness"},
	"conformance/lab/studies/striped": {"ddp", "extsock", "rdmap", "conformance/lab/plot", "conformance/lab/studies/harness"},
	"conformance/lab/studies/memory":  {"ddp", "extsock", "conformance/lab/plot", "conformance/lab/studies/harness"},
	"conformance/lab/studies/filter":  {"extsock", "conformance/lab/plot", "conformance/lab/studies/harness"},
	"conformance/lab/studies/web":     {"extsock", "conformance/lab/plot", "conformance/lab/studies/harness"},
	"conformance/foreign":             {},
	"conformance/foreign/standin":     {"extsock"},
	"conformance/lab/apps":            {"*"},
	"conformance/lab/examples/grpc":   {"ddp", "extsock", "rdmap"},

	"conformance/lab/studies/reconfiguration": {"ddp", "extsock", "conformance/lab/plot", "conformance/lab/studies/harness"},

	"examples/echo-ddp":      {"extsock"},
	"examples/echo-onesided": {"extsock"},
	"examples/echo-tcp":      {},
	"examples/first":         {"extsock"},
	"examples/keyvalue":      {"examples/kvcache", "extsock", "toe/verbs"},
	"examples/kvcache":       {"ddp", "extsock", "toe", "toe/rnic"},

	"cmd/rddp": {
		"mpa", "rdmap", "extsock", "internal/dissect", "conformance/spec", "conformance/specpeer",
		"cmd/rddp/internal/errtext", "cmd/rddp/internal/demo", "cmd/rddp/internal/filecopy", "cmd/rddp/internal/cliparse", "cmd/rddp/internal/monitor", "cmd/rddp/internal/perf", "cmd/rddp/internal/ping", "cmd/rddp/internal/proxy", "cmd/rddp/internal/run", "internal/softrnic/check", "internal/softrnic/fault", "cmd/rddp/internal/run/rules",
		"cmd/rddp/internal/tlsfiles", "internal/tlshandshake",
	},
	"cmd/rddp/internal/errtext":  {"extsock", "internal/tlshandshake", "mpa", "rdmap"},
	"cmd/rddp/internal/demo":     {"internal/accept", "ddp", "extsock", "extsock/capture", "rdmap", "toe/verbs"},
	"cmd/rddp/internal/filecopy": {"internal/admission", "ddp", "extsock", "mpa", "rdmap", "internal/accept", "cmd/rddp/internal/errtext", "cmd/rddp/internal/cliparse", "internal/tlshandshake"},
	"cmd/rddp/internal/cliparse": {},
	"cmd/rddp/internal/hostile":  {},
	"cmd/rddp/internal/monitor":  {"extsock", "extsock/metrics", "extsock/stats", "internal/tlshandshake"},
	"cmd/rddp/internal/perf":     {"ddp", "extsock", "rdmap", "internal/accept", "cmd/rddp/internal/errtext", "cmd/rddp/internal/cliparse", "internal/retry", "internal/tlshandshake", "toe/kernel", "toe/netconn"},
	"cmd/rddp/internal/ping":     {"ddp", "extsock", "mpa", "rdmap", "internal/accept", "cmd/rddp/internal/errtext", "internal/retry", "internal/tlshandshake"},
	"cmd/rddp/internal/proxy":    {"internal/admission", "extsock", "mpa", "rdmap", "toe", "toe/kernel", "internal/accept", "internal/retry", "cmd/rddp/internal/errtext", "cmd/rddp/internal/cliparse", "internal/tlshandshake"},
	"cmd/rddp/internal/tlsfiles": {},
	"internal/testkit/tcptest":   {"internal/testkit/prototest"},

	// rddp run: only run knows all others.
	"cmd/rddp/internal/run": {
		"cmd/rddp/internal/run/cm", "internal/softrnic", "internal/softrnic/check", "internal/softrnic/fault", "internal/softrnic/trace", "internal/pcapng", "internal/process",
		"cmd/rddp/internal/run/rules", "cmd/rddp/internal/run/seccomp", "cmd/rddp/internal/run/where", "internal/softrnic/user", "internal/rdmaabi/nldev", "internal/rdmaabi/ucma", "internal/rdmaabi/uverbs",
		"internal/accept", "internal/admission", "internal/panics", "internal/tlshandshake",
		"cmd/rddp/internal/proxy", "extsock", "mpa",
	},
	"cmd/rddp/internal/run/cm":      {"internal/conn", "internal/conn/startup", "mpa", "internal/accept", "internal/panics", "internal/retry", "internal/softrnic", "internal/softrnic/check", "internal/rdmaabi/nldev", "internal/rdmaabi/ucma", "internal/rdmaabi/uverbs"},
	"internal/testkit/guest":        {},
	"cmd/rddp/internal/run/rules":   {},
	"cmd/rddp/internal/run/seccomp": {},
	"cmd/rddp/internal/run/where":   {"internal/process"},
}

// floor gives the floor of each top folder, from the wire up, and of folders that are not on the
// floor of theirs. A test imports from its own floor and those below. The folder internal is open
// to every floor: what a package in there imports itself is stated in mayImport.
var floor = map[string]int{
	"toe": 0, "mpa": 0, "ddp": 0, "rdmap": 1, "extsock": 2, "examples": 3, "conformance": 3, "cmd": 4,
	"internal/conn": 2,                 // what runs a connection
	"toe/rnic":      1, "toe/verbs": 1, // an RDMA device does what RDMAP does
	"toe/usertcp/hostile": 3, "toe/usertcp/interop": 3, "toe/usertcp/sockets": 3, "toe/usertcp/tcpscript": 3,
	"toe/usertcp/examples/badnetwork": 3,
}

// door names the packages that may import a foreign module. Without a door nobody imports it,
// except in tests.
var door = map[string][]string{
	"github.com/klauspost/crc32":              {"mpa/internal/crc32c"},
	"github.com/HdrHistogram/hdrhistogram-go": {"cmd/rddp/internal/perf", "cmd/rddp/internal/ping", "conformance/lab/breakdown", "conformance/lab/studies/harness"},
	// mpa/internal/crc32c needs only its package cpu.
	"golang.org/x/sys":                    {"mpa/internal/crc32c", "toe/kernel", "toe/tun", "toe/usertcp", "toe/verbs", "cmd/rddp/internal/monitor", "cmd/rddp/internal/perf", "cmd/rddp/internal/run", "internal/softrnic", "internal/testkit/guest", "internal/softrnic/shm", "internal/process", "cmd/rddp/internal/run/seccomp", "cmd/rddp/internal/run/where", "internal/softrnic/user"},
	"github.com/pires/go-proxyproto":      {"cmd/rddp/internal/proxy"},
	"github.com/prometheus/client_golang": {"extsock/metrics", "cmd/rddp", "cmd/rddp/internal/monitor"},
	"github.com/go-delve/delve":           {"cmd/rddp/internal/run/where"},
	"golang.org/x/arch":                   {"cmd/rddp/internal/run/where"},
	"golang.org/x/term":                   {"cmd/rddp"},
	"gonum.org/v1/plot":                   {"conformance/lab/dashboard", "conformance/lab/plot"},
	"google.golang.org/grpc":              {"conformance/lab/examples/grpc"},
	"google.golang.org/protobuf":          {"conformance/lab/examples/grpc"},
	"gvisor.dev/gvisor":                   {"toe/usertcp", "toe/usertcp/internal/clock", "toe/usertcp/internal/turned"},
	"github.com/urfave/cli-docs/v3":       {"cmd/rddp"},
	"github.com/urfave/cli/v3":            {"cmd/rddp"},
	"github.com/schollz/progressbar/v3":   {"cmd/rddp"},
}

// forAll may be imported by every package, and imports none of ours. The order of locks is one for
// all layers, and in a normal build internal/locks is nothing but names for the mutexes of package
// sync. The others are data structures.
var forAll = []string{"internal/locks", "internal/ring", "internal/states"}

// pure are the layers that do no I/O and know no time.
var (
	pure      = []string{"mpa", "mpa/internal/crc32c", "ddp", "ddp/internal/place", "rdmap", "internal/ring", "internal/states", "internal/cpuid", "internal/conn/inbox", "internal/conn/bytestream", "internal/conn/bytestream/rsockets", "conformance/lab/pipeline"}
	forbidden = []string{"time", "net", "os"}
)

// durations are the pure packages that take durations as arguments: they may import time, but not
// read the clock. TestPureReadsNoClock looks at what they use of it.
var durations = []string{"internal/conn/bytestream", "conformance/lab/pipeline"}

func TestImportsOnlyPointDown(t *testing.T) {
	for _, p := range list(t) {
		name := p.name()
		if _, known := mayImport[name]; !known {
			t.Errorf("package %q has no row in mayImport: say which layers it may see", name)
		}
		for _, imp := range p.Imports {
			if own, isOurs := strings.CutPrefix(imp, module+"/"); isOurs {
				if !below(name, own) {
					t.Errorf("%s imports %s, which is not below it", name, own)
				}
				continue
			}
			if first, _, _ := strings.Cut(imp, "/"); strings.Contains(first, ".") && !slices.Contains(door[moduleOf(imp)], name) {
				t.Errorf("%s imports %s; the doors of its module are %v", name, imp, door[moduleOf(imp)])
			}
			if slices.Contains(pure, name) && slices.Contains(forbidden, imp) && !(imp == "time" && slices.Contains(durations, name)) {
				t.Errorf("%s imports %s: the protocol layers do no I/O and know no time", name, imp)
			}
		}
		for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
			if own, isOurs := strings.CutPrefix(imp, module+"/"); isOurs && !onFloor(name, own) {
				t.Errorf("a test of %s imports %s, which is on a floor above", name, own)
			}
		}
	}
}

// TestModules: a go.mod requires what has a door in its module, and what its tests may import. No
// module imports from one behind it: the go command could not build a program that imports such a
// module, because replace lines count in the main module only.
func TestModules(t *testing.T) {
	for i, folder := range modules {
		may := slices.Clone(testsRequire[folder])
		for mod, doors := range door {
			if slices.ContainsFunc(doors, func(name string) bool { return home(name) == folder }) {
				may = append(may, mod)
			}
		}
		for _, before := range modules[:i] {
			may = append(may, path.Join(module, before))
		}
		required := requires(t, folder)
		for _, mod := range required {
			if !slices.Contains(may, mod) {
				t.Errorf("%s/go.mod requires %s", folder, mod)
			}
		}
		for _, mod := range testsRequire[folder] {
			if !slices.Contains(required, mod) {
				t.Errorf("%s/go.mod does not require %s, which testsRequire has", folder, mod)
			}
		}
	}
	for _, p := range list(t) {
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if own, isOurs := strings.CutPrefix(imp, module+"/"); isOurs && slices.Index(modules, home(own)) > slices.Index(modules, home(p.name())) {
				t.Errorf("%s, of the module in %s, imports %s, of the module in %s", p.name(), home(p.name()), own, home(own))
			}
		}
	}
}

// TestLinked: what a program links that imports extsock has no decoder of packets, no second TCP
// and no command line. What it needs of others is the checksum and the system's calls.
func TestLinked(t *testing.T) {
	var pkgs []pkg
	decode(t, &pkgs, ".", "list", "-deps", "-json=ImportPath,Standard", "./extsock")
	for _, p := range pkgs {
		own := p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/")
		if mod := moduleOf(p.ImportPath); !p.Standard && !own && mod != "github.com/klauspost/crc32" && mod != "golang.org/x/sys" {
			t.Errorf("a program that imports extsock links %s", p.ImportPath)
		}
	}
	if len(pkgs) < 20 {
		t.Fatalf("go list shows only %d packages", len(pkgs))
	}
}

// home returns the folder of the module that has a package.
func home(name string) string {
	for _, folder := range modules[1:] {
		if name == folder || strings.HasPrefix(name, folder+"/") {
			return folder
		}
	}
	return "."
}

// TestRowsAreOfPackages: each package in mayImport exists, and so does what it may import. Each
// door leads from a module that a go.mod requires to a package that imports it.
func TestRowsAreOfPackages(t *testing.T) {
	pkgs := make(map[string]pkg)
	for _, p := range list(t) {
		pkgs[p.name()] = p
	}
	for name, allowed := range mayImport {
		for _, n := range append([]string{name}, allowed...) {
			if _, exists := pkgs[n]; !exists && n != "*" {
				t.Errorf("mayImport[%q] names %q, which is no package", name, n)
			}
			if slices.Contains(forAll, n) && n != name {
				t.Errorf("mayImport[%q] names %q, which every package may import", name, n)
			}
		}
	}
	var required []string
	for _, folder := range modules {
		required = append(required, requires(t, folder)...)
	}
	for mod, doors := range door {
		if !slices.Contains(required, mod) {
			t.Errorf("no go.mod requires %s, which has a door", mod)
		}
		for _, name := range doors {
			if !slices.ContainsFunc(pkgs[name].Imports, func(imp string) bool { return moduleOf(imp) == mod }) {
				t.Errorf("%q is a door of %s and does not import it", name, mod)
			}
		}
	}
}

// below says whether name may import own, both packages of ours.
func below(name, own string) bool {
	return slices.Contains(mayImport[name], own) || slices.Contains(mayImport[name], "*") && onFloor(name, own) ||
		slices.Contains(forAll, own) && !slices.Contains(forAll, name)
}

// onFloor says whether own is on the floor of name or below, or on none.
func onFloor(name, own string) bool {
	level, has := floorOf(own)
	mine, bound := floorOf(name)
	return !has || !bound || level <= mine
}

// floorOf returns the floor of name, or of the nearest folder above it that has one.
func floorOf(name string) (level int, has bool) {
	for ; name != "."; name = path.Dir(name) {
		if level, has = floor[name]; has {
			return level, has
		}
	}
	return 0, false
}

// moduleOf returns the module with a door that a foreign package belongs to, or "".
func moduleOf(imp string) string {
	for mod := range door {
		if imp == mod || strings.HasPrefix(imp, mod+"/") {
			return mod
		}
	}
	return ""
}

// TestPureReadsNoClock: a pure package that imports time uses the type Duration and its units, and
// starts no goroutine.
func TestPureReadsNoClock(t *testing.T) {
	allowed := []string{"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second"}
	for _, dir := range durations {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s starts a goroutine", name)
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && !slices.Contains(allowed, n.Sel.Name) {
						t.Errorf("%s uses time.%s", name, n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

type pkg struct {
	ImportPath                         string
	Standard                           bool
	Imports, TestImports, XTestImports []string
	GoFiles                            []string
}

// name is the folder of the package in the module, "" for the module's own.
func (p pkg) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// allTags are the build tags of `make gate`. With them no test is left out.
const allTags = "interop,tshark,models,conformance,mutations,soak,foreign,verbs,commands"

// list returns the packages of all modules, with the imports of all their tests.
func list(t *testing.T) []pkg {
	t.Helper()
	var pkgs []pkg
	for _, folder := range modules {
		decode(t, &pkgs, folder, "list", "-tags="+allTags, "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list shows only %d packages", len(pkgs))
	}
	return pkgs
}

// requires returns the modules that the go.mod in folder requires for itself.
func requires(t *testing.T, folder string) (modules []string) {
	t.Helper()
	type goMod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	var mods []goMod
	decode(t, &mods, folder, "mod", "edit", "-json")
	for _, r := range mods[0].Require {
		if !r.Indirect {
			modules = append(modules, r.Path)
		}
	}
	return modules
}

// decode appends each value in the JSON output of the go command, run in folder, to values.
func decode[T any](t *testing.T, values *[]T, folder string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var v T
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		*values = append(*values, v)
	}
}

// TestShortLeavesNothingOut: `make machines` runs the tests of these packages with -short, which
// may make a test shorter but not skip it, or end it early.
func TestShortLeavesNothingOut(t *testing.T) {
	for _, pattern := range []string{"mpa", "mpa/internal/*", "ddp", "ddp/internal/*", "rdmap", "extsock", "toe", "toe/*", "toe/usertcp/*"} {
		files, err := filepath.Glob(filepath.Join(pattern, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", pattern, err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if branch, ok := n.(*ast.IfStmt); ok && calls(branch.Cond, "Short", "Slow", "Rounds") && leaves(branch.Body) {
					t.Errorf("%s: a test is left out with -short", name)
				}
				return true
			})
		}
	}
}

// calls says whether one of these functions is called in n.
func calls(n ast.Node, names ...string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			found = found || slices.Contains(names, f.Name)
		case *ast.SelectorExpr:
			found = found || slices.Contains(names, f.Sel.Name)
		}
		return true
	})
	return found
}

// leaves says whether n skips the test, or returns nothing.
func leaves(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		found = found || ok && len(r.Results) == 0
		return true
	})
	return found || calls(n, "Skip", "Skipf", "SkipNow")
}
