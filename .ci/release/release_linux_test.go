package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// make packages runs these tests, after it has installed what they call.

// TestRelease makes a release for this machine, and another one from a copy of the tree: they are
// equal. Then it looks into the archive and the packages, and installs and removes them.
func TestRelease(t *testing.T) {
	const tree = "../.."
	r := release{version: "v0.1.0", commit: "0123456789abcdef0123456789abcdef01234567", time: time.Unix(1767323045, 0).UTC()}
	out := t.TempDir()
	names := r.makes(t, tree, out)
	another := filepath.Join(t.TempDir(), "elsewhere")
	copyTree(t, tree, another)
	again := t.TempDir()
	if got := r.makes(t, another, again); !slices.Equal(got, names) {
		t.Fatalf("from a copy of the tree: %q, want %q", got, names)
	}
	for _, name := range names {
		if !bytes.Equal(content(t, filepath.Join(out, name)), content(t, filepath.Join(again, name))) {
			t.Errorf("%s from a copy of the tree differs", name)
		}
	}
	does(t, out, "sha256sum", "--check", "--strict", "SHA256SUMS")
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	deb, rpm := filepath.Join(out, "rddp_0.1.0_"+runtime.GOARCH+".deb"), filepath.Join(out, "rddp-0.1.0-1."+machine+".rpm")
	t.Run("archive", func(t *testing.T) {
		testArchive(t, filepath.Join(out, "rddp_0.1.0_linux_"+runtime.GOARCH+".tar.gz"))
	})
	t.Run("bill", func(t *testing.T) { testBill(t, filepath.Join(out, "rddp_0.1.0_linux_"+runtime.GOARCH+".cdx.json")) })
	t.Run("image", func(t *testing.T) { testImage(t, filepath.Join(out, "rddp_0.1.0_oci.tar")) })
	t.Run("deb", func(t *testing.T) { testDeb(t, deb) })
	t.Run("rpm", func(t *testing.T) { testRPM(t, rpm) })
}

