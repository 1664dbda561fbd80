package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// longest is about the longest time of an item in seconds. A package that takes longer is divided
// by its tests, a suite by its columns.
const longest = 150

// faultParts is the number of items for the planted faults.
const faultParts = 48

// pairParts is the number of items for the pairs of places where extended sockets meet.
const pairParts = 11

// A nightly holds the contents of the nightly tier, from the Makefile's lists.
type nightly struct {
	ctx      context.Context
	all      []string
	layers   []string
	hostile  []string
	wild     []string
	machines []string // "GOARCH RUNNER FLAG..."
	fuzzTime time.Duration
	soakTime time.Duration
	items    []item
}

func nightlyCommand(ctx context.Context, args []string) error {
	var n nightly
	n.ctx = ctx
	flags := flag.NewFlagSet("nightly", flag.ExitOnError)
	list := flags.Bool("list", false, "only list what is in the shard, and about how many seconds it takes")
	fields := func(name, usage string, value *[]string) {
		flags.Func(name, usage, func(s string) error { *value = strings.Fields(s); return nil })
	}
	fields("all", "all packages: those whose fuzz targets run", &n.all)
	fields("layers", "packages with full counts", &n.layers)
	fields("hostile", "packages with full counts and figures", &n.hostile)
	fields("wild", "packages that stutter", &n.wild)
	flags.Func("machine", "GOARCH, RUNNER and flags, for the layers; may be repeated", func(s string) error {
		n.machines = append(n.machines, s)
		return nil
	})
	flags.DurationVar(&n.fuzzTime, "fuzztime", time.Minute, "for each fuzz target")
	flags.DurationVar(&n.soakTime, "soaktime", 10*time.Minute, "for each kind of random faults, in all shards together")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := parseShard(flags.Arg(0))
	if err != nil {
		return fmt.Errorf("SHARD: %w", err)
	}
	if err := os.Unsetenv(shareVariable); err != nil { // it applies to the other tiers
		return err
	}
	if err := n.collect(s.of); err != nil {
		return err
	}
	own := divide(n.items, s.of)[s.index-1]
	fmt.Printf("== shard %d of %d: %d of %d items, about %d of %d s on two CPUs\n",
		s.index, s.of, len(own), len(n.items), total(own), total(n.items))
	if *list {
		for _, it := range own {
			fmt.Printf("%5d  %s\n", it.seconds, it.name)
		}
		return nil
	}
	var steps []step
	for _, it := range own {
		it.limit = time.Duration(600+6*it.seconds) * time.Second
		steps = append(steps, it.step)
	}
	return runSteps(ctx, os.Stdout, steps, 0)
}

// collect collects the items. Only the time of the soak depends on the number of shards.
func (n *nightly) collect(shards int) error {
	for _, add := range []func() error{n.conformance, n.emulated, n.stuttering, n.fuzzing, n.foreign} {
		if err := add(); err != nil {
			return err
		}
	}
	n.addShares("mutations", faultParts, 75, "-tags=mutations", "-run=TestEachFaultIsCaught", "./conformance/mutations")
	n.addShares("interop pairs", pairParts, estimate("interop", ""), "-tags=interop,conformance", "-run=^TestSocketPairs$", "./conformance/interop")
	soak := max(n.soakTime/time.Duration(shards), 20*time.Second)
	seconds := int(soak.Seconds())
	n.add("soak, faults", seconds+10, goCommand(), "test", "-count=1", "-v", "-tags=soak", "-timeout=0", "-run=^TestSoak$", "./conformance/hostile")
	random := []string{"Starts", "Streams", "Verbs"}
	for _, what := range random {
		n.add("soak, "+strings.ToLower(what), seconds+10, goCommand(), "test", "-count=1", "-v", "-timeout=0", "-run=^TestRandom"+what+"$", "./extsock")
	}
	soaks := n.items[len(n.items)-1-len(random):]
	for i := range soaks {
		soaks[i].env = []string{"SOAKTIME=" + soak.String()}
	}
	n.add("requirements", 5, goCommand(), "run", "./conformance/requirements/count")
	for _, target := range []string{"models", "tshark", "benchonce", "oldest", "crossall", "packages", "suitesquick"} {
		n.add(target, estimate(target, ""), "make", "--no-print-directory", target)
	}
	return nil
}

func (n *nightly) add(name string, seconds int, args ...string) {
	n.items = append(n.items, item{step{name: name, args: args}, seconds})
}

// addShares adds an item for each share of a test.
func (n *nightly) addShares(what string, parts, seconds int, test ...string) {
	for part := range parts {
		share := fmt.Sprintf("%d/%d", part+1, parts)
		n.add(what+" "+share, seconds, slices.Concat([]string{goCommand(), "test", "-count=1", "-v", "-timeout=60m"}, test)...)
		n.items[len(n.items)-1].env = []string{shareVariable + "=" + share}
	}
}

