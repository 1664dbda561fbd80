package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	docs "github.com/urfave/cli-docs/v3"
	"github.com/urfave/cli/v3"
)

// This file contains the commands about rddp itself.

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version, and how this command was built",
		Description: "   rddp version --json",
		Flags:       []cli.Flag{jsonFlag()},
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return usage("unexpected argument %q", c.Args().First())
			}
			b := buildInfo()
			if c.Bool("json") {
				return json.NewEncoder(c.Root().Writer).Encode(b)
			}
			return b.write(c.Root().Writer)
		},
	}
}

// A build describes how this command was built. Fields that the build did not record are "".
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"commit_time,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the tree had uncommitted changes
	Tags     string `json:"tags,omitempty"`
	Go       string `json:"go"`
	System   string `json:"system"`
}

// These say what a release was built from. They are "" in other builds. make release sets them by
// -ldflags, because what the go command records by itself depends on the clone.
var releaseVersion, releaseCommit, releaseTime string

// version returns the version of the release or else of the module, as the build recorded it.
func version() string {
	if releaseVersion != "" {
		return releaseVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func buildInfo() build {
	b := build{
		Version: version(), Commit: releaseCommit, Time: releaseTime, Modified: strings.HasSuffix(releaseVersion, "+dirty"),
		Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "-tags":
			b.Tags = s.Value
		}
	}
	return b
}

func (b build) write(w io.Writer) error {
	text := "rddp " + b.Version + "\n"
	if b.Commit != "" {
		text += "commit " + b.Commit + " of " + b.Time
		if b.Modified {
			text += ", with changes"
		}
		text += "\n"
	}
	text += "built by " + b.Go + " for " + b.System
	if b.Tags != "" {
		text += " with the tags " + b.Tags
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func manCommand() *cli.Command {
	return &cli.Command{
		Name:      "man",
		Usage:     "print a man page of this command",
		ArgsUsage: "[COMMAND]",
		Description: "The page has all commands, or the one that is named.\n\n" +
			"   rddp man ping | man -l -\n" +
			"   rddp man >/usr/local/share/man/man1/rddp.1",
		Action: func(_ context.Context, c *cli.Command) error {
			if c.NArg() > 1 {
				return usage("unexpected argument %q", c.Args().Get(1))
			}
			about := c.Root()
			if name := c.Args().First(); name != "" {
				if about = about.Command(name); about == nil {
					return unknownCommand(c.Root(), name)
				}
			}
			page, err := docs.ToManWithSection(manTree(about), 1)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.Root().Writer, page)
			return err
		},
	}
}

// manTree returns a copy of a command for its man page. The page is made from Markdown, which needs
// four spaces of indentation for an example.
func manTree(c *cli.Command) *cli.Command {
	m := *c
	if c.Root() != c {
		m.Name = "rddp-" + c.Name
	}
	m.Description = strings.ReplaceAll("\n"+c.Description, "\n   ", "\n    ")[1:]
	m.Commands = nil
	for _, sub := range c.Commands {
		s := manTree(sub)
		s.Name = sub.Name
		m.Commands = append(m.Commands, s)
	}
	return &m
}

// configureCompletion sets the help texts of the completion command that the library adds.
func configureCompletion(c *cli.Command) {
	c.Hidden = false
	c.Usage = "print a script that lets a shell complete command lines"
	c.Description = "   source <(rddp completion bash)        # in ~/.bashrc\n" +
		"   source <(rddp completion zsh)         # in ~/.zshrc, after compinit\n" +
		"   rddp completion fish >~/.config/fish/completions/rddp.fish"
	for _, shell := range c.Commands {
		shell.Usage = "print the script for " + shell.Name
		script, ours := shell.Action, map[string]struct{ before, after string }{
			"bash": {before: bashWords}, "fish": {after: fishFiles},
		}[shell.Name]
		shell.Action = func(ctx context.Context, c *cli.Command) error {
			_, err := io.WriteString(c.Root().Writer, ours.before)
			if err == nil {
				err = script(ctx, c)
			}
			if err == nil {
				_, err = io.WriteString(c.Root().Writer, ours.after)
			}
			if err != nil {
				return cli.Exit(err, exitFailure)
			}
			return nil
		}
	}
}

// bashWords is the beginning of the script for bash. The rest of the script needs this function of
// bash-completion, which not every system has. Without it, the script uses the words that bash
// finds.
const bashWords = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() { COMPREPLY=(); }

`

// fishFiles is the end of the script for fish, which otherwise completes no file names. With this
// line, fish completes file names if rddp suggests nothing, like bash and zsh.
const fishFiles = `
complete -c rddp -n 'not __rddp_perform_completion | string length -q' -F
`

// unknownCommand returns the error for the name of an unknown command.
func unknownCommand(root *cli.Command, name string) error {
	return usage("there is no command %q%s", name, didYouMean(name, cli.SuggestCommand(root.Commands, name)))
}

// didYouMean returns the end of an error message, with the library's suggestion for a name. The
// library always suggests something; didYouMean returns "" if the suggestion is not similar.
func didYouMean(typed, suggestion string) string {
	if !isLike(typed, strings.TrimLeft(suggestion, "-")) {
		return ""
	}
	return "; did you mean " + suggestion + "?"
}

// isLike reports whether the names have the same first three letters, or most letters in common, in
// any order.
func isLike(a, b string) bool {
	if len(a) >= 3 && len(b) >= 3 && a[:3] == b[:3] {
		return true
	}
	common, rest := 0, b
	for _, r := range a {
		if i := strings.IndexRune(rest, r); i >= 0 {
			common, rest = common+1, rest[:i]+rest[i+1:]
		}
	}
	return 3*common >= 2*max(len(a), len(b))
}
