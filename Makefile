# The tests are in tiers; CONTRIBUTING.md says which change needs which.
#
# make test      what needs nothing but Go, without the race detector: go test remembers what has passed
# make gate      what each change must pass: format, vet, lint, lock checker, cross builds, the tests with the race detector
# make wild      real timers, other TCPs, hostile load, virtual machines, rdma-core: a test that fails runs again, at most twice
# make nightly SHARD=i/n  shard i of n of what takes hours; n shards together are everything, and make nightly alone is too. With
#                LIST=-list it only says what that is
# make stutter   the wild tier's tests, or those of PKG, stopped for OFF and continued for ON all the time
# make check     make test, make gate and make wild
#                With SHARE=2/4 in the environment, gate and wild do the second of four shares of what takes long: packages under the race
#                detector, targets of cross builds, other projects' suites, pairs of programs
#
# make release VERSION=v0.1.0  the files of a release, in dist: archives, packages and checksums; without VERSION it takes the tag of HEAD
# make packages  a release for this machine, twice, which must be equal; installs and removes its packages in a folder, as root
# make demo      the whole story on this machine in under a minute: needs nothing but Go
# make machines  the tests of the layers and of extsock on 386 (or arm), and under QEMU on arm64 and on big-endian s390x
# make models    Spin searches all states of the Promela models
# make tshark    Wireshark's decoder as judge of our captures
# make conformance  the requirements of the RFCs, counted, and the figures of what a hostile peer or a bad network can do; as root
# make mutations plants faults, one at a time, which the tests have to find
# make foreign   the test suites of other projects, over TCP and over extsock, test by test; installs MariaDB and Redis, which two of them need,
#                as root; make foreignquick runs a selection
# make interop   against Linux's kernel iWARP (siw) in a QEMU guest; installs what it needs, as root
# make verbs     unchanged programs under rddp run: rdma-core's examples and its own tests, those of rdma_cm, perftest, UCX, MPI, fio, qperf, tgt and QEMU, some of TCP;
#                installs them, as root. make verbsquick is the same as a step of a tier, without UCX's own tests, which make suites builds
#                from source and runs
# make commands  the command rddp in bash, zsh and fish, at a terminal, on full disks, and scanned from another namespace; installs them, as root
# make soak      random faults for SOAKTIME, ten minutes unless it says otherwise; the last result is in conformance/soak.md. Then random
#                starts, random streams and random verbs with every end, each for SOAKTIME again
# make fuzz      every fuzz target for FUZZTIME
# make bench     throughput and latency next to plain TCP in the same run
# make bench-scale     1 to 10,000 connections, and how the cost of an operation grows with Regions, posted work and Completions
# make bench-check     compares with conformance/bench/baseline.json and fails if an operation costs more processor time; not in CI
# make bench-baseline  writes that file
# make bench-peers  throughput and latency next to UCX, libfabric, iperf3 and plain TCP, for docs/performance.md; installs them, as root
# make bench-devices  how long one-sided operations take while the program that serves them is idle, busy or stopped, in process and on
#                each device, for docs/devices.md; installs what it needs, as root
# make study-cache   what it costs to keep a cache coherent by RDMA Reads, for docs/studies/cache.md; on a quiet machine
# make study-striped lists of pieces of a file that is striped over I/O servers, for docs/studies/striped.md; on a quiet machine
# make study-memory  bytes moved through memory for each byte delivered, for docs/studies/memory.md; as root
# make study-web     pages from a web server through a proxy, for docs/studies/web.md; on a quiet machine
# make study-reconfiguration  load balancers that move servers between sites, for docs/studies/reconfiguration.md; on a quiet machine
# make study-filter  blocks that flow through filters, over TCP and over extsock, for docs/studies/filter.md; on a quiet machine
# make early     what early placement brings over a link with delay and loss, for docs/early.md; on a quiet machine

