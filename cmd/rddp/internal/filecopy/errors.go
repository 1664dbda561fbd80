package filecopy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unicode"
)

// Errors that Copy reports for files, wrapped. System errors of the server match fs.ErrNotExist,
// fs.ErrPermission and syscall.ENOSPC.
var (
	// ErrReadOnly means that the server does not accept files.
	ErrReadOnly = errors.New("the server is read-only (with -w it accepts files)")
	// ErrTooManyClients means that the server currently serves ServerConfig.MaxConns other clients.
	ErrTooManyClients = errors.New("too many clients at the moment")
	// ErrTooManyEntries means that the directories to download contain more than 2^20 files and
	// directories in all, or that the client would need more than 1 GiB for their paths.
	ErrTooManyEntries = errors.New("too many entries in the directories")
	// ErrIsDirectory means that a file was expected and a directory is there.
	ErrIsDirectory = errors.New("is a directory")
	// ErrNotDirectory means that a directory was expected and something else is there.
	ErrNotDirectory = errors.New("is not a directory")
	// ErrNotRegular means that something is neither a regular file nor a directory.
	ErrNotRegular = errors.New("is not a regular file")
	// ErrPath means that this package does not accept a path: it is empty, too long, or has
	// elements such as "..".
	ErrPath = errors.New("invalid path")
	// ErrUnfinished means that the name is reserved for unfinished copies.
	ErrUnfinished = errors.New("is the name of an unfinished copy")
	// ErrBusy means that another copy to the same name is in progress.
	ErrBusy = errors.New("another copy to this file is under way")
	// ErrChanged means that the source was written to, cut or replaced while it was copied.
	ErrChanged = errors.New("the source changed during the copy")
	// ErrMismatch means that the SHA-256 of the received bytes differs from that of the source. The
	// part is removed.
	ErrMismatch = errors.New("the received file differs from the sent file (SHA-256); nothing is kept")
	// ErrLost means that the connection ended during a copy.
	ErrLost = errors.New("connection lost")
	// ErrGrace means that the connection was still open at the end of ServerConfig.Grace.
	ErrGrace = errors.New("the server ends")
	// ErrGivenUp means that the file was not tried, because the connection failed for each of the 5
	// files before it.
	ErrGivenUp = errors.New("not tried, because the connection failed at each of the files before this one")
	// ErrProtocol means that the peer sent what the protocol does not allow at that point.
	ErrProtocol = errors.New("protocol violation by the peer")
	// ErrNotServer means that the peer speaks MPA, but not this package's protocol.
	ErrNotServer = errors.New("the peer is not an rddp file server of this version")
	// ErrFailed means that some files were not copied; the reason for each was passed to
	// Config.Failed.
	ErrFailed = errors.New("not everything was copied")
	// ErrNames means that the sources do not fit the destination.
	ErrNames = errors.New("bad source or destination")
)

// A code stands for an error in an error message.
type code uint8

const codeOther code = 0

// codes lists the errors that have their own code, which is the index plus 1. Add new ones at the
// end.
var codes = [...]error{
	ErrReadOnly, ErrIsDirectory, ErrNotDirectory, ErrNotRegular, ErrPath, ErrUnfinished, ErrBusy, ErrChanged,
	ErrMismatch, ErrProtocol, fs.ErrNotExist, fs.ErrPermission, syscall.ENOSPC,
	ErrTooManyClients,
}

// codeOf returns the code for err.
func codeOf(err error) code {
	if isDiskFull(err) {
		err = syscall.ENOSPC
	}
	for i, e := range codes {
		if errors.Is(err, e) {
			return code(i + 1)
		}
	}
	return codeOther
}

// sentinel returns the error for c. It returns nil for codeOther and for codes of later versions.
func (c code) sentinel() error {
	if c == codeOther || int(c) > len(codes) {
		return nil
	}
	return codes[c-1]
}

// Windows error numbers that package syscall does not name.
const (
	winHandleDiskFull syscall.Errno = 39
	winDiskFull       syscall.Errno = 112
	wsaRefused        syscall.Errno = 10061
)

// isErrno reports whether err is the system's error unix or, on Windows, the error windows.
func isErrno(err error, unix, windows syscall.Errno) bool {
	var e syscall.Errno
	return errors.As(err, &e) && (e == unix || runtime.GOOS == "windows" && e == windows)
}

// isDiskFull reports whether err means that the disk, or this user's share of it, is full.
func isDiskFull(err error) bool {
	return isErrno(err, syscall.ENOSPC, winDiskFull) || isErrno(err, syscall.EDQUOT, winHandleDiskFull)
}

// A RemoteError is an error that the server has reported. It matches the corresponding error of
// this package or of the system.
type RemoteError struct {
	Text string // the server's words, printable
	code code
}

func (e *RemoteError) Error() string { return "server: " + e.Text }

// Unwrap returns the error that corresponds to the server's error, or nil if this version does not
// know it.
func (e *RemoteError) Unwrap() error { return e.code.sentinel() }

// protocolError returns an ErrProtocol with its reason.
func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// A plainError is an error without names of system calls.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }

// plain returns err with clearer words for errors of os.Root, whose operations are named after
// system calls, such as statat.
func plain(err error) error {
	old, op, name, reason := "", "", "", error(nil)
	pe, le := (*fs.PathError)(nil), (*os.LinkError)(nil)
	switch {
	case errors.As(err, &pe):
		old, op, name, reason = pe.Error(), pe.Op, pe.Path, pe.Err
	case errors.As(err, &le):
		old, op, name, reason = le.Error(), le.Op, le.New, le.Err
	default:
		return err
	}
	why := reason.Error()
	if why == escapes {
		why = "a symbolic link or the path leads outside the directory"
	}
	for verb := range strings.SplitSeq(verbs, " ") {
		if op == verb+"at" {
			op = verb
		}
	}
	return &plainError{strings.Replace(err.Error(), old, op+" "+printable(name)+": "+why, 1), err}
}

const (
	verbs   = "stat lstat open mkdir unlink remove rename chmod chtimes link symlink readlink"
	escapes = "path escapes from parent" // package os does not export this error
)

// printable replaces all characters in s that could be part of a terminal's control sequence.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
