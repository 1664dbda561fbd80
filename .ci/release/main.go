// Command release makes the files of a release, from the tree in the current folder: archives with
// the command for each system, packages for Debian and for systems with RPM, and their checksums.
// make release runs it.
//
// Two runs at one commit, with one version of Go, make the same bytes, in whichever folder.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// targets are what a release is built for, as GOOS/GOARCH. Each gets an archive, and those of Linux
// get packages too.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// A release says what is built, and from which commit.
type release struct {
	version string    // such as v0.1.0
	commit  string    // "" if the tree has no history
	time    time.Time // of the files
}

func main() {
	version := flag.String("version", "", "the version, such as v0.1.0 (default: the tag of HEAD)")
	out := flag.String("out", "dist", "the folder for the files; what it had is removed")
	tools := flag.String("tools", "bin", "the folder of nfpm, cyclonedx-gomod and image, which make builds")
	key := flag.String("key", "", "the private key that signs the checksums, as ssh-keygen makes it (default: no signature)")
	flag.Parse()
	if err := run(*version, *out, *tools, *key); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(version, out, tools, key string) error {
	r, err := describe(".", version)
	if err != nil {
		return err
	}
	names, err := r.make(".", out, tools, targets)
	if err != nil {
		return err
	}
	if key != "" {
		if err := sign(filepath.Join(out, sumsFile), key); err != nil {
			return err
		}
		names = append(names, sumsFile+".sig")
	}
	fmt.Printf("%s of commit %s:\n", r.version, r.commit)
	for _, name := range names {
		fmt.Println(out + "/" + name)
	}
	return nil
}

// versionPattern is that of semantic versions, as Go and nfpm both take it.
var versionPattern = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`)

// describe says what the tree in a folder is. A tree that differs from its commit gets a version
// that says so, as Go's own do. SOURCE_DATE_EPOCH takes the place of the commit's time, and a tree
// without history needs it.
func describe(tree, version string) (release, error) {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", tree}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	if version == "" {
		tag, err := git("describe", "--exact-match", "--tags", "--match=v*", "HEAD")
		if err != nil {
			return release{}, errors.New("no version: HEAD has no tag that begins with v; give one, as in VERSION=v0.1.0")
		}
		version = tag
	}
	if !versionPattern.MatchString(version) {
		return release{}, fmt.Errorf("%q is not a version such as v0.1.0 or v0.1.0-rc.1", version)
	}
	r := release{version: version}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if log, err := git("log", "-1", "--format=%H %ct"); err == nil {
		commit, at, _ := strings.Cut(log, " ")
		if r.commit = commit; seconds == "" {
			seconds = at
		}
		changes, err := git("status", "--porcelain")
		if err != nil {
			return release{}, fmt.Errorf("git status: %w", err)
		}
		if changes != "" {
			r.version += "+dirty"
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return release{}, errors.New("no time: the tree has no commit; SOURCE_DATE_EPOCH may have the seconds since 1970")
	}
	r.time = time.Unix(n, 0).UTC()
	return r, nil
}