// addPackages adds an item for each package, or several for a package that takes long. The command
// gets the flags and packages of go test as its last arguments.
func (n *nightly) addPackages(what string, packages []testPackage, command ...string) error {
	for _, p := range packages {
		folder := p.folder()
		seconds := estimate(what, folder)
		names, err := p.functions()
		if err != nil {
			return err
		}
		if len(names) == 0 {
			continue
		}
		name := what + " " + folder
		parts := min((seconds+longest-1)/longest, len(names))
		if parts <= 1 {
			n.add(name, seconds, append(slices.Clone(command), folder)...)
			continue
		}
		for part, own := range deal(names, parts) {
			n.add(fmt.Sprintf("%s %d/%d", name, part+1, parts), seconds/parts, append(slices.Clone(command), "-run="+pattern(own), folder)...)
		}
	}
	return nil
}

// deal distributes the names in turn.
func deal(names []string, parts int) [][]string {
	all := make([][]string, parts)
	for i, name := range names {
		all[i%parts] = append(all[i%parts], name)
	}
	return all
}

// conformance adds the tests with full counts.
func (n *nightly) conformance() error {
	for _, set := range []struct {
		patterns []string
		flags    []string
	}{{n.layers, nil}, {n.hostile, []string{"-v", "-p=1"}}} {
		packages, err := listTests(n.ctx, nil, []string{"-tags=conformance"}, set.patterns)
		if err != nil {
			return err
		}
		if set.flags == nil { // the hostile packages have their own items
			packages = slices.DeleteFunc(packages, func(p testPackage) bool { return slices.Contains(n.hostile, p.folder()) })
		}
		command := append([]string{goCommand(), "test", "-count=1", "-tags=conformance", "-timeout=40m"}, set.flags...)
		if err := n.addPackages("conformance", packages, command...); err != nil {
			return err
		}
	}
	return nil
}

// emulated adds the tests of the layers on other machines.
func (n *nightly) emulated() error {
	for _, machine := range n.machines {
		words := strings.Fields(machine)
		packages, err := listTests(n.ctx, []string{"GOARCH=" + words[0], "CGO_ENABLED=0"}, nil, n.layers)
		if err != nil {
			return err
		}
		if err := n.addPackages("machine "+words[0], packages, append([]string{"./.ci/machine"}, words...)...); err != nil {
			return err
		}
	}
	return nil
}

// stuttering adds the packages of the wild tier, which are stopped and continued in turns.
func (n *nightly) stuttering() error {
	packages, err := listTests(n.ctx, nil, nil, n.wild)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	stutter, err := filepath.Abs(".ci/stutter") // go test runs it in the package's folder
	if err != nil {
		return err
	}
	return n.addPackages("stutter", packages, program, "test", "-retries=2", "--", "-count=1", "-timeout=30m", "-exec="+stutter)
}

// fuzzing adds every fuzz target.
func (n *nightly) fuzzing() error {
	packages, err := listTests(n.ctx, nil, nil, n.all)
	if err != nil {
		return err
	}
	for _, p := range packages {
		names, err := p.functions()
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasPrefix(name, "Fuzz") {
				n.add("fuzz "+p.folder()+" "+name, int(n.fuzzTime.Seconds())+10, "./.ci/fuzz", p.folder(), name, n.fuzzTime.String())
			}
		}
	}
	return nil
}

// foreign adds the suites of other projects. Each item also runs the suite over TCP, so a suite is
// divided by columns only if it takes long.
func (n *nightly) foreign() error {
	suites, err := suiteNames("suites_test.go")
	if err != nil {
		return err
	}
	columns, err := suiteNames("run_test.go")
	if err != nil {
		return err
	}
	for _, suite := range suites {
		name := strings.NewReplacer("/", "_", " ", "_").Replace(suite)
		command := []string{goCommand(), "test", "-count=1", "-v", "-tags=foreign", "-timeout=60m", "-run=^TestSuites$/" + pattern([]string{name}), "./conformance/foreign"}
		seconds := estimate("foreign", suite)
		if seconds <= 2*longest {
			n.add("foreign "+suite, seconds, command...)
			continue
		}
		for _, column := range columns[1:] { // the first is TCP, which the others are compared with
			n.add("foreign "+suite+", "+column, 2*seconds/len(columns), append(slices.Clone(command), "-columns="+column)...)
		}
	}
	return nil
}

// suiteName matches a suite or a column of the tables of conformance/foreign.
var suiteName = regexp.MustCompile(`\bname: +"([^"]+)"`)

// suiteNames returns the names in the table of a file of conformance/foreign.
func suiteNames(file string) ([]string, error) {
	src, err := os.ReadFile(filepath.Join("conformance", "foreign", file))
	if err != nil {
		return nil, err
	}
	names := matches(suiteName, src)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no names", file)
	}
	return names, nil
}