GO        ?= go
FUZZTIME  ?= 60s
BENCHTIME ?= 7x
SOAKTIME  ?= 10m
SHARD     ?= 1/1
export GO
# .ci/go.work joins the modules of this tree, for make alone.
export GOWORK = $(CURDIR)/.ci/go.work

# All packages: of the module at the root, of the TCP in user space, and of the laboratory.
ALL    = ./... ./toe/usertcp/... ./conformance/lab/...

# The packages of the wild tier: real timers, other TCPs, loads that take all CPUs.
WILD   = ./conformance/lab/apps ./conformance/lab/early ./conformance/hostile ./cmd/rddp/internal/hostile ./toe/tun \
	./toe/usertcp ./toe/usertcp/hostile ./toe/usertcp/tcpscript
# Their tests only compare files of the tree: the race detector finds nothing there.
LISTS  = . ./conformance/mutations ./conformance/requirements
# Nor does it here: the model starts no goroutine, and baseline measures a command that is built without it. They are part of make test.
SERIAL = ./conformance/lab/pipeline ./conformance/lab/model ./conformance/lab/figures ./conformance/lab/baseline
# The layers and extsock: what runs with full counts and on other machines.
LAYERS = ./mpa ./mpa/... ./ddp ./ddp/... ./rdmap ./toe/... ./toe/usertcp ./toe/usertcp/sockets ./internal/conn/... ./extsock/...
# Hostile peers: with full counts they print figures.
FIGURES = ./conformance/hostile ./cmd/rddp/internal/hostile ./cmd/rddp/internal/run ./toe/usertcp/hostile ./toe/usertcp/tcpscript
# All packages but those of the wild tier, with the tools that the Makefile uses. RACY are fewer.
QUICK  = $$($(GO) list $(ALL) ./.ci/tier ./.ci/recording | grep -vxF "$$($(GO) list . $(WILD))")
RACY   = $$($(GO) list $(ALL) ./.ci/tier ./.ci/recording | grep -vxF "$$($(GO) list $(WILD) $(LISTS) $(SERIAL))")

# The tests of time and rate, as a pattern: those in files *_timing_test.go. They are part of make wild alone.
TIMING = ^($$(sed -n 's/^func \(Test[^(]*\).*/\1/p' $$(find . -name '*_timing_test.go') | paste -sd'|' -))\$$