func (r release) makes(t *testing.T, tree, out string) []string {
	t.Helper()
	names, err := r.make(tree, out, "../../bin", []string{"linux/" + runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 6 {
		t.Fatalf("a release for one system is %q", names)
	}
	return names
}

func testArchive(t *testing.T, name string) {
	z, err := gzip.NewReader(bytes.NewReader(content(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, h.FileInfo().Mode().String()+" "+h.Name)
	}
	want := []string{"-rw-r--r-- LICENSE", "-rw-r--r-- NOTICES", "-rw-r--r-- README.md", "-rw-r--r-- completions/_rddp",
		"-rw-r--r-- completions/rddp.bash", "-rw-r--r-- completions/rddp.fish", "-rw-r--r-- man/man1/rddp.1", "-rwxr-xr-x rddp"}
	for i := range want {
		want[i] = strings.Replace(want[i], " ", " rddp_0.1.0_linux_"+runtime.GOARCH+"/", 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// testBill looks for what is linked in the bill of materials.
func testBill(t *testing.T, name string) {
	type component struct{ Name, Version string }
	var bill struct {
		BOMFormat  string
		Metadata   struct{ Component component }
		Components []component
	}
	if err := json.Unmarshal(content(t, name), &bill); err != nil {
		t.Fatal(err)
	}
	if want := (component{"github.com/rddp/rddp", "v0.1.0"}); bill.BOMFormat != "CycloneDX" || bill.Metadata.Component != want {
		t.Errorf("%s is a bill in %q of %+v", name, bill.BOMFormat, bill.Metadata.Component)
	}
	for _, want := range []string{"github.com/klauspost/crc32", "github.com/urfave/cli/v3", "golang.org/x/sys", "std"} {
		if !slices.ContainsFunc(bill.Components, func(c component) bool { return c.Name == want && c.Version != "" }) {
			t.Errorf("%s does not name %s: %+v", name, want, bill.Components)
		}
	}
}

// testImage reads an image as a container engine does, and runs it in a folder of its own.
func testImage(t *testing.T, name string) {
	layout := t.TempDir()
	does(t, layout, "tar", "-xf", name)
	type descriptor struct {
		Digest      string
		Annotations map[string]string
		Platform    struct{ OS, Architecture string }
	}
	read := func(d descriptor, to any) {
		t.Helper()
		algorithm, sum, _ := strings.Cut(d.Digest, ":")
		blob := content(t, filepath.Join(layout, "blobs", algorithm, sum))
		if got := fmt.Sprintf("%x", sha256.Sum256(blob)); got != sum {
			t.Fatalf("the blob %s has the checksum %s", sum, got)
		}
		if err := json.Unmarshal(blob, to); err != nil {
			t.Fatal(err)
		}
	}
	var top, index struct{ Manifests []descriptor }
	if err := json.Unmarshal(content(t, filepath.Join(layout, "index.json")), &top); err != nil {
		t.Fatal(err)
	}
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "rddp:0.1.0" {
		t.Fatalf("index.json has %+v", top)
	}
	read(top.Manifests[0], &index)
	if len(index.Manifests) != 1 || index.Manifests[0].Platform.OS != "linux" || index.Manifests[0].Platform.Architecture != runtime.GOARCH {
		t.Fatalf("the index has %+v", index)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	read(index.Manifests[0], &manifest)
	var config struct {
		OS, Architecture string
		Config           struct {
			User       string
			Entrypoint []string
		}
	}
	read(manifest.Config, &config)
	if config.Architecture != runtime.GOARCH || config.Config.User != "65532:65532" || len(config.Config.Entrypoint) != 1 || len(manifest.Layers) != 1 {
		t.Fatalf("the image is %+v, and has %d layers", config, len(manifest.Layers))
	}
	root := t.TempDir()
	for _, folder := range []string{filepath.Dir(root), root} { // its user comes from outside
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	does(t, root, "tar", "-xzf", filepath.Join(layout, "blobs", strings.Replace(manifest.Layers[0].Digest, ":", "/", 1)))
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o755); err != nil { // as container engines do
		t.Fatal(err)
	}
	for _, args := range []struct{ command, want string }{{"version", "rddp v0.1.0\n"}, {"demo --size 1m --rounds 1 --capture /tmp/c", "SHA-256 equal here"}} {
		out := does(t, "/", "unshare", "--mount", "sh", "-c", `mount -t proc proc "$0/proc" && exec env -u TMPDIR chroot --userspec="$1" "$0" "$2" $3`,
			root, config.Config.User, config.Config.Entrypoint[0], args.command)
		if !strings.Contains(out, args.want) {
			t.Errorf("rddp %s in the image prints\n%s", args.command, out)
		}
	}
}

// TestSign: ssh-keygen takes the signature of what was signed, and no other.
func TestSign(t *testing.T) {
	folder := t.TempDir()
	key, name := filepath.Join(folder, "key"), filepath.Join(folder, "file")
	does(t, folder, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key)
	if err := os.WriteFile(name, []byte("signed"), 0o600); err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(folder, "signers")
	if err := os.WriteFile(signers, append([]byte("rddp "), content(t, key+".pub")...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sign(name, key); err != nil {
		t.Fatal(err)
	}
	verify := func(text string) error {
		cmd := exec.Command("ssh-keygen", "-Y", "verify", "-n", "file", "-f", signers, "-I", "rddp", "-s", name+".sig")
		cmd.Stdin = strings.NewReader(text)
		return cmd.Run()
	}
	if err := verify("signed"); err != nil {
		t.Error(err)
	}
	if verify("another") == nil {
		t.Error("the signature is one of another file, too")
	}
	if err := sign(name, key); err != nil { // the old one goes
		t.Error(err)
	}
	if err := sign(name, filepath.Join(folder, "none")); err == nil {
		t.Error("signed without a key")
	}
}

// packaged are the files of both packages: mode, owner, name.
var packaged = []string{
	"-rw-r--r-- root /etc/rddp/proxy.conf",
	"-rw-r--r-- root /etc/rddp/routes",
	"-rw-r--r-- root /etc/rddp/serve.conf",
	"-rwxr-xr-x root /usr/bin/rddp",
	"-rw-r--r-- root /usr/lib/systemd/system/rddp-proxy.service",
	"-rw-r--r-- root /usr/lib/systemd/system/rddp-serve.service",
	"-rw-r--r-- root /usr/share/bash-completion/completions/rddp",
	"-rw-r--r-- root /usr/share/doc/rddp/NOTICES",
	"-rw-r--r-- root /usr/share/doc/rddp/README.md",
	"-rw-r--r-- root /usr/share/fish/vendor_completions.d/rddp.fish",
	"-rw-r--r-- root /usr/share/man/man1/rddp.1.gz",
}

// isPackaged compares the lines of a listing that are files with packaged.
func isPackaged(t *testing.T, listing string, others ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(listing) {
		if strings.HasPrefix(line, "-") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := slices.Concat(packaged, others)
	byName := func(a, b string) int {
		return strings.Compare(a[strings.LastIndexByte(a, ' '):], b[strings.LastIndexByte(b, ' '):])
	}
	slices.SortFunc(got, byName)
	slices.SortFunc(want, byName)
	if !slices.Equal(got, want) {
		t.Errorf("the package has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func testDeb(t *testing.T, name string) {
	listing := regexp.MustCompile(`(?m)^(\S+) (\w+)/root +\d+ \S+ \S+ \.`).ReplaceAllString(does(t, ".", "dpkg-deb", "--contents", name), "$1 $2 ")
	isPackaged(t, listing, "-rw-r--r-- root /usr/share/doc/rddp/copyright", "-rw-r--r-- root /usr/share/zsh/vendor-completions/_rddp")
	if got := does(t, ".", "dpkg-deb", "--field", name, "Version", "Recommends"); got != "Version: 0.1.0\nRecommends: ibverbs-providers\n" {
		t.Errorf("fields %q", got)
	}
	root := t.TempDir()
	state := filepath.Join(root, "var/lib/dpkg")
	for _, folder := range []string{"updates", "info", "triggers"} {
		if err := os.MkdirAll(filepath.Join(state, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(state, "status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) {
		t.Helper()
		does(t, ".", "dpkg", append([]string{"--root=" + root, "--log=/dev/null", "--force-script-chrootless", "--path-include=*"}, args...)...)
	}
	dpkg("--install", name)
	testInstalled(t, root)
	does(t, ".", "systemctl", "--root="+root, "enable", "rddp-serve", "rddp-proxy")
	dpkg("--purge", "rddp")
	leavesNothing(t, root, "/var/lib/dpkg")
}

func testRPM(t *testing.T, name string) {
	listing := does(t, ".", "rpm", "-qp", "--queryformat", `[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]`, name)
	isPackaged(t, listing, "-rw-r--r-- root /usr/share/doc/rddp/LICENSE", "-rw-r--r-- root /usr/share/zsh/site-functions/_rddp")
	if got := does(t, ".", "rpm", "-qp", "--queryformat", `%{VERSION} %{BUILDHOST} %{BUILDTIME} [%{RECOMMENDS}]`, name); got != "0.1.0 localhost 1767323045 libibverbs" {
		t.Errorf("fields %q", got)
	}
	// The scripts would need a shell in the root.
	root := t.TempDir()
	rpm := func(args ...string) {
		t.Helper()
		does(t, ".", "rpm", append([]string{"--root=" + root, "--dbpath=/var/lib/rpm", "--nodeps", "--noscripts"}, args...)...)
	}
	rpm("--install", name)
	testInstalled(t, root)
	rpm("--erase", "rddp")
	leavesNothing(t, root, "/var/lib/rpm")
}

// testInstalled uses what is installed below a folder.
func testInstalled(t *testing.T, root string) {
	t.Helper()
	rddp := filepath.Join(root, "usr/bin/rddp")
	want := "rddp v0.1.0\ncommit 0123456789abcdef0123456789abcdef01234567 of 2026-01-02T03:04:05Z\nbuilt by "
	if got := does(t, "/", rddp, "version"); !strings.HasPrefix(got, want) {
		t.Errorf("rddp version prints\n%s\nwant\n%s", got, want)
	}
	if page := does(t, "/", "man", "-l", filepath.Join(root, "usr/share/man/man1/rddp.1.gz")); !strings.Contains(page, "rddp - RDMA over plain TCP") {
		t.Errorf("the man page is\n%.300s", page)
	}
	notices := string(content(t, filepath.Join(root, "usr/share/doc/rddp/NOTICES")))
	for _, module := range []string{"github.com/klauspost/crc32", "github.com/urfave/cli/v3", "Go, its runtime"} {
		if !strings.Contains(notices, "\n"+module) {
			t.Errorf("NOTICES does not name %s", module)
		}
	}
	readme := string(content(t, filepath.Join(root, "usr/share/doc/rddp/README.md")))
	links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(readme, -1)
	if len(links) < 10 {
		t.Errorf("README.md has %d links", len(links))
	}
	for _, link := range links {
		if !strings.HasPrefix(link[1], "https://") && !strings.HasPrefix(link[1], "#") {
			t.Errorf("README.md links to %s, which is not installed", link[1])
		}
	}
	units := t.TempDir()
	for _, service := range []string{"serve", "proxy"} {
		// systemd-analyze looks for the files that the unit names.
		text := string(content(t, filepath.Join(root, "usr/lib/systemd/system/rddp-"+service+".service")))
		text = strings.NewReplacer("=/usr/bin/", "="+root+"/usr/bin/", "/etc/rddp/", root+"/etc/rddp/").Replace(text)
		unit := filepath.Join(units, "rddp-"+service+".service")
		if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if out := does(t, "/", "systemd-analyze", "verify", "--man=no", unit); out != "" {
			t.Errorf("systemd-analyze verify says\n%s", out)
		}
		does(t, "/", "systemd-analyze", "security", "--offline=true", "--threshold=20", unit)
		help := does(t, "/", rddp, service, "--help")
		options := regexp.MustCompile(`RDDP_`+strings.ToUpper(service)+`_(\w+)=`).FindAllStringSubmatch(string(content(t, filepath.Join(root, "etc/rddp", service+".conf"))), -1)
		if len(options) < 2 {
			t.Errorf("%s.conf shows %d options", service, len(options))
		}
		for _, option := range options {
			if flag := "--" + strings.ReplaceAll(strings.ToLower(option[1]), "_", "-"); !strings.Contains(help, flag) {
				t.Errorf("%s.conf has %s, and rddp %s no %s", service, option[0], service, flag)
			}
		}
	}
	out, err := exec.Command(rddp, "proxy", "--routes", filepath.Join(root, "etc/rddp/routes")).CombinedOutput()
	if failure := new(exec.ExitError); !errors.As(err, &failure) || failure.ExitCode() != 2 || !strings.Contains(string(out), "no route") {
		t.Errorf("rddp proxy with the package's routes: %v, %s", err, out)
	}
}

// leavesNothing reports what is left below a folder, but for the package manager's own.
func leavesNothing(t *testing.T, root, own string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if name == filepath.Join(root, own) {
			return fs.SkipDir
		}
		if err == nil && (!d.IsDir() || strings.Contains(name, "rddp")) {
			t.Errorf("%s is left", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDescribe(t *testing.T) {
	tree := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(tree))
	t.Setenv("SOURCE_DATE_EPOCH", "") // that of whoever runs the tests
	fails := func(want, version string) {
		t.Helper()
		if r, err := describe(tree, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("describe: %+v, %v, want %q", r, err, want)
		}
	}
	is := func(version, want string) {
		t.Helper()
		r, err := describe(tree, version)
		if err != nil || r.version != want || len(r.commit) != 40 || r.stamp() != "2026-01-02T03:04:05Z" {
			t.Errorf("describe: %+v, %v, want %s", r, err, want)
		}
	}
	fails("SOURCE_DATE_EPOCH", "v0.1.0")
	does(t, tree, "git", "init", "-q")
	does(t, tree, "git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x")
	fails("HEAD has no tag", "")
	fails("not a version", "0.1.0")
	fails("not a version", "v0.1")
	is("v0.1.0", "v0.1.0")
	does(t, tree, "git", "tag", "v0.2.0-rc.1")
	is("", "v0.2.0-rc.1")
	if err := os.WriteFile(filepath.Join(tree, "new"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	is("", "v0.2.0-rc.1+dirty")
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	if r, err := describe(tree, ""); err != nil || r.time.Unix() != 1 {
		t.Errorf("with SOURCE_DATE_EPOCH: %+v, %v", r, err)
	}
}

func TestLinked(t *testing.T) {
	const text = "[a](docs/a.md#b), ![b](b.svg), [c](#c) and [d](https://example.com/d.md)"
	for want, r := range map[string]release{
		"[a](https://github.com/rddp/rddp/blob/0123/docs/a.md#b), ![b](https://github.com/rddp/rddp/blob/0123/b.svg), " +
			"[c](#c) and [d](https://example.com/d.md)": {version: "v0.1.0", commit: "0123"},
		"[a](https://github.com/rddp/rddp/blob/v0.1.0/docs/a.md#b), ![b](https://github.com/rddp/rddp/blob/v0.1.0/b.svg), " +
			"[c](#c) and [d](https://example.com/d.md)": {version: "v0.1.0"},
	} {
		if got := string(r.linked([]byte(text))); got != want {
			t.Errorf("%+v: %s, want %s", r, got, want)
		}
	}
}

// A module whose source is nowhere does not get the license of this repository.
func TestNoticesNowhere(t *testing.T) {
	if text, err := notices(map[string]string{"example.com/m": ""}); err == nil || !strings.Contains(err.Error(), "no license of example.com/m") {
		t.Errorf("notices: %d bytes, %v", len(text), err)
	}
}

// copyTree copies the files of a tree, but not its history and what is built.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		switch {
		case rel == ".git" || rel == "bin" || rel == "dist":
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case d.Type().IsRegular():
			return os.WriteFile(filepath.Join(to, rel), content(t, name), 0o600)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, name string) []byte {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// does runs a command that has to succeed, and returns what it prints.
func does(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANROFFOPT=-c", "MANPAGER=cat", "PAGER=cat")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
