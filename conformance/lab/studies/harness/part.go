package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
)

// A Part runs in its own process. Its argument is the argument of Start, as JSON.
type Part func(ctx context.Context, argument []byte) error

// PartOf returns a part whose argument is a T.
func PartOf[T any](run func(ctx context.Context, argument T) error) Part {
	return func(ctx context.Context, argument []byte) error {
		var t T
		if err := json.Unmarshal(argument, &t); err != nil {
			return err
		}
		return run(ctx, t)
	}
}

// partMark is the first argument of a process that runs a part. The name of the part and its
// argument follow.
const partMark = "study-part"

// IsPart reports whether this process must run a part instead of the study. Then its main function,
// or its TestMain, must call Main.
func IsPart() bool { return len(os.Args) == 4 && os.Args[1] == partMark }

// Main is the main function of a study with this name. It runs the part of this process, or
// otherwise the study itself.
func Main(name string, parts map[string]Part, study func(ctx context.Context, args []string, out, log io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case !IsPart():
		err = study(ctx, os.Args[1:], os.Stdout, os.Stderr)
	case parts[os.Args[2]] == nil:
		err = fmt.Errorf("there is no part %q", os.Args[2])
	default:
		err = parts[os.Args[2]](ctx, []byte(os.Args[3]))
	}
	if err != nil {
		Fail(fmt.Errorf("%s: %w", name, err))
	}
}

// Fail ends the process with an error. The study fails too.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Serve is the last call of a part that serves. It prints the addresses at which the part listens,
// one per line, and returns when Process.Stop is called.
func Serve(addresses ...net.Addr) error {
	for _, a := range addresses {
		fmt.Println(a)
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// Report is the last call of a part with a result. Process.Report receives it.
func Report(outcome any) error { return json.NewEncoder(os.Stdout).Encode(outcome) }

// Report waits for the report of a part, puts it into outcome, and stops the process.
func (p *Process) Report(outcome any) error {
	line, err := p.Line()
	if err = errors.Join(err, p.Stop()); err != nil {
		return err
	}
	return json.Unmarshal([]byte(line), outcome)
}
