//go:build foreign

package foreign

import "time"

// A suite is the tests of one package of another project.
type suite struct {
	name string

	module  string                   // module@version that has the tests; "" for Go's tree and tests of ours
	also    []string                 // other modules, module@version, that make the suite's TCP connections
	keepNet []string                 // folders of the module that keep package net's own types; each has its reason in a comment
	std     []string                 // packages of Go's tree that are copied, because they make TCP connections
	test    string                   // import path of the package with the tests
	prepare func(w *workspace) error // writes tests of ours; nil for none
	pipes   bool                     // net.Pipe makes TCP connections too
	folder  string                   // of Go's tree, where the tests run; "" means where their sources are
	server  *server                  // what the tests connect to; nil for nothing but what they start
	specs   string                   // the test that has Ginkgo's specs; "" for none

	run, skip  string        // as for go test; skip has its reason in a comment
	skipSpecs  string        // the same for specs
	quickRun   string        // instead of run, in make foreignquick
	quickSpecs string        // the same for specs; "" means all
	short      bool          // without the tests that the suite itself leaves out with -short
	race       bool          // with the race detector
	count      int           // how often each test runs; 0 means once
	quick      int           // how often each test runs in make foreignquick; 0 means not at all
	limit      time.Duration // for one process; 0 means three minutes
}

const ourModule = "foreign.test"

// The modules, each at the newest version that the Go release of our go.mod can build.
const (
	crypto     = "golang.org/x/crypto@v0.54.0"
	goRedis    = "github.com/redis/go-redis/v9@v9.22.0"
	grpc       = "google.golang.org/grpc@v1.85.0"
	miniredis  = "github.com/alicebob/miniredis/v2@v2.40.0"
	mysql      = "github.com/go-sql-driver/mysql@v1.10.1"
	natsClient = "github.com/nats-io/nats.go@v1.55.0"
	natsServer = "github.com/nats-io/nats-server/v2@v2.15.2"
	raft       = "github.com/hashicorp/raft@v1.8.0"
	smux       = "github.com/xtaci/smux@v1.5.56"
	xnet       = "golang.org/x/net@v0.58.0"
	yamux      = "github.com/hashicorp/yamux@v0.1.2"
)

// httptest are the packages that a test with an HTTP server needs.
var httptest = []string{"net/http/httptest", "net/http/internal/testcert"}

// netHTTP are the packages of net/http, for a suite that also dials with it.
var netHTTP = append([]string{
	"expvar", "net/http", "net/http/cookiejar", "net/http/httputil", "net/http/pprof",
	"net/http/internal", "net/http/internal/ascii", "net/http/internal/httpcommon",
}, httptest...)

// netHTTPSkip are the tests of net/http that do not run. Three expect their own names in the
// server's log, which knows callers outside of net/http by the path of their package. Two run the
// go command.
const netHTTPSkip = "^(TestWriteHeaderNoCodeCheck(_h1hijack)?|TestTimeoutHandlerSuperfluousLogs" +
	"|TestCmdGoNoHTTPServer|TestOmitHTTP2Vet)$"

// goRedisSkip are the tests of go-redis that do not run: examples, which want a server at port
// 6379, and those that skip themselves unless a cluster, a sentinel, a server with TLS or with
// modules, or one of a newer version is at a port of theirs. If there is one, it is somebody's.
const goRedisSkip = "^(Example|TestLanguages|TestTLS|TestMonitorCommand$|TestSentinelFailover" +
	"|TestFTAggregateCollect_|TestSearchCommandsRESP2And|TestDivertedClusterWide|TestConfigDoesNotLeak" +
	"|Test(AP|Truth|APZeroCopyBuffer)Cluster|TestClusterAutoPipeline(Basic|Conc|Cross)" +
	"|TestClusterNodeHook|TestClusterPipeline(Uses|Non)" +
	"|TestClusterMaintNotifications_(SMIGRAT|Dedup.*on$|MultiNode|Complex)" +
	"|TestDigest(Basic|.*Helper)|TestSetIFD|TestDelExArgs)"

