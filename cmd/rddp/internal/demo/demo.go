package demo

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/capture"
	"github.com/rddp/rddp/rdmap"
)

// Options are the options of the demo. The zero value of each field means its default.
type Options struct {
	File    string   // the file to move; if "", random bytes are moved
	Size    int64    // the number of random bytes; 0 means 256 MiB
	Rounds  int      // the number of times the file is moved, each time next to plain TCP; 0 means 3
	Capture string   // name of the capture; "" means rddp-demo.pcapng
	Server  []string // the command that calls Serve
	// Lender is the command that calls Lend under rddp run, and DeviceInfo one that runs
	// ibv_devinfo there. Without Lender no device is shown.
	Lender, DeviceInfo []string
	// Progress, if not nil, is called when n bytes of the file have been moved by RDMA; total is
	// the number of bytes in all rounds.
	Progress func(n, total int64)
}

const (
	defaultSize   = 256 << 20
	defaultRounds = 3
)

// Run runs the demo and prints the results on out. If ctx is done, Run returns the error of ctx.
func Run(ctx context.Context, o Options, out io.Writer) (err error) {
	defer func() {
		if err != nil && ctx.Err() != nil { // ctx also stops the server, so err may be about a lost connection
			err = ctx.Err()
		}
	}()
	isNamed := o.Capture != ""
	if !isNamed {
		o.Capture = "rddp-demo.pcapng"
	}
	dump, finish, err := create(o.Capture, isNamed) // do this first, because it may fail
	if err != nil {
		return err
	}
	defer finish(errUnfinished)
	content, name, err := o.content()
	if err != nil {
		return err
	}
	if err := checkRoom(os.TempDir(), int64(len(content))); err != nil { // Serve stores it there
		return err
	}
	if err := showDevice(ctx, o, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "file     %.1f MiB%s\n", mebibytes(int64(len(content))), name)
	s, err := start(ctx, o.Server)
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Fprintf(out, "server   process %d at %s\n", s.cmd.Process.Pid, s.rdma)
	if err := mainJob(ctx, o, s, content, out); err != nil {
		return err
	}
	if err := finish(captured(ctx, dump, s.rdma)); err != nil {
		return err
	}
	fmt.Fprintf(out, "capture  %s, of a second short run;\n         Wireshark opens it, and\n         rddp dump %[1]s\n", o.Capture)
	return nil
}

// partSuffix is the suffix of an unfinished capture's name.
const partSuffix = ".part"

// errUnfinished is internal: Run never returns it.
var errUnfinished = errors.New("unfinished")

// create opens a file that gets its name when finish is called with nil. After an error, an
// existing file of that name stays unchanged. finish returns err, or its own error; only its first
// call has an effect. If the user has chosen the name, and it is not a regular file, it is written
// directly. Anything else at the default name, or at the name of the part, is replaced, because
// another user may have put it there.
func create(name string, isNamed bool) (f *os.File, finish func(err error) error, err error) {
	part := name + partSuffix
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
	if info, err := os.Stat(name); isNamed && err == nil && !info.Mode().IsRegular() {
		part, flags = name, os.O_RDWR
	} else if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if f, err = os.OpenFile(part, flags, 0o666); err != nil {
		return nil, nil, err
	}
	isFinished := false
	return f, func(err error) error {
		if isFinished {
			return nil
		}
		isFinished = true
		err = errors.Join(err, f.Close())
		switch {
		case part == name:
			return err
		case err == nil:
			return os.Rename(part, name)
		}
		return errors.Join(err, os.Remove(part))
	}, nil
}

// content returns what is moved, and how the output says what it is. Random bytes are such that no
// error can produce them by accident.
func (o Options) content() (p []byte, name string, err error) {
	if o.File != "" {
		if p, err = os.ReadFile(o.File); err == nil && len(p) == 0 {
			err = fmt.Errorf("%s is empty", o.File)
		}
		return p, ", " + o.File, err
	}
	size := o.Size
	if size == 0 {
		size = defaultSize
	}
	var seed [32]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, "", err
	}
	p = make([]byte, size)
	mathrand.NewChaCha8(seed).Read(p)
	return p, " of random bytes", nil
}

