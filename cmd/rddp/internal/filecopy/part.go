package filecopy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
)

// resumeMin is the length in bytes up to which an interrupted file starts over, because a note
// would cost more than it saves.
const resumeMin = 1 << 20

// A disk contains the state that the parts of one root share.
type disk struct {
	names *names                    // records new names
	limit func(io.Writer) io.Writer // wraps the writer to the file, if not nil
}

// A part is a file that is being received. Its content is collected under another name. The methods
// are called in this order:
//
//	openPart → [prefix] → begin → Write … → finish
//
// close, at any point, keeps the bytes so far for the next attempt.
type part struct {
	root       *os.Root
	name       string // the final name, below root
	part, note string // the name until then, and the name of the note about the source
	attr       attr   // the source's
	disk

	f      *os.File // the part; nil if whole is set
	w      io.Writer
	unlock func()
	whole  *os.File // the existing file, if it has the source's size and time; otherwise nil
	sum    hash.Hash
	off    int64 // bytes so far
}

// keptModes are the modes of files that must not be replaced, such as /dev/null.
const keptModes = fs.ModeDevice | fs.ModeNamedPipe | fs.ModeSocket | fs.ModeIrregular

// openPart opens or makes the part of the file name, a copy of a source with the attributes a. off
// is then the number of existing bytes, which the caller must verify with prefix.
func openPart(root *os.Root, name string, a attr, d disk) (*part, error) {
	p := &part{root: root, name: name, attr: a, disk: d, sum: sha256.New()}
	p.part, p.note = partNames(name)
	info, err := root.Lstat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s: %w", printable(name), ErrIsDirectory)
	case err == nil && info.Mode()&keptModes != 0:
		return nil, fmt.Errorf("%s: %w", printable(name), ErrNotRegular)
	case err == nil && info.Mode().IsRegular() && a.Size > 0 && attrOf(info).sameContent(a):
		if p.whole, err = openAny(root, name); err == nil {
			if opened, err := p.whole.Stat(); err == nil && os.SameFile(opened, info) {
				p.off = a.size()
				return p, nil
			}
			p.whole.Close()
			p.whole = nil
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return p, p.open()
}

// open opens the part itself, or makes it.
//
// Other users may be able to write the directory, and they know the name of the part. So open does
// not follow links, wait for FIFOs, or use a file that another user has made or may have open. It
// removes a file that it does not use.
func (p *part) open() error {
	if info, err := p.root.Lstat(p.part); err == nil {
		if isOwn(info) {
			err := p.openLocked(os.O_RDWR | openNonBlock)
			if err != nil && !errors.Is(err, fs.ErrPermission) { // without permission, it already has the bits of its source
				return err
			}
			if err == nil && p.resume(info) {
				return nil
			}
			p.release()
		}
		if err := p.root.Remove(p.part); err != nil {
			return err
		}
	}
	return p.openLocked(os.O_RDWR | os.O_CREATE | os.O_EXCL | openNonBlock)
}

// resume reports whether the open part can be used. If the note matches the source, the copy
// continues after the existing bytes.
func (p *part) resume(named fs.FileInfo) bool {
	opened, err := p.f.Stat()
	if err != nil || !os.SameFile(opened, named) || !isPrivate(opened) {
		return false
	}
	if p.isNoted() && opened.Size() <= p.attr.size() {
		p.off = opened.Size()
	}
	return true
}

// openLocked opens the part and locks it. The error is ErrBusy if another copy has locked it, or
// has just created or removed it.
func (p *part) openLocked(flags int) (err error) {
	p.f, err = p.root.OpenFile(p.part, flags, 0o600)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) && flags&os.O_CREATE == 0 {
		err = ErrBusy
	}
	if err == nil {
		if p.unlock, err = lockFile(p.f); err == nil {
			err = p.checkName()
		}
	}
	if err != nil {
		p.release()
		return fmt.Errorf("%s: %w", printable(p.name), err)
	}
	return nil
}

// checkName returns ErrBusy if the part's name no longer belongs to the open file, because the part
// has been renamed, removed or replaced.
func (p *part) checkName() error {
	opened, err := p.f.Stat()
	if err != nil {
		return err
	}
	if named, err := p.root.Lstat(p.part); err != nil || !os.SameFile(opened, named) {
		return ErrBusy
	}
	return nil
}

