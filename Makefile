# make demo      the whole story on this machine in under a minute: needs nothing but Go
# make test      all tests, with the race detector: needs nothing but Go (and a C compiler for -race)
# make check     what a change must pass besides: format, vet, staticcheck, checklocks, cross builds, other machines, models, fuzzing, tshark, other suites
# make machines  the tests of the layers and of extsock on 386, and under QEMU on arm64 and on big-endian s390x; part of check
# make conformance  the requirements of the RFCs, counted, and the figures of what a hostile peer or a bad network can do; as root
# make mutations plants faults, one at a time, which the tests have to find
# make foreign   the test suites of other projects, over TCP and over extsock, test by test
# make interop   against Linux's kernel iWARP (siw) in a QEMU guest; installs what it needs, as root
# make soak      random faults for SOAKTIME, ten minutes unless it says otherwise; the last result is in conformance/soak.md. Then random
#                streams and random verbs with every end, each for SOAKTIME again
# make bench     throughput and latency next to plain TCP in the same run
# make bench-scale     1 to 10,000 connections, and how the cost of an operation grows with Regions, posted work and Completions
# make bench-check     compares with conformance/bench/baseline.json and fails if an operation has lost speed; on a quiet machine, not in CI
# make bench-baseline  writes that file
# make bench-peers  throughput and latency next to UCX, libfabric, iperf3 and plain TCP, for docs/performance.md; installs them, as root
# make early     what early placement brings over a link with delay and loss, for docs/early.md; on a quiet machine
# make fuzz      every fuzz target for FUZZTIME

GO        ?= go
FUZZTIME  ?= 60s
BENCHTIME ?= 7x
SOAKTIME  ?= 10m
NORACE     = ./mpa/... ./ddp/... ./rdmap ./extsock/... ./toe/... ./conformance/apps ./conformance/hostile
MACHINES   = ./mpa/... ./ddp/... ./rdmap ./toe/... ./extsock/...
EMULATED   = -short -skip=TestEMSSIsThatOfTCPInfo\\|TestSendBufferTooSmall\\|TestTUN\\|TestRaw\\|TestEMSSOfKernel\\|TestDevicesWithoutPrivilege
TARGETS    = linux/amd64 linux/arm64 linux/386 darwin/arm64 windows/amd64

.PHONY: demo build test check interop bench soak fuzz format vet lint locks cross oldest tshark benchonce tools models conformance mutations machines foreign foreignquick bench-check bench-baseline bench-scale bench-peers early

demo: build
	./bin/rddp demo

build:
	$(GO) build -o bin/rddp ./cmd/rddp

test:
	$(GO) test -race -shuffle=on -timeout=10m ./...
	$(GO) test $(NORACE) # again: what can't run under the race detector, allocation counts, memory figures, buffers of 4 GiB

check: format vet lint locks cross machines oldest benchonce tshark models foreignquick
	$(MAKE) fuzz FUZZTIME=6s

format:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change: $$out"; exit 1; fi

vet:
	$(GO) vet ./...
	$(GO) vet -tags=interop,tshark,models,conformance,mutations,soak,foreign ./...

lint:
	$(GO) tool staticcheck -tags=interop,tshark,models,conformance,mutations,soak,foreign ./...

# gVisor's checklocks reads the annotations and follows each lock. Its -inferred is off: it guesses which fields a lock guards and
# counts those too that nothing ever changes. The tool needs modules that ours does not, so it has a go.mod of its own.
locks:
	$(GO) build -C .ci/tools -o '$(CURDIR)/bin/checklocks' gvisor.dev/gvisor/tools/checklocks/cmd/checklocks
	$(GO) vet -vettool='$(CURDIR)/bin/checklocks' -inferred=false ./...
	$(GO) vet -vettool='$(CURDIR)/bin/checklocks' -inferred=false -tags=interop,tshark,models,conformance,mutations,soak,foreign ./...

# Everything builds, tests included, for each target.
cross:
	@for t in $(TARGETS); do \
		echo "building for $$t"; \
		GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 $(GO) vet ./... || exit 1; \
		GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/rddp || exit 1; \
	done

# The other byte order, and integers of 32 bits with words aligned to 4 octets. Two at a time, the slowest first. Under qemu-user
# with -short, which means fewer rounds and no test less, and without six tests: qemu-user knows no TCP_INFO and no SO_BUF_LOCK, and runs no
# binary of its machine that a test starts in another namespace.
machines:
	@command -v qemu-aarch64 >/dev/null && command -v qemu-s390x >/dev/null || ./.ci/install qemu-user
	@printf '%s\n' 's390x qemu-s390x $(EMULATED)' 'arm64 qemu-aarch64 $(EMULATED)' '386 env' | \
		GO='$(GO)' xargs -P2 -I{} sh -c './.ci/machine {} $(MACHINES)'