// mainJob moves the file in rounds, next to plain TCP, and then exchanges messages and atomics.
func mainJob(ctx context.Context, o Options, s *server, content []byte, out io.Writer) error {
	c, err := dial(ctx, s.rdma, extsock.Config{})
	if err != nil {
		return err
	}
	defer c.c.Close()
	rounds := o.Rounds
	if rounds == 0 {
		rounds = defaultRounds
	}
	total := int64(rounds) * 2 * int64(len(content))
	progress := func(n int) {
		if o.Progress != nil {
			o.Progress(int64(n), total)
		}
	}
	var write, read, plainWrite, plainRead []time.Duration
	for range rounds {
		w, r, err := plainTCP(ctx, s.plain, content)
		if err != nil {
			return fmt.Errorf("plain TCP: %w", err)
		}
		plainWrite, plainRead = append(plainWrite, w), append(plainRead, r)
		w, r, err = c.transfer(ctx, content, progress)
		if err != nil {
			return err
		}
		write, read = append(write, w), append(read, r)
	}
	n := float64(len(content))
	fmt.Fprintf(out, "Write    %s; SHA-256 equal there\n", compare(n, write, plainWrite))
	fmt.Fprintf(out, "Read     %s; SHA-256 equal here\n", compare(n, read, plainRead))
	const messages = 1000
	begin := time.Now()
	if err := c.verbs(ctx, messages); err != nil {
		return err
	}
	fmt.Fprintf(out, "messages %d there and back, %.1f µs each;\n         FetchAdd and CmpSwap right\n", messages,
		float64(time.Since(begin).Microseconds())/messages)
	return c.c.Close()
}

// compare describes the medians of the durations for n bytes.
func compare(n float64, rdma, plain []time.Duration) string {
	a, b := n/median(rdma).Seconds()/1e9, n/median(plain).Seconds()/1e9
	return fmt.Sprintf("by RDMA %.2f GB/s, by plain TCP %.2f;\n         ratio %.2f", a, b, a/b)
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// captured runs a short connection and writes all of its bytes to a capture.
func captured(ctx context.Context, f io.Writer, address string) error {
	w, err := capture.NewWriter(f)
	if err != nil {
		return err
	}
	c, err := dial(ctx, address, extsock.Config{Tap: w.Tap})
	if err != nil {
		return err
	}
	defer c.c.Close()
	p := make([]byte, 300_000)
	mathrand.NewChaCha8([32]byte{1}).Read(p)
	h, err := c.offer(len(p))
	if err != nil {
		return err
	}
	quiet := func(int) {}
	if err := c.move(ctx, rdmap.WorkWrite, h, p, quiet); err != nil {
		return err
	}
	if err := c.move(ctx, rdmap.WorkRead, h, p, quiet); err != nil {
		return err
	}
	if err := c.verbs(ctx, 3); err != nil {
		return err
	}
	return errors.Join(c.c.Close(), w.Close())
}

// A server is the other process.
type server struct {
	cmd         *exec.Cmd
	hold        io.Closer // closing it ends the process
	release     func()
	rdma, plain string // its addresses
	// Of Lend: the PID of the program, which cmd runs, and its device.
	pid    int
	device string
}

// endTime is the time in which a process ends in order after ctx is done.
const endTime = 5 * time.Second

func start(ctx context.Context, command []string) (*server, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel, cmd.WaitDelay = hold.Close, endTime
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	release, err := startTied(cmd)
	if err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, hold: hold, release: release}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &s.rdma, &s.plain)
	}
	if rest := strings.Fields(line); err == nil && len(rest) == 4 {
		s.device = rest[2]
		s.pid, err = strconv.Atoi(rest[3])
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the server process did not say where it listens: %w", err)
	}
	return s, nil
}

func (s *server) stop() {
	s.hold.Close()
	_ = s.cmd.Wait() // the process ends when its standard input is closed
	s.release()
}