// noteText returns the text of the note, which is only compared and never parsed.
func (p *part) noteText() string {
	return fmt.Sprintf("rddp part 1: of %d octets, modified %d.%09d\n", p.attr.Size, p.attr.Sec, p.attr.Nsec)
}

// isNoted reports whether the note matches the source.
func (p *part) isNoted() bool {
	f, err := openAny(p.root, p.note)
	if err != nil {
		return false
	}
	defer f.Close()
	want := p.noteText()
	b, err := io.ReadAll(io.LimitReader(f, int64(len(want))+1))
	return err == nil && string(b) == want
}

// prefix returns the sum of the off existing bytes.
func (p *part) prefix(stop <-chan struct{}) (sum, error) {
	f := p.f
	if p.whole != nil {
		f = p.whole
	}
	err := hashPrefix(p.sum, f, p.off, stop)
	return sum(p.sum.Sum(nil)), err
}

// begin prepares the part for bytes from off on. off is the length that prefix has checked, or 0 to
// start over.
func (p *part) begin(off int64) error {
	if off == p.off && off > 0 {
		p.startWriter()
		return nil
	}
	if p.whole != nil {
		p.whole.Close()
		p.whole = nil
		if err := p.open(); err != nil {
			return err
		}
	}
	p.sum.Reset()
	p.off = 0
	// Truncate the part before writing the note, so that old bytes are never taken for bytes of the
	// source in the note.
	if err := p.f.Truncate(0); err != nil {
		return err
	}
	if _, err := p.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p.startWriter()
	if p.attr.size() <= resumeMin {
		p.root.Remove(p.note)
		return nil
	}
	return writeNew(p.root, p.note, p.noteText())
}

// writeNew makes a new file. It replaces anything with that name except a directory with entries.
func writeNew(root *os.Root, name, text string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNonBlock, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

func (p *part) startWriter() {
	p.w = p.f
	if p.limit != nil {
		p.w = p.limit(p.f)
	}
}

// Write adds b to the part and to its sum.
func (p *part) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.sum.Write(b[:n])
	p.off += int64(n)
	return n, err
}

// rest returns the number of missing bytes.
func (p *part) rest() int64 { return p.attr.size() - p.off }

// finish renames the file to its final name if it has the source's sum. Otherwise the error is
// ErrMismatch, and finish removes the part.
func (p *part) finish(want sum) error {
	if got := sum(p.sum.Sum(nil)); p.rest() != 0 || got != want {
		p.root.Remove(p.note)
		if p.whole == nil {
			p.root.Remove(p.part)
		}
		return ErrMismatch
	}
	if p.whole != nil {
		return p.chmod(p.whole, p.name)
	}
	if err := flushFile(p.f); err != nil {
		return err
	}
	if err := p.checkName(); err != nil {
		return fmt.Errorf("%s: %w", printable(p.name), err)
	}
	if runtime.GOOS == "windows" { // an open file can't be renamed
		p.f.Close()
	}
	if err := p.root.Chtimes(p.part, p.attr.modTime(), p.attr.modTime()); err != nil {
		return err
	}
	if err := p.chmod(p.f, p.part); err != nil {
		return err
	}
	if err := p.root.Rename(p.part, p.name); err != nil {
		return err
	}
	if p.attr.size() > resumeMin {
		p.root.Remove(p.note)
	}
	p.names.add(path.Dir(p.part))
	return nil
}

// chmod gives f the source's permission bits. Except on Windows, it does not use the name of f,
// which another file could have by now.
func (p *part) chmod(f *os.File, name string) error {
	if runtime.GOOS == "windows" {
		return p.root.Chmod(name, p.attr.perm())
	}
	return f.Chmod(p.attr.perm())
}

// close closes the files, in any state, and removes an empty part. It may be called more than once.
func (p *part) close() {
	if p.whole != nil {
		p.whole.Close()
	}
	if p.f == nil {
		return
	}
	if info, err := p.f.Stat(); err == nil && info.Size() == 0 && p.checkName() == nil {
		p.root.Remove(p.part)
		p.root.Remove(p.note)
	}
	p.release()
}

// release closes the part and ends its lock.
func (p *part) release() {
	if p.f != nil {
		p.f.Close()
		p.f = nil
	}
	if p.unlock != nil {
		p.unlock()
		p.unlock = nil
	}
}