// goRedisSkipSpecs are the specs of go-redis that do not run. Those in the first two lines need
// other servers, and those in the third one at port 6379. Those in the next two lines need modules
// of Redis or its version 8, and those in the last line version 7.2, or a file of settings.
const goRedisSkipSpecs = "cluster races|ClusterClient|Command Tips|Redis Ring|Ring (watch|Tx|Publish|Get)" +
	"|Sentinel|UniversalClient|NewFailoverCluster|go-redis TLS" +
	"|Credentials Provider Priority|withConn|Client should Stringer" +
	"|RediSearch|FT\\.|JSON Commands|Advanced JSON|RedisTimeseries|TS\\.|VectorSet|Probabilistic" +
	"|Array Commands|HIMPORT|HotKeys" +
	"|ACL LOG|WaitAOF|ClientSetInfo|ConfigRewrite|fail module loadex|RankWithScore"

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
		// It fails over TCP in a third of its runs on two CPUs: it wants a connection to be closed
		// that may not have been accepted yet.
		skip: "^TestNetworkTransport_AppendEntriesPipeline_CloseStreams$",
		race: true,
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
		name: "go-redis/internal/pool", module: goRedis, std: httptest, test: "github.com/redis/go-redis/v9/internal/pool",
		specs:    "TestGinkgoSuite",
		quickRun: "^(TestGinkgoSuite$|TestMaybeHasData_|TestIsHealthyConn)", quickSpecs: "conn_check", quick: 1,
	},
	{
		name: "go-redis", module: goRedis, std: httptest, test: "github.com/redis/go-redis/v9", server: redis,
		specs: "TestGinkgoSuite", skip: goRedisSkip, skipSpecs: goRedisSkipSpecs,
		limit: 10 * time.Minute,
	},
	{
		name: "go-sql-driver/mysql", module: mysql, test: "github.com/go-sql-driver/mysql", server: mariadb,
		// The first needs an address beyond loopback, and the next two want a server with TLS. The
		// others skip themselves on a busy machine, where a query does not begin within 250 ms.
		skip: "^(TestConnectorReturnsTimeout|TestTLS|TestIssue1567" +
			"|TestContextCancel(Exec|Query|StmtExec|StmtQuery))$",
		limit: 10 * time.Minute,
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
		race: true,
	},
	{
		name: "net/http", std: netHTTP, test: ourModule + "/net/http",
		skip:  netHTTPSkip,
		count: 3, limit: 5 * time.Minute,
	},
	{
		name: "net/http -short", std: netHTTP, test: ourModule + "/net/http",
		skip:  netHTTPSkip,
		short: true, // in parallel, and without a look for leaked goroutines
		count: 5, quick: 1,
	},
	{
		name: "x/net/http2", module: xnet, std: netHTTP, test: "golang.org/x/net/http2",
		count: 5,
	},
	{
		name: "grpc/internal/transport", module: grpc, test: "google.golang.org/grpc/internal/transport",
		keepNet: []string{"internal/transport/readyreader"}, // it reads the descriptor of a *net.TCPConn itself
		// It leaves a listener open, which has a goroutine with StartupPrefer and StartupRequire.
		// The search for leaked goroutines ends with the first that it finds.
		skip: "^Test$/^HTTPConnectWithServerHello$",
	},
	{
		name: "grpc/test", module: grpc, test: "google.golang.org/grpc/test",
		keepNet: []string{"internal/transport/readyreader"}, // as above
		// They leave connections or listeners open; see above.
		skip: "^Test$/^(ClientInvalidStreamID|GoAwayStreamIDSmallerThanCreatedStreams|InvalidStreamIDSmallerThanPrevious)$",
	},
	{
		name: "nats-server/test", module: natsServer, also: []string{natsClient}, std: netHTTP,
		test: "github.com/nats-io/nats-server/v2/test",
		// Those called OCSP are about certificates and wait for seconds each. Those called NoRace
		// have limits of time and memory that a busy machine does not meet, over TCP either; so
		// have those of services, and TestStressChainedSolicitWorks.
		skip:  "OCSP|NoRace|^TestService(Latency|ExportsResponseThreshold)|^TestStressChainedSolicitWorks$",
		limit: 5 * time.Minute,
	},
	{
		name: "nats-server/server", module: natsServer, also: []string{natsClient}, std: netHTTP,
		test: "github.com/nats-io/nats-server/v2/server",
		// All the others together take hours, most of them for JetStream.
		run: "^(TestWS|TestClient|TestRoute|TestTLS)",
		// It fails over TCP too on two CPUs: it wants a route to be a slow consumer for a time.
		skip:  "^TestRouteSlowConsumerRecover$",
		limit: 5 * time.Minute,
	},
}

// repeats returns how often each test runs.
func (s *suite) repeats() int {
	if *quick {
		return s.quick
	}
	return max(s.count, 1)
}

// pattern returns which tests run; "" means all.
func (s *suite) pattern() string {
	if *quick && s.quickRun != "" {
		return s.quickRun
	}
	return s.run
}

// focus returns which specs run; "" means all.
func (s *suite) focus() string {
	if *quick {
		return s.quickSpecs
	}
	return ""
}

// modules returns the modules whose imports change.
func (s *suite) modules() []string {
	if s.module == "" {
		return s.also
	}
	return append([]string{s.module}, s.also...)
}
