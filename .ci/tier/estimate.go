package main

import "strings"

// seconds has estimated times of items on two CPUs, by kind and folder or suite. They need not be
// exact: they only balance the shards, and determine which packages and suites are divided. The
// record of a shard (bin/tier.jsonl) has measured times.
var seconds = map[string]int{
	"conformance ./conformance/hostile":   450,
	"conformance ./toe/usertcp/hostile":   450,
	"conformance ./toe/usertcp/tcpscript": 120,
	"conformance ./ddp":                   600,
	"conformance ./mpa":                   300,
	"conformance ./rdmap":                 300,
	"conformance ./extsock":               600,
	"conformance ./internal/conn/driver":  150,
	"conformance ./toe/usertcp":           120,
	"conformance ./toe/simtoe":            60,

	"machine s390x ./ddp":                  150,
	"machine s390x ./mpa":                  120,
	"machine s390x ./rdmap":                120,
	"machine s390x ./extsock":              600,
	"machine s390x ./internal/conn/driver": 300,
	"machine s390x ./toe/usertcp":          120,
	"machine arm64 ./ddp":                  120,
	"machine arm64 ./mpa":                  90,
	"machine arm64 ./rdmap":                90,
	"machine arm64 ./extsock":              450,
	"machine arm64 ./internal/conn/driver": 240,
	"machine arm64 ./toe/usertcp":          90,
	"machine 386 ./ddp":                    30,
	"machine 386 ./extsock":                60,
	"machine 386 ./internal/conn/driver":   40,

	"stutter ./conformance/hostile":       120,
	"stutter ./toe/usertcp/hostile":       80,
	"stutter ./conformance/lab/apps":      120,
	"stutter ./toe/tun":                   10,
	"stutter ./conformance/lab/early":     20,
	"stutter ./cmd/rddp/internal/hostile": 30,

	"race ./cmd/rddp":                   150,
	"race ./cmd/rddp/internal/filecopy": 64,
	"race ./cmd/rddp/internal/perf":     50,
	"race ./cmd/rddp/internal/proxy":    54,
	"race ./cmd/rddp/internal/run":      260,
	"race ./internal/softrnic":          54,
	"race ./ddp":                        26,
	"race ./extsock":                    230,
	"race ./internal/conn/driver":       20,
	"race ./toe/netconn":                48,
	"race ./toe/simtoe":                 56,
	"race ./toe/usertcp/sockets":        26,
	"race ./conformance/lab/apps":       47,
	"race ./conformance/hostile":        97,
	"race ./cmd/rddp/internal/hostile":  19,
	"race ./toe/usertcp":                38,
	"race ./toe/usertcp/hostile":        33,

	"foreign nettest":                300,
	"foreign Go net":                 400,
	"foreign Go net -race":           600,
	"foreign net/http":               600,
	"foreign net/http -short":        300,
	"foreign x/net/http2":            400,
	"foreign grpc/test":              500,
	"foreign go-redis":               600,
	"foreign go-redis/internal/pool": 150,
	"foreign go-sql-driver/mysql":    300,
	"foreign nats-server/test":       600,
	"foreign nats-server/server":     600,
}

// usual has the times of all other items, by the first word of their kind.
var usual = map[string]int{"conformance": 20, "race": 7, "machine": 20, "stutter": 60, "foreign": 120, "interop": 240, "models": 80, "tshark": 60, "benchonce": 120, "oldest": 90, "crossall": 400, "packages": 90, "suitesquick": 500}

// estimate returns the estimated time of an item in seconds.
func estimate(what, of string) int {
	if s, known := seconds[strings.TrimSpace(what+" "+of)]; known {
		return s
	}
	first, _, _ := strings.Cut(what, " ")
	return usual[first]
}
