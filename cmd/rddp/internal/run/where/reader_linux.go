//go:build amd64 || arm64

package where

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readerName is the name under which this executable runs as the child that reads a file.
const readerName = "rddp-run-lines"

// Bounds of a reader.
const (
	readerSeconds = 5       // of processor time
	readerMemory  = 1 << 30 // bytes, besides those of any such process
	readerFile    = 3       // the descriptor of the file
	maxAnswer     = 1 << 20 // bytes
	// answerTime bounds the wait for an answer
	answerTime = 2 * time.Second
)

// Stage serves a Finder if this process was started for that: it reads the file with the descriptor
// 3 until its standard input ends. Otherwise it returns. The main function of an executable that
// uses a Finder must call it first.
//
// A file of a program may be built to exhaust who reads it. A process of its own has a bound of
// memory and of processor time, and ends without harm.
func Stage() {
	if os.Args[0] != readerName {
		return
	}
	limit(unix.RLIMIT_CPU, readerSeconds)
	if size, err := os.ReadFile("/proc/self/statm"); err == nil {
		var pages uint64
		if _, err := fmt.Sscan(string(size), &pages); err == nil {
			limit(unix.RLIMIT_AS, pages*uint64(os.Getpagesize())+readerMemory)
		}
	}
	_ = serve(os.Stdin, os.Stdout, os.NewFile(readerFile, "file"), func(id string) io.ReaderAt {
		f, err := openRegular(unix.AT_FDCWD, fmt.Sprintf("/usr/lib/debug/.build-id/%s/%s.debug", id[:2], id[2:]), 0)
		if err != nil {
			return nil
		}
		return f
	})
	os.Exit(0)
}

func limit(resource int, n uint64) {
	_ = unix.Setrlimit(resource, &unix.Rlimit{Cur: n, Max: n}) // without a limit, a hostile file costs more
}

// framesQuestion asks where the frame descriptions are. Other questions are addresses.
const framesQuestion = "frames"

// serve answers questions about a file.
func serve(in io.Reader, out io.Writer, file io.ReaderAt, debug func(string) io.ReaderAt) error {
	var l *lines
	answers := json.NewEncoder(out)
	for questions := bufio.NewScanner(in); questions.Scan(); {
		if questions.Text() == framesQuestion {
			at, n := readFrames(file)
			if err := answers.Encode([2]uint64{at, n}); err != nil {
				return err
			}
			continue
		}
		addr, err := strconv.ParseUint(questions.Text(), 16, 64)
		if err != nil {
			return err
		}
		if l == nil {
			l = readLines(file, debug)
		}
		if err := answers.Encode(l.find(addr)); err != nil {
			return err
		}
	}
	return nil
}

// A reader is a child that reads a file.
type reader struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *os.File
	answers *bufio.Reader
}

// newReader starts a reader of a file.
func newReader(f *os.File) (*reader, error) {
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	c := exec.Command("/proc/self/exe")
	c.Args, c.Env, c.Stdout, c.ExtraFiles = []string{readerName}, []string{}, theirs, []*os.File{f}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's signals are for the program
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	return &reader{c, in, out, bufio.NewReaderSize(out, maxAnswer)}, nil
}

func (r *reader) ask(addr uint64) (all []line, err error) {
	err = r.question(strconv.FormatUint(addr, 16), &all)
	return all, err
}

func (r *reader) frames() (at, n uint64, err error) {
	var x [2]uint64
	err = r.question(framesQuestion, &x)
	return x[0], x[1], err
}

func (r *reader) question(q string, answer any) error {
	if err := r.out.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(r.in, q); err != nil {
		return err
	}
	b, err := r.answers.ReadSlice('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(b, answer)
}

// close ends the child. It does not wait for that: if the file system does not answer, the child
// cannot be killed.
func (r *reader) close() {
	_ = r.cmd.Process.Kill()
	_ = r.in.Close()
	_ = r.out.Close()
	go func() { _ = r.cmd.Wait() }() // it was killed
}

// openRegular opens a file for reading if it is a regular one. It never waits for a FIFO, and
// resolve says how the path is resolved.
func openRegular(folder int, path string, resolve uint64) (*os.File, error) {
	fd, err := unix.Openat2(folder, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, syscall.EINVAL
	}
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDONLY|unix.O_NONBLOCK, 0)
}
