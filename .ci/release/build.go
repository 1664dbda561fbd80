package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// make builds the release from a tree into a folder, and returns the names of its files.
func (r release) make(tree, out, tools string, targets []string) ([]string, error) {
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	here := filepath.Join(work, "here")
	if err := r.build(tree, here, runtime.GOOS+"/"+runtime.GOARCH); err != nil {
		return nil, err
	}
	texts, err := r.readTexts(tree, here)
	if err != nil {
		return nil, err
	}
	modules := map[string]string{} // of all targets, and where they are
	binaries := map[string][]byte{}
	for _, target := range targets {
		name := filepath.Join(work, "rddp")
		if err := r.build(tree, name, target); err != nil {
			return nil, err
		}
		if err := linkedModules(tree, name, modules); err != nil {
			return nil, err
		}
		if binaries[target], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	if texts.notices, err = notices(modules); err != nil {
		return nil, err
	}
	for _, target := range targets {
		fmt.Fprintln(os.Stderr, "packing for", target)
		if err := r.archive(out, target, binaries[target], texts); err != nil {
			return nil, err
		}
		if err := r.bill(out, filepath.Join(tools, "cyclonedx-gomod"), target, binaries[target]); err != nil {
			return nil, err
		}
		if system, machine, _ := strings.Cut(target, "/"); system == "linux" {
			if err := r.packages(tree, out, filepath.Join(tools, "nfpm"), machine, binaries[target], texts); err != nil {
				return nil, err
			}
		}
	}
	if err := r.image(out, filepath.Join(tools, "image"), binaries, texts); err != nil {
		return nil, err
	}
	return checksums(out)
}

// build builds the command for a target. What the environment says about builds does not count,
// but for where modules and results of the compiler are.
func (r release) build(tree, name, target string) error {
	system, machine, _ := strings.Cut(target, "/")
	fmt.Fprintln(os.Stderr, "building for", target)
	cmd := exec.Command(goCommand(), "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags=-s -w -X main.releaseVersion="+r.version+" -X main.releaseCommit="+r.commit+" -X main.releaseTime="+r.stamp(),
		"-o", name, "./cmd/rddp")
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building for %s: %w", target, err)
	}
	return nil
}

// goCommand returns the go command that make uses.
func goCommand() string {
	if name := os.Getenv("GO"); name != "" {
		return name
	}
	return "go"
}

// stamp returns the time of the commit, as Go's own builds note it.
func (r release) stamp() string { return r.time.Format("2006-01-02T15:04:05Z") }

// texts are the files that go with each binary.
type texts struct {
	man                      []byte
	bash, zsh, fish          []byte
	readme, license, notices []byte
}

// readTexts takes what the command prints about itself, and what the tree has.
func (r release) readTexts(tree, command string) (t texts, err error) {
	for _, x := range []struct {
		to   *[]byte
		args []string
	}{
		{&t.man, []string{"man"}}, {&t.bash, []string{"completion", "bash"}},
		{&t.zsh, []string{"completion", "zsh"}}, {&t.fish, []string{"completion", "fish"}},
	} {
		if *x.to, err = exec.Command(command, x.args...).Output(); err != nil {
			return t, fmt.Errorf("rddp %s: %w", strings.Join(x.args, " "), err)
		}
	}
	readme, err := os.ReadFile(filepath.Join(tree, "README.md"))
	if err != nil {
		return t, err
	}
	t.readme = r.linked(readme)
	t.license, err = os.ReadFile(filepath.Join(tree, "LICENSE"))
	return t, err
}

// relativeLink is the target of a link of Markdown that is a file of the tree.
var relativeLink = regexp.MustCompile(`\]\(([^):#][^):]*)\)`)

// linked returns a text of the tree with links that lead to this commit's files on the web: an
// archive or a package does not have those files.
func (r release) linked(text []byte) []byte {
	at := r.commit
	if at == "" {
		at = r.version
	}
	return relativeLink.ReplaceAll(text, []byte("](https://github.com/rddp/rddp/blob/"+at+"/$1)"))
}

// linkedModules adds the modules that are linked into a binary.
func linkedModules(tree, binary string, modules map[string]string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	for _, m := range info.Deps {
		if modules[m.Path] != "" {
			continue
		}
		cmd := exec.Command(goCommand(), "list", "-m", "-f={{.Dir}}", m.Path)
		cmd.Dir = tree
		cmd.Env = append(os.Environ(), "GOWORK=off")
		folder, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("where is %s: %w", m.Path, err)
		}
		modules[m.Path] = strings.TrimSpace(string(folder))
	}
	return nil
}

