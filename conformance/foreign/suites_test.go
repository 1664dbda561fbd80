//go:build foreign

package foreign

import "time"

// A suite is the tests of one package of another project.
type suite struct {
	name string

	module  string                   // module@version that has the tests; "" for Go's tree and tests of ours
	std     []string                 // packages of Go's tree that are copied, because they make TCP connections
	test    string                   // import path of the package with the tests
	prepare func(w *workspace) error // writes tests of ours; nil for none
	pipes   bool                     // net.Pipe makes TCP connections too
	folder  string                   // of Go's tree, where the tests run; "" means where their sources are

	run, skip string        // as for go test; skip has its reason in a comment
	short     bool          // without the tests that the suite itself leaves out with -short
	race      bool          // with the race detector
	count     int           // how often each test runs; 0 means once
	quick     int           // how often each test runs in make foreignquick; 0 means not at all
	limit     time.Duration // for one process; 0 means three minutes
}

const ourModule = "foreign.test"

// The modules, each at the newest version that the Go release of our go.mod can build.
const (
	crypto    = "golang.org/x/crypto@v0.54.0"
	miniredis = "github.com/alicebob/miniredis/v2@v2.40.0"
	raft      = "github.com/hashicorp/raft@v1.8.0"
	smux      = "github.com/xtaci/smux@v1.5.56"
	xnet      = "golang.org/x/net@v0.58.0"
	yamux     = "github.com/hashicorp/yamux@v0.1.2"
)

// httptest are the packages that a test with an HTTP server needs.
var httptest = []string{"net/http/httptest", "net/http/internal/testcert"}

// suites are what make foreign runs, in this order.
var suites = []suite{
	{
		name: "nettest", test: ourModule + "/nettest", prepare: writeNettest,
		race: true, count: 20, quick: 2,
	},
	{
		name: "Go net", test: ourModule + "/gonet", prepare: writeGoNet, folder: "net",
		short: true, // the others need a network beyond loopback
		count: 5, quick: 1,
	},
	{
		name: "Go net -race", test: ourModule + "/gonet", prepare: writeGoNet, folder: "net",
		// The first counts allocations, of which the race detector makes more. The others set a
		// hook of package net that it also calls for accepted connections, and expect that nothing
		// accepts meanwhile; a Listener of ours does.
		skip:  "^(TestTCPReadWriteAllocs|TestDialTCPDefaultKeepAlive|TestDialerKeepAlive)$",
		short: true, race: true, count: 5,
	},
	{
		name: "yamux -race", module: yamux, test: "github.com/hashicorp/yamux",
		// These have time limits of 25 to 250 ms, which are too short for the race detector on a
		// busy machine, over TCP too.
		skip:  "^(TestManyStreams|TestManyStreams_PingPong|TestOpenStreamTimeout|TestCloseBeforeAck|TestSendData_Small)$",
		short: true, race: true,
	},
	{
		name: "yamux -short", module: yamux, test: "github.com/hashicorp/yamux",
		short: true,
	},
	{
		name: "yamux", module: yamux, test: "github.com/hashicorp/yamux",
		run: "^TestSendData", // the others run with -short
	},
	{
		name: "smux -race", module: smux, test: "github.com/xtaci/smux", pipes: true,
		// These take minutes under the race detector.
		skip: "^(Test8GBTransfer|TestRandomLengthRandomDataTransfer)",
		race: true,
	},
	{
		name: "smux", module: smux, test: "github.com/xtaci/smux", pipes: true,
		// 8 GiB show no more than the 1 GiB of TestRandomLengthRandomDataTransfer.
		skip: "^Test8GBTransfer",
	},
	{
		name: "x/crypto/ssh", module: crypto, test: "golang.org/x/crypto/ssh",
		race: true,
	},
	{
		name: "hashicorp/raft", module: raft, test: "github.com/hashicorp/raft",
		// The others make no TCP connections.
		run: "^(TestNetworkTransport|TestTCPTransport|TestRaft_Integ$|TestRaft_RestartFollower" +
			"|TestRaft_PreVote_LeaderSpam)",
		// It fails over TCP in a third of its runs on two CPUs: it wants a connection to be closed that
		// may not have been accepted yet.
		skip: "^TestNetworkTransport_AppendEntriesPipeline_CloseStreams$",
		race: true, quick: 1,
	},
	{
		name: "miniredis", module: miniredis, test: "github.com/alicebob/miniredis/v2",
		// It wants two commands to take less than a millisecond together, which they do not always.
		skip: "^TestPExpireTime$",
		race: true,
	},
	{
		name: "miniredis/server", module: miniredis, test: "github.com/alicebob/miniredis/v2/server",
		race: true, quick: 1,
	},
	{
		name: "x/net/netutil", module: xnet, test: "golang.org/x/net/netutil",
		race: true,
	},
	{
		name: "net/rpc", std: append([]string{"net/rpc"}, httptest...), test: ourModule + "/net/rpc",
		race: true, quick: 1,
	},
	{
		name: "net/rpc/jsonrpc", std: append([]string{"net/rpc", "net/rpc/jsonrpc"}, httptest...),
		test: ourModule + "/net/rpc/jsonrpc", pipes: true,
		race: true, quick: 1,
	},
}

// repeats returns how often each test runs.
func (s *suite) repeats() int {
	if *quick {
		return s.quick
	}
	return max(s.count, 1)
}