GATE   = format vet lint locks api cross race norace lists
PARTS  = wild-race wild-norace wild-timing foreignquick interop verbsquick commands demo
VERBS  = ^($$(sed -n 's/^func \(Test[^(]*\).*/\1/p' $$(grep -l '^//go:build verbs' cmd/rddp/internal/run/*_test.go) | paste -sd'|' -))\$$
SUITES = ^TestUCX$$
TAGS   = interop,tshark,models,conformance,mutations,soak,foreign,verbs,commands

# qemu-user knows no TCP_INFO and no SO_BUF_LOCK, and runs no binary of its machine that a test starts in another namespace. -short
# means fewer rounds and no test less.
EMULATED = -short -skip=TestEMSSIsThatOfTCPInfo|TestSendBufferTooSmall|TestTUN|TestRaw|TestEMSSOfKernel|TestDevicesWithoutPrivilege|TestOperationsOfABusyProgram
TARGETS  = linux/arm64 linux/386 darwin/arm64 windows/amd64
CROSSED  = ./...
TIER     = ./bin/tier

.PHONY: bin/tier test gate wild nightly stutter check demo recording build race norace lists wild-race wild-norace wild-timing format vet lint locks cross crossall oldest \
	machines machine-386 machine-arm64 machine-s390x emulators tshark models conformance mutations foreign foreignquick interop verbs verbsquick commands \
	verbs-programs verbs-suites suites suitesquick foreign-programs release packages bin/nfpm benchonce soak fuzz bench bench-check bench-baseline bench-scale benchmarks bench-peers bench-devices early study-cache study-filter study-striped study-memory study-reconfiguration study-web

# The package at the root looks at all others by running the go command, so it always runs.
test: norace
	$(GO) test -count=1 .

gate: bin/tier
	@$(TIER) run $(GATE)

wild: bin/tier
	@$(TIER) run $(PARTS)

NIGHTLY = $(TIER) nightly -all='$(ALL)' -layers='$(LAYERS)' -hostile='$(FIGURES)' -wild='$(WILD)' -fuzztime=$(FUZZTIME) -soaktime=$(SOAKTIME) \
	-machine='s390x qemu-s390x $(EMULATED)' -machine='arm64 qemu-aarch64 $(EMULATED)' -machine='386 native $(EMULATED)'

nightly: bin/tier $(if $(LIST),,emulators)
	@$(if $(LIST),,if $(NIGHTLY) -list $(SHARD) | grep -Eq 'mysql|go-redis'; then ./.ci/install mariadb-server redis-server; fi)
	@$(NIGHTLY) $(LIST) $(SHARD)

stutter: bin/tier
	@$(TIER) test -retries=2 -- -count=1 -p=1 -timeout=40m -exec=$(CURDIR)/.ci/stutter $(or $(PKG),$(WILD))

check: bin/tier
	@$(TIER) run test gate wild

bin/tier:
	@$(GO) build -o $@ ./.ci/tier

demo: build
	./bin/rddp demo

# docs/demo.svg, from a run of the demo.
recording: build
	$(GO) build -o bin/recording ./.ci/recording
	cd bin && PATH='$(CURDIR)/bin':$$PATH ./recording -svg ../docs/demo.svg rddp demo

build:
	$(GO) build -o bin/rddp ./cmd/rddp

# At its end a test binary waits for races of goroutines that are left: by default for a second, in which no other package takes its place.
race: bin/tier
	own=$$($(TIER) share $(RACY)) && GORACE=atexit_sleep_ms=100 $(GO) test -race -shuffle=on -timeout=10m -skip="$(TIMING)" $$own

# Some tests can't run under the race detector: allocation counts, memory figures, buffers of 4 GiB. go test remembers what has passed
# without -race and -shuffle.
norace:
	$(GO) test -timeout=5m -skip="$(TIMING)" $(QUICK)

# Imports, exported names and uses of time follow the rules; each planted fault fits the code and compiles; conformance/matrix.md is up
# to date.
lists:
	$(GO) test -count=1 -tags=mutations -run='Fit|Compile' ./conformance/mutations
	$(GO) test -count=1 . ./conformance/requirements

wild-race: bin/tier
	own=$$($(TIER) share $(WILD)) && $(TIER) test -retries=2 -- -race -shuffle=on -p=1 -timeout=10m $$own

# The packages whose tests do less under the race detector.
wild-norace: bin/tier
	own=$$(grep -lsE 'testmode\.Race|^//go:build .*!race' $$($(GO) list -f '{{.Dir}}/*_test.go' $(WILD)) | xargs -n1 dirname | sort -u) && \
		$(TIER) test -retries=2 -- -count=1 -p=1 -timeout=10m $$own

wild-timing: bin/tier
	$(TIER) test -retries=2 -- -count=1 -p=1 -timeout=10m -run="$(TIMING)" $$(find . -name '*_timing_test.go' | xargs -n1 dirname | sort -u)

format:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change: $$out"; exit 1; fi

vet:
	$(GO) vet -tags=$(TAGS) $(ALL) ./.ci/tier ./.ci/release ./.ci/recording

# The tools that check need modules that ours do not, so they have a go.mod of their own.
lint:
	GOWORK=off $(GO) build -C .ci/tools -o '$(CURDIR)/bin/staticcheck' honnef.co/go/tools/cmd/staticcheck
	./bin/staticcheck -tags=$(TAGS) $(ALL) ./.ci/tier ./.ci/release ./.ci/recording

# What a program uses must not go unmeant: see docs/stability.md.
api:
	GOWORK=off $(GO) build -C .ci/tools -o '$(CURDIR)/bin/apidiff' golang.org/x/exp/cmd/apidiff
	@.ci/api

# gVisor's checklocks reads the annotations and follows each lock. Its -inferred is off: it guesses which fields a lock guards and
# counts those too that nothing ever changes.
locks:
	GOWORK=off $(GO) build -C .ci/tools -o '$(CURDIR)/bin/checklocks' gvisor.dev/gvisor/tools/checklocks/cmd/checklocks
	$(GO) vet -vettool='$(CURDIR)/bin/checklocks' -inferred=false -tags=$(TAGS) $(ALL)

# The root module builds, tests included, for each target; crossall also builds the other modules. vet has built them for this machine.
cross: bin/tier
	@own=$$($(TIER) share $(TARGETS)) && for t in $$own; do \
		echo "building for $$t"; \
		GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 $(GO) vet $(CROSSED) || exit 1; \
	done
	GOWORK=off CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/rddp

crossall:
	@$(MAKE) --no-print-directory cross CROSSED='$(ALL)'

# The other byte order, and integers of 32 bits with words aligned to 4 octets. Two at a time, the slowest first.
machines: emulators
	@$(MAKE) --no-print-directory -j2 machine-s390x machine-arm64 machine-386

machine-s390x:
	@./.ci/machine s390x qemu-s390x $(subst |,\|,$(EMULATED)) $(LAYERS)

machine-arm64:
	@./.ci/machine arm64 qemu-aarch64 $(subst |,\|,$(EMULATED)) $(LAYERS)

machine-386:
	@./.ci/machine 386 native $(subst |,\|,$(EMULATED)) $(LAYERS)

emulators:
	@command -v qemu-aarch64 >/dev/null && command -v qemu-s390x >/dev/null || ./.ci/install qemu-user

# The oldest Go release that each go.mod states builds its module, without go.work.
oldest:
	@for m in . toe/usertcp conformance/lab; do \
		echo "building $$m"; \
		(cd $$m && export GOWORK=off && GOTOOLCHAIN=go$$(sed -n 's/^go //p' go.mod) $(GO) build ./...) || exit 1; \
	done

# Wireshark's own decoder as judge of our captures and of our decoder.
tshark:
	@command -v tshark >/dev/null || ./.ci/install tshark
	$(GO) test -count=1 -tags=tshark ./internal/dissect/... ./conformance/ ./cmd/rddp/internal/demo/...
	$(GO) test -count=1 -tags=tshark -run=Tshark ./extsock/
	@./.ci/install ibverbs-providers rdmacm-utils perftest
	$(GO) test -count=1 -tags=tshark,verbs -run=Tshark ./cmd/rddp/internal/run

# Spin searches all states of our Promela models, and finds the error of each broken variant.
models:
	@command -v spin >/dev/null && command -v gcc >/dev/null || ./.ci/install spin gcc libc6-dev
	$(GO) test -count=1 -tags=models -timeout=10m ./conformance/models/

# Each requirement's tests, counted by RFC; then all tests with full counts, those of hostile peers one package at a time, with their figures.
conformance:
	$(GO) run ./conformance/requirements/count
	$(GO) test -count=1 -tags=conformance -timeout=15m $(LAYERS)
	$(GO) test -count=1 -v -p=1 -tags=conformance -timeout=25m $(FIGURES)

mutations:
	$(GO) test -count=1 -v -tags=mutations -timeout=60m -run=TestEachFaultIsCaught ./conformance/mutations

# Suites that are fetched at test time run over TCP and over extsock; extsock has to pass what TCP passes. The table is at the end.
foreign: foreign-programs
	$(GO) test -count=1 -v -tags=foreign -timeout=150m -run=TestSuites ./conformance/foreign

foreignquick:
	$(GO) test -count=1 -v -tags=foreign -timeout=20m -run=TestSuites ./conformance/foreign -quick

# The servers of a database driver's suite, and of a Redis client's.
foreign-programs:
	@./.ci/install mariadb-server redis-server

benchonce:
	$(GO) test -run='^$$' -bench=. -skip=BenchmarkIdle -benchtime=1x $(ALL)

interop: build bin/tier
	$(TIER) test -retries=2 -- -count=1 -p=1 -tags=interop -timeout=40m ./conformance/interop/... ./toe/usertcp/interop

# Unchanged programs find the device of rddp run.
verbs: verbs-programs verbs-suites
	$(GO) test -count=1 -v -tags=verbs -timeout=60m -run="$(VERBS)" ./cmd/rddp/internal/run

# The same as a step of a tier: without the tables, and a test that fails runs again. Building the suites takes too long for it.
verbsquick: verbs-programs bin/tier
	$(TIER) test -retries=2 -- -count=1 -tags=verbs -timeout=10m -run="$(VERBS)" -skip='$(SUITES)' ./cmd/rddp/internal/run

suites: verbs-suites
	$(GO) test -count=1 -v -tags=verbs -timeout=40m -run='$(SUITES)' ./cmd/rddp/internal/run

# Without the suites that take minutes.
suitesquick: verbs-suites
	$(GO) test -count=1 -v -tags=verbs -timeout=10m -run='$(SUITES)/^(rdmacm|ib)$$' ./cmd/rddp/internal/run

# Test suites that Debian's packages leave out are built once, in the user's cache.
verbs-suites:
	@./.ci/install ucx-utils libibverbs-dev librdmacm-dev ibverbs-providers dpkg-dev g++ make autoconf automake libtool pkg-config iproute2
	@./.ci/suite ucx

verbs-programs:
	@./.ci/install ibverbs-utils ibverbs-providers rdmacm-utils perftest python3-pyverbs rdma-core ucx-utils libfabric-bin gcc libc6-dev iperf3 curl wget netcat-openbsd python3 \
		nginx-light redis-server redis-tools openssh-server openssh-client openjdk-17-jdk-headless postgresql postgresql-contrib iproute2 udev \
		mpich libmpich-dev openmpi-bin libopenmpi-dev fio qperf qemu-system-x86 seabios tgt libiscsi-bin

# The command in shells, at a terminal, on full disks, and scanned from another namespace.
commands: bin/tier
	@./.ci/install bash zsh fish tmux iproute2 util-linux
	$(TIER) test -retries=2 -- -count=1 -tags=commands -timeout=5m -run='Completion|Terminal|Namespaces|Scan' ./cmd/rddp

release: bin/nfpm bin/cyclonedx-gomod bin/image
	@$(GO) run ./.ci/release -version='$(VERSION)' -key='$(KEY)'

# Two builds of one tree are equal, and what the packages install is all there, works, and goes again. The action, and the examples for
# workflows, Compose and Kubernetes, are what those read, and do what they say.
packages: bin/nfpm bin/cyclonedx-gomod bin/image api
	@./.ci/install dpkg rpm man-db systemd git openssh-client curl openssl
	$(GO) test -count=1 -timeout=10m ./.ci/release
	GOWORK=off $(GO) test -C .ci/deploy -count=1 -timeout=10m .

bin/nfpm:
	GOWORK=off $(GO) build -C .ci/tools -o '$(CURDIR)/bin/nfpm' github.com/goreleaser/nfpm/v2/cmd/nfpm

bin/cyclonedx-gomod:
	GOWORK=off $(GO) build -C .ci/tools -o '$(CURDIR)/bin/cyclonedx-gomod' github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

bin/image: .ci/tools/image/main.go
	GOWORK=off $(GO) build -C .ci/tools -o '$(CURDIR)/bin/image' ./image

bench:
	$(GO) test -run='^$$' -bench='^BenchmarkNextToTCP$$' -benchtime=$(BENCHTIME) -timeout=20m ./extsock
	$(GO) test -run='^$$' -bench='^BenchmarkIdle$$' -benchtime=1x ./extsock # 10,000 connections in each of two processes

bench-scale: build
	./bin/rddp perf --self --scale
	./bin/rddp perf --self --one-cpu --op write,read --size 64 --depth 1,16,256,4096,100000
	$(GO) run ./conformance/lab/floor -conns 64,1000 # what plain TCP itself allows
	$(GO) test -run='^$$' -bench='Among|Abort' -timeout=20m ./ddp ./rdmap

# Processor time of both ends next to plain TCP's, on one CPU: it repeats within 6 % on a quiet machine (short echoes 14 %), and within 12 % beside
# another program that computes. conformance/lab/baseline/doc.go says what counts as a loss.
bench-check: build
	$(GO) run ./conformance/lab/baseline -rddp=./bin/rddp conformance/bench/baseline.json

bench-baseline: build
	$(GO) run ./conformance/lab/baseline -rddp=./bin/rddp -write conformance/bench/baseline.json

# The data and the plots of docs/benchmarks.md: each operation next to plain TCP, on one CPU, with two congestion controls.
benchmarks: build
	@rows=$$(for n in 64 1k 4k 16k 64k 1m; do \
		printf '%s\n' write/on/$$n/16/one write/on/$$n/16/batch read/on/$$n/16/one send/on/$$n/16/one stream/on/$$n/1 echo/on/$$n/1; done | paste -sd, -) && \
	for c in cubic bbr; do \
		./bin/rddp perf --self --one-cpu --congestion $$c --rows $$rows --json > conformance/bench/ratios-$$c.json && \
		$(GO) run ./conformance/lab/figures -ratios docs/benchmarks-$$c.svg conformance/bench/ratios-$$c.json || exit 1; \
	done

# Everything else on the machine must be quiet: UCX and libfabric poll. PEERS are more options of the program, such as -rounds 3.
bench-peers: build
	@command -v ucx_perftest >/dev/null && command -v fi_pingpong >/dev/null && command -v fi_info >/dev/null && command -v iperf3 >/dev/null || \
		./.ci/install ucx-utils libfabric-bin gcc libc6-dev iperf3
	$(GO) run ./conformance/lab/peers -document=docs/performance.md -revision="$$(git describe --always --dirty)" $(PEERS)

bench-devices:
	$(GO) test -count=1 -v -tags=interop -run='^$$' -bench=SocketLatency -benchtime=1x -timeout=30m ./conformance/interop

# EARLY are more options of the program, such as -rounds 5.
early:
	$(GO) run ./conformance/lab/early -document=docs/early.md -revision="$$(git describe --always --dirty)" $(EARLY)

# STUDY are more options of the programs, such as -rounds 5.
study-cache study-filter study-striped study-memory study-reconfiguration study-web: study-%:
	$(GO) run ./conformance/lab/studies/$* -document=docs/studies/$*.md \
		-revision="$$(git describe --always)$$(git diff --quiet HEAD -- . ':!docs/studies' || echo -dirty)" $(STUDY)

soak: # random faults for SOAKTIME; the result is in conformance/soak.md
	SOAKTIME=$(SOAKTIME) $(GO) test -count=1 -v -tags=soak -timeout=0 -run='^TestSoak$$' ./conformance/hostile
	SOAKTIME=$(SOAKTIME) $(GO) test -count=1 -v -timeout=0 -run='^TestRandom(Starts|Streams|Verbs)$$' ./extsock

fuzz: # two targets at a time
	@for pkg in $$($(GO) list $(ALL)); do \
		dir=$$($(GO) list -f '{{.Dir}}' $$pkg); \
		cat $$dir/*_test.go 2>/dev/null | sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\)(.*|$$pkg \1 $(FUZZTIME)|p"; \
	done | xargs -P2 -n3 .ci/fuzz
