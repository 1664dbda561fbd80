package main

import (
	"encoding/json"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

func TestVersion(t *testing.T) {
	status, stdout, stderr := runs(t, commands(), "version")
	if want := regexp.MustCompile(`^rddp \S+\n(commit .*\n)?built by go\S+.* for ` + runtime.GOOS + "/" + runtime.GOARCH + `.*\n$`); status != exitOK || !want.MatchString(stdout) || stderr != "" {
		t.Errorf("rddp version: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	status, stdout, stderr = runs(t, commands(), "version", "--json")
	var b build
	if err := json.Unmarshal([]byte(stdout), &b); err != nil || status != exitOK || b != buildInfo() || b.Go == "" || stderr != "" {
		t.Errorf("rddp version --json: status %d, %v, stdout %q, stderr %q", status, err, stdout, stderr)
	}
	full := build{"v1.2.3", "abc", "2026-01-02T03:04:05Z", true, "x,y", "go9", "linux/s390x"}
	var text strings.Builder
	if err := full.write(&text); err != nil || text.String() != "rddp v1.2.3\ncommit abc of 2026-01-02T03:04:05Z, with changes\nbuilt by go9 for linux/s390x with the tags x,y\n" {
		t.Errorf("a full build is %q, %v", &text, err)
	}
}

// TestMan: each command and each of its flags is in its man page, and in the man page of rddp.
func TestMan(t *testing.T) {
	_, whole, _ := runs(t, commands(), "man")
	for _, c := range commands() {
		status, page, stderr := runs(t, commands(), "man", c.Name)
		if status != exitOK || stderr != "" || !strings.Contains(page, ".TH rddp-"+c.Name+" 1\n") || !strings.Contains(whole, ".SH "+c.Name+"\n") {
			t.Errorf("rddp man %s: status %d, stderr %q, page\n%.300s", c.Name, status, stderr, page)
		}
		for _, f := range c.Flags {
			if name := "--" + f.Names()[0]; f.(cli.VisibleFlag).IsVisible() && (!strings.Contains(page, name) || !strings.Contains(whole, name)) {
				t.Errorf("rddp man %s does not name %s", c.Name, name)
			}
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"man pong", `there is no command "pong"; did you mean ping?`},
		{"man ping cp", `unexpected argument "cp"`},
	} {
		if status, stdout, stderr := runs(t, commands(), strings.Fields(tt.args)...); status != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("rddp %s: status %d, stdout %q, stderr %q", tt.args, status, stdout, stderr)
		}
	}
}

// TestExamples: each help text has an example, and each example begins with a command line of rddp.
func TestExamples(t *testing.T) {
	example := regexp.MustCompile(`(?m)^ {6,}(?:\w+[$#] )?(?:source <\()?rddp \w+`)
	for _, c := range commands() {
		status, help, stderr := runs(t, commands(), c.Name, "--help")
		if status != exitOK || stderr != "" || !example.MatchString(help) {
			t.Errorf("rddp %s --help: status %d, stderr %q, and no example in\n%s", c.Name, status, stderr, help)
		}
		if _, again, _ := runs(t, commands(), "help", c.Name); again != help {
			t.Errorf("rddp help %s differs from rddp %s --help:\n%s", c.Name, c.Name, again)
		}
	}
}

// TestVariables: a flag that is not on the command line is read from its environment variable, and
// an error names the variable.
func TestVariables(t *testing.T) {
	for _, tt := range []struct{ name, value, line, want string }{
		{"RDDP_PING_COUNT", "0", "ping h", "--count 0: at least 1"},
		{"RDDP_PING_COUNT", "4k", "ping h", `"RDDP_PING_COUNT" for flag --count: "4k" is no number that this flag takes`},
		{"RDDP_PING_SIZE", "2g", "ping h", "--size 2147483648: the size is"},
		{"RDDP_PING_SIZE", "2x", "ping h", `"RDDP_PING_SIZE" for flag --size: "2x" is no size`},
		{"RDDP_PING_INTERVAL", "1", "ping h", `"RDDP_PING_INTERVAL" for flag --interval: "1" is no duration`},
		{"RDDP_PING_FLOOD", "maybe", "ping h", `"RDDP_PING_FLOOD" for flag --flood: it is neither true nor false`},
		{"RDDP_PING_LOG", "xml", "ping h", `"RDDP_PING_LOG" for flag --log: "xml" is neither text nor json`},
		{"RDDP_SERVE_LISTEN", "0.0.0.0", "serve .", "listening at 0.0.0.0:7174: other hosts could connect"},
		{"RDDP_SERVE_TLS_PIN", "x", "serve .", `"x" is not a pin`},
		{"RDDP_SERVE_MAX_CONNS", "0", "serve .", "--max-conns 0: at least 1"},
		{"RDDP_SERVE_MAX_CONNS", "0", "serve --max-conns 1 --idle 0s .", "--idle 0s: at least 1s"},
	} {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			t.Setenv(tt.name, tt.value)
			status, stdout, stderr := runs(t, commands(), strings.Fields(tt.line)...)
			if status != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) || strings.Contains(stderr, "strconv") || strings.Contains(stderr, "grammar") {
				t.Errorf("rddp %s: status %d, stdout %q, stderr %q, want %q", tt.line, status, stdout, stderr, tt.want)
			}
		})
	}
}

// TestCompletion: each shell has a script, and rddp answers the script's requests.
func TestCompletion(t *testing.T) {
	for shell, want := range map[string]string{"bash": "complete -o bashdefault", "zsh": "#compdef rddp", "fish": "complete -c rddp"} {
		if status, stdout, stderr := runs(t, commands(), "completion", shell); status != exitOK || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("rddp completion %s: status %d, stderr %q, stdout\n%.300s", shell, status, stderr, stdout)
		}
	}
	for _, tt := range []struct{ line, want string }{
		{"ping --inter", "--interval:"},
		{"serve --max", "--max-conns:"},
	} {
		status, stdout, stderr := runs(t, commands(), append(strings.Fields(tt.line), "--generate-shell-completion")...)
		if status != exitOK || stderr != "" || !strings.Contains(stdout, tt.want) {
			t.Errorf("completion of %q: status %d, stderr %q, stdout %q, want %q", tt.line, status, stderr, stdout, tt.want)
		}
	}
	if status, stdout, stderr := runs(t, commands(), "completion", "csh"); status != exitUsage || stdout != "" || !strings.Contains(stderr, `there is no command "csh"`) {
		t.Errorf("rddp completion csh: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}