// notices returns the licenses of all that is linked, as they want it.
func notices(modules map[string]string) ([]byte, error) {
	root, err := exec.Command(goCommand(), "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	modules["Go, its runtime and its standard library"] = strings.TrimSpace(string(root))
	var b bytes.Buffer
	b.WriteString("rddp contains the following software, under these licenses.\n")
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		if modules[name] == "" { // the patterns would find the license of this repository
			return nil, fmt.Errorf("no license of %s: the go command does not say where its source is", name)
		}
		fmt.Fprintf(&b, "\n%s\n%s\n", name, strings.Repeat("=", len(name)))
		n := 0
		for _, pattern := range []string{"LICENSE*", "COPYING*", "NOTICE*"} {
			files, err := filepath.Glob(filepath.Join(modules[name], pattern))
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					return nil, err
				}
				n++
				fmt.Fprintf(&b, "\n%s\n", bytes.TrimSpace(text))
			}
		}
		if n == 0 {
			return nil, fmt.Errorf("%s has no license in %s", name, modules[name])
		}
	}
	return b.Bytes(), nil
}

// packages makes the packages of a Linux machine. nfpm.yaml says what is in them, and where. Their
// files are in the folder in which nfpm runs.
func (r release) packages(tree, out, nfpm, machine string, binary []byte, t texts) error {
	folder, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	files := map[string][]byte{
		"rddp": binary, "rddp.1.gz": compressed(t.man), "rddp.bash": t.bash, "_rddp": t.zsh, "rddp.fish": t.fish,
		"README.md": t.readme, "LICENSE": t.license, "NOTICES": t.notices,
	}
	own, err := filepath.Glob(filepath.Join(tree, ".ci", "release", "files", "*"))
	if err != nil {
		return err
	}
	for _, name := range own {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return err
		}
	}
	for name, content := range files {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(name, r.time, r.time); err != nil {
			return err
		}
	}
	for _, name := range []*string{&tree, &out, &nfpm} {
		if *name, err = filepath.Abs(*name); err != nil {
			return err
		}
	}
	for _, format := range []string{"deb", "rpm"} {
		cmd := exec.Command(nfpm, "package", "--config="+filepath.Join(tree, ".ci", "release", "nfpm.yaml"), "--packager="+format, "--target="+out)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "ARCH="+machine, "VERSION="+r.version,
			"SOURCE_DATE_EPOCH="+strconv.FormatInt(r.time.Unix(), 10))
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("nfpm: %w\n%s", err, text)
		}
	}
	return nil
}

// bill writes the software bill of materials of a target's binary, as CycloneDX.
func (r release) bill(out, tool, target string, binary []byte) error {
	folder, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "rddp")
	if err := os.WriteFile(name, binary, 0o755); err != nil {
		return err
	}
	return command(tool, "bin", "-json", "-std", "-noserial", "-notimestamp", "-version="+r.version,
		"-output="+filepath.Join(out, r.name(target)+".cdx.json"), name)
}

// image writes the container image, for the Linux machines among the binaries.
func (r release) image(out, tool string, binaries map[string][]byte, t texts) error {
	folder, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	args := []string{"-time=" + strconv.FormatInt(r.time.Unix(), 10), "-version=" + r.version, "-commit=" + r.commit,
		"-out=" + filepath.Join(out, "rddp_"+strings.TrimPrefix(r.version, "v")+"_oci.tar")}
	for _, target := range slices.Sorted(maps.Keys(binaries)) {
		if !strings.HasPrefix(target, "linux/") {
			continue
		}
		root := filepath.Join(folder, path.Base(target))
		for name, content := range map[string][]byte{
			"usr/bin/rddp": binaries[target], "usr/share/doc/rddp/LICENSE": t.license, "usr/share/doc/rddp/NOTICES": t.notices,
		} {
			mode := fs.FileMode(0o644)
			if name == "usr/bin/rddp" {
				mode = 0o755
			}
			name = filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(name, content, mode); err != nil {
				return err
			}
		}
		if err := os.Mkdir(filepath.Join(root, "tmp"), 0o755); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|fs.ModeSticky); err != nil { // rddp run has a folder there
			return err
		}
		args = append(args, target+"="+root)
	}
	return command(tool, args...)
}

// sumsFile has the checksums of the other files.
const sumsFile = "SHA256SUMS"

// sign signs a file; NAME.sig has the signature. ssh-keygen also checks it.
func sign(name, key string) error {
	if err := os.RemoveAll(name + ".sig"); err != nil {
		return err
	}
	return command("ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", key, name)
}

func command(name string, args ...string) error {
	if text, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, text)
	}
	return nil
}

// name returns the name of a target's files, without what comes after the dot.
func (r release) name(target string) string {
	return "rddp_" + strings.TrimPrefix(r.version, "v") + "_" + strings.ReplaceAll(target, "/", "_")
}

// compressed returns what gzip -9n would write.
func compressed(p []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(p)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // the level is one that there is, and memory takes all
	}
	return b.Bytes()
}

// checksums writes sumsFile, and returns the names of all files.
func checksums(out string) ([]string, error) {
	entries, err := os.ReadDir(out)
	if err != nil {
		return nil, err
	}
	var names []string
	var sums strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), e.Name())
		names = append(names, e.Name())
	}
	return append(names, sumsFile), os.WriteFile(filepath.Join(out, sumsFile), []byte(sums.String()), 0o644)
}