# The oldest Go release that go.mod states builds everything.
oldest:
	GOTOOLCHAIN=go$$(sed -n 's/^go //p' go.mod) $(GO) build ./...

# Wireshark's own decoder as judge of our captures and of our decoder.
tshark: tools
	$(GO) test -count=1 -tags=tshark ./internal/dissect/... ./conformance/ ./cmd/rddp/internal/demo/...
	$(GO) test -count=1 -tags=tshark -run=Tshark ./extsock/

tools:
	@command -v tshark >/dev/null || ./.ci/install tshark

# Spin searches all states of our Promela models, and finds the error of each broken variant.
models:
	@command -v spin >/dev/null && command -v gcc >/dev/null || ./.ci/install spin gcc libc6-dev
	$(GO) test -count=1 -tags=models -timeout=10m ./conformance/models/

# Each requirement's tests, counted by RFC; then all tests with full counts, those of hostile peers one package at a time, with their figures.
conformance:
	$(GO) run ./conformance/requirements/count
	$(GO) test -count=1 -tags=conformance -timeout=15m ./mpa/... ./ddp/... ./rdmap ./extsock/... ./toe/...
	$(GO) test -count=1 -v -p=1 -tags=conformance -timeout=25m ./conformance/hostile ./conformance/hostile/tcpscript ./cmd/rddp/internal/hostile

mutations:
	$(GO) test -count=1 -v -tags=mutations -timeout=60m -run=TestEachFaultIsCaught ./conformance/mutations

# Suites that are fetched at test time run over TCP and over extsock; extsock has to pass what TCP passes. The table is at the end.
foreign:
	$(GO) test -count=1 -v -tags=foreign -timeout=150m -run=TestSuites ./conformance/foreign

foreignquick:
	$(GO) test -count=1 -v -tags=foreign -timeout=20m -run=TestSuites ./conformance/foreign -quick

benchonce:
	$(GO) test -run='^$$' -bench=. -skip=BenchmarkIdle -benchtime=1x ./...

interop: build
	$(GO) test -count=1 -tags=interop -timeout=20m ./conformance/interop/...

bench:
	$(GO) test -run='^$$' -bench='^BenchmarkNextToTCP$$' -benchtime=$(BENCHTIME) -timeout=20m ./extsock
	$(GO) test -run='^$$' -bench='^BenchmarkIdle$$' -benchtime=1x ./extsock # 10,000 connections in each of two processes

bench-scale: build
	./bin/rddp perf --self --scale
	./bin/rddp perf --self --one-cpu --op write,read --size 64 --depth 1,16,256,4096,100000
	$(GO) run ./conformance/bench/floor -conns 64,1000 # what plain TCP itself allows
	$(GO) test -run='^$$' -bench='Among|Abort' -timeout=20m ./ddp ./rdmap

# Ratios to plain TCP, both ends on one CPU: they repeat within 2 % on a quiet machine, and hardly depend on what machine it is.
bench-check: build
	./bin/rddp perf --self --check conformance/bench/baseline.json

bench-baseline: build
	./bin/rddp perf --self --baseline conformance/bench/baseline.json

# Everything else on the machine must be quiet: UCX and libfabric poll. PEERS are more options of the program, such as -rounds 3.
bench-peers: build
	@command -v ucx_perftest >/dev/null && command -v fi_pingpong >/dev/null && command -v fi_info >/dev/null && command -v iperf3 >/dev/null || \
		./.ci/install ucx-utils libfabric-bin iperf3
	$(GO) run ./conformance/peers -document=docs/performance.md -revision="$$(git describe --always --dirty)" $(PEERS)

# EARLY are more options of the program, such as -rounds 5.
early:
	$(GO) run ./conformance/early -document=docs/early.md -revision="$$(git describe --always --dirty)" $(EARLY)

soak: # random faults for SOAKTIME; the result is in conformance/soak.md
	SOAKTIME=$(SOAKTIME) $(GO) test -count=1 -v -tags=soak -timeout=0 -run='^TestSoak$$' ./conformance/hostile
	SOAKTIME=$(SOAKTIME) $(GO) test -count=1 -v -timeout=0 -run='^TestRandom(Streams|Verbs)$$' ./extsock

fuzz: # two targets at a time
	@for pkg in $$($(GO) list ./...); do \
		dir=$$($(GO) list -f '{{.Dir}}' $$pkg); \
		cat $$dir/*_test.go 2>/dev/null | sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\)(.*|$$pkg \1 $(FUZZTIME)|p"; \
	done | xargs -P2 -n3 .ci/fuzz
