// Package deploy tests action.yml and the files in examples/deploy. make packages runs it.
package deploy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/rhysd/actionlint"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	tree   = "../.."
	deploy = tree + "/examples/deploy/"
)

// TestAction runs the steps of the action against a release in a folder.
func TestAction(t *testing.T) {
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Using string
			Steps []struct {
				Name, Run, Shell, If string
				Env                  map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(content(t, tree+"/action.yml"), &action); err != nil {
		t.Fatal(err)
	}
	if len(action.Runs.Steps) != 3 || action.Runs.Using != "composite" || action.Inputs["packages"].Default == "" {
		t.Fatalf("action.yml is %+v", action)
	}
	releases := t.TempDir()
	name := "rddp_0.1.0_linux_" + runtime.GOARCH
	for _, folder := range []string{"v0.1.0/" + name, "v0.2.0"} {
		if err := os.MkdirAll(filepath.Join(releases, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(releases, "v0.1.0", name, "rddp"), "#!/bin/sh\necho under \"$@\"\n", 0o755)
	archive := filepath.Join(releases, "v0.1.0", name+".tar.gz")
	if out, err := exec.Command("tar", "-C", filepath.Join(releases, "v0.1.0"), "-czf", archive, name).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	sum := fmt.Sprintf("%x  %s.tar.gz\n%x  another\n", sha256.Sum256(content(t, archive)), name, sha256.Sum256(nil))
	write(t, filepath.Join(releases, "v0.1.0/SHA256SUMS"), sum, 0o644)
	write(t, filepath.Join(releases, "v0.2.0/rddp_0.2.0_linux_"+runtime.GOARCH+".tar.gz"), "another archive", 0o644)
	write(t, filepath.Join(releases, "v0.2.0/SHA256SUMS"), strings.ReplaceAll(sum, "0.1.0", "0.2.0"), 0o644)
	install := action.Runs.Steps[0]
	run := func(version string) (path, out string, err error) {
		temp := t.TempDir()
		path = filepath.Join(temp, "path")
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", install.Run) // as runners do for "shell: bash"
		cmd.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_PATH="+path, "VERSION="+version, "RELEASES=file://"+releases)
		text, err := cmd.CombinedOutput()
		return path, string(text), err
	}
	path, out, err := run("v0.1.0")
	if err != nil {
		t.Fatalf("%s: %v\n%s", install.Name, err, out)
	}
	cmd := exec.Command("bash", "-c", action.Runs.Steps[2].Run)
	cmd.Env = append(os.Environ(), "PATH="+strings.TrimSpace(string(content(t, path)))+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "under run ibv_devices\n" {
		t.Errorf("%s: %v\n%s", action.Runs.Steps[2].Name, err, out)
	}
	for version, want := range map[string]string{"main": "::error::no rddp_main_linux_" + runtime.GOARCH, "v0.2.0": "FAILED"} {
		if _, out, err := run(version); err == nil || !strings.Contains(out, want) {
			t.Errorf("version %s: %v\n%s\nwant %q", version, err, out, want)
		}
	}
}

func TestWorkflows(t *testing.T) {
	for _, name := range []string{"c-project.yml", "go-project.yml"} {
		l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := l.Lint(name, content(t, deploy+name), nil)
		if err != nil {
			t.Error(err)
		}
		for _, f := range found {
			t.Error(f)
		}
	}
}

func TestCompose(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{deploy + "compose.yaml"}, cli.WithName("test"))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"far": "rddp run ibv_rc_pingpong -g 0", "near": "rddp run ibv_rc_pingpong -g 0 far"} {
		s, err := project.GetService(host)
		if err != nil || strings.Join(s.Command, " ") != want || s.Build == nil || !strings.Contains(s.Build.DockerfileInline, "/usr/bin/rddp") {
			t.Errorf("%s: %v, %+v", host, err, s)
		}
	}
}

// TestKubernetes reads the manifests as Kubernetes does, and runs the proxy with the arguments that
// they give: the probes find what they ask for.
func TestKubernetes(t *testing.T) {
	parts := bytes.Split(content(t, deploy+"kubernetes.yaml"), []byte("\n---\n"))
	var pod core.Pod
	var service core.Service
	var deployment apps.Deployment
	for i, to := range []any{&pod, &deployment, &service} {
		if err := yaml.UnmarshalStrict(parts[i], to); err != nil {
			t.Fatal(err)
		}
	}
	if c := pod.Spec.Containers[0]; strings.Join(append(c.Command, c.Args...), " ") != "rddp run ibv_devinfo" {
		t.Errorf("the pod runs %q %q", c.Command, c.Args)
	}
	proxy := deployment.Spec.Template.Spec.Containers[1]
	if got, want := service.Spec.Ports[0].TargetPort.StrVal, proxy.Ports[0].Name; got != want {
		t.Errorf("the service's port is %q, want %q", got, want)
	}
	folder := t.TempDir()
	certificate(t, folder)
	addresses := map[string]string{}
	var args []string
	for _, a := range proxy.Args {
		a = strings.Replace(a, "=/tls/", "="+folder+"/", 1)
		if name, port, ok := strings.Cut(a, "=:"); ok { // of this host, which others use too
			_, free, _ := net.SplitHostPort(freeAddress(t))
			addresses[port], a = "127.0.0.1:"+free, name+"=:"+free
		}
		args = append(args, strings.Replace(a, "rddp://:7174", "rddp://127.0.0.1:0", 1))
	}
	rddp := filepath.Join(folder, "rddp")
	build := exec.Command("go", "build", "-o", rddp, "./cmd/rddp")
	build.Dir, build.Env = tree, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(rddp, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	var log strings.Builder
	listens := regexp.MustCompile(`msg=listening`)
	for s := bufio.NewScanner(stderr); !listens.MatchString(log.String()); {
		if !s.Scan() {
			t.Fatalf("rddp %q ends: %v\n%s", args, cmd.Wait(), &log)
		}
		log.WriteString(s.Text() + "\n")
	}
	for _, probe := range []*core.Probe{proxy.ReadinessProbe, proxy.LivenessProbe} {
		scheme := cmp.Or(probe.HTTPGet.Scheme, core.URISchemeHTTP)
		isOK(t, strings.ToLower(string(scheme))+"://"+addresses[probe.HTTPGet.Port.String()]+probe.HTTPGet.Path)
	}
	scrape := deployment.Spec.Template.Annotations
	isOK(t, cmp.Or(scrape["prometheus.io/scheme"], "http")+"://"+addresses[scrape["prometheus.io/port"]]+"/metrics")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stderr)
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, &log)
	}
}

// isOK asks as a probe does, which does not look whose certificate it is.
func isOK(t *testing.T, url string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", url, r.Status)
	}
}

// certificate makes tls.crt and tls.key.
func certificate(t *testing.T, folder string) {
	t.Helper()
	out, err := exec.Command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
		"-keyout", filepath.Join(folder, "tls.key"), "-out", filepath.Join(folder, "tls.crt")).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl: %v\n%s", err, out)
	}
}

// freeAddress returns an address where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func content(t *testing.T, name string) []byte {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
