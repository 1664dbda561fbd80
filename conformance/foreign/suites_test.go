//go:build foreign

package foreign

import "time"

// A suite is the tests of one package of another project.
type suite struct {
	name    string
	module  string   // module@version that has the tests; "" for a package of Go's own tree, or for tests of ours
	std     []string // packages of Go's own tree whose copies it uses, because they make TCP connections too
	test    string   // import path of the package with the tests
	prepare func(w *workspace) error
	pipes   bool   // net.Pipe makes TCP connections too
	folder  string // of Go's tree, where the tests run; "" means where their sources are

	run, skip string        // as for go test; skip has its reason in a comment
	count     int           // how often each test runs; 0 means once
	race      bool          // with the race detector
	short     bool          // without the tests that the suite itself leaves out with -short
	quick     int           // how often each test runs in make foreignquick; 0 means not at all
	limit     time.Duration // for one run; 0 means three minutes
}

const ourModule = "foreign.test"

// suites are what make foreign runs. The versions are the newest that the Go release of our go.mod can build.
var suites = []suite{
	{
		name: "nettest", test: ourModule + "/nettest", prepare: writeNettest, count: 20, race: true, quick: 2,
	},
	{
		name: "yamux -race", module: "github.com/hashicorp/yamux@v0.1.2", test: "github.com/hashicorp/yamux", race: true, short: true, quick: 1,
	},
	{
		name: "yamux", module: "github.com/hashicorp/yamux@v0.1.2", test: "github.com/hashicorp/yamux",
	},
	{
		name: "smux -race", module: "github.com/xtaci/smux@v1.5.56", test: "github.com/xtaci/smux", pipes: true, race: true,
		skip: "^(Test8GBTransfer|TestRandomLengthRandomDataTransfer)", // these take minutes under the race detector
	},
	{
		name: "smux", module: "github.com/xtaci/smux@v1.5.56", test: "github.com/xtaci/smux", pipes: true,
		skip: "^Test8GBTransfer", // 8 GiB show no more than the 1 GiB of TestRandomLengthRandomDataTransfer
	},
	{
		name: "Go net", test: ourModule + "/gonet", prepare: writeGoNet, folder: "net", count: 5, quick: 1,
		short: true, // the others need a network beyond loopback
	},
	{
		name: "Go net -race", test: ourModule + "/gonet", prepare: writeGoNet, folder: "net", count: 5, race: true, short: true,
		// The first counts allocations, of which the race detector makes more. The others set a hook of package net that it also
		// calls for accepted connections, and expect that nothing accepts meanwhile; a Listener of ours does.
		skip: "^(TestTCPReadWriteAllocs|TestDialTCPDefaultKeepAlive|TestDialerKeepAlive)$",
	},
	{
		name: "x/crypto/ssh", module: "golang.org/x/crypto@v0.54.0", test: "golang.org/x/crypto/ssh", race: true,
	},
	{
		name: "hashicorp/raft", module: "github.com/hashicorp/raft@v1.8.0", test: "github.com/hashicorp/raft", race: true,
		run: "^(TestNetworkTransport|TestTCPTransport|TestRaft_Integ$|TestRaft_RestartFollower|TestRaft_PreVote_LeaderSpam)", // the others make no TCP connections
	},
	{
		name: "miniredis", module: "github.com/alicebob/miniredis/v2@v2.40.0", test: "github.com/alicebob/miniredis/v2", race: true,
	},
	{
		name: "miniredis/server", module: "github.com/alicebob/miniredis/v2@v2.40.0", test: "github.com/alicebob/miniredis/v2/server", race: true,
	},
	{
		name: "x/net/netutil", module: "golang.org/x/net@v0.58.0", test: "golang.org/x/net/netutil", race: true, quick: 1,
	},
	{
		name: "net/rpc", std: []string{"net/rpc", "net/http/httptest", "net/http/internal/testcert"}, test: ourModule + "/net/rpc", race: true, quick: 1,
	},
	{
		name: "net/rpc/jsonrpc", std: []string{"net/rpc", "net/rpc/jsonrpc", "net/http/httptest", "net/http/internal/testcert"}, test: ourModule + "/net/rpc/jsonrpc", pipes: true, race: true, quick: 1,
	},
}

// repeats returns how often each test runs.
func (s *suite) repeats() int {
	if *quick {
		return s.quick
	}
	return max(s.count, 1)
}
