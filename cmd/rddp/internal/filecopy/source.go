package filecopy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
)

// A source is a file to copy. It is read once from beginning to end, and its sum is computed on the
// way.
type source struct {
	f    *os.File
	attr attr // as it was when the file was opened
	sum  hash.Hash
	off  int64 // bytes read and added to sum
}

// openSource opens the regular file name below root.
func openSource(root *os.Root, name string) (*source, error) {
	return openRegular(name, root.Stat, root.OpenFile)
}

// openLocalSource opens the regular file name anywhere in the file system.
func openLocalSource(name string) (*source, error) { return openRegular(name, os.Stat, os.OpenFile) }

func openRegular(
	name string, stat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error),
) (*source, error) {
	info, err := stat(name) // before opening, because opening a FIFO or device can have effects
	if err != nil {
		return nil, err
	}
	if err := checkRegular(attrOf(info)); err != nil {
		return nil, fmt.Errorf("%s: %w", printable(name), err)
	}
	f, err := open(name, os.O_RDONLY|openNonBlock, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = checkRegular(attrOf(info)) // the name may belong to another file now
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &source{f: f, attr: attrOf(info), sum: sha256.New()}, nil
}

// openAny opens any kind of file for reading. It does not block on a FIFO, which could take the
// name at any time.
func openAny(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|openNonBlock, 0)
}

func checkRegular(a attr) error {
	switch a.Type {
	case typeDir:
		return ErrIsDirectory
	case typeOther:
		return ErrNotRegular
	}
	return nil
}

func (s *source) close() { s.f.Close() }

// skip reads the first n bytes and returns their sum. The next read continues after them. If stop
// is closed, skip ends early.
func (s *source) skip(n int64, stop <-chan struct{}) (sum, error) {
	if n > s.attr.size() {
		return sum{}, ErrChanged
	}
	err := hashPrefix(s.sum, s.f, n, stop)
	s.off = n
	return sum(s.sum.Sum(nil)), err
}

// rewind returns to the beginning of the file.
func (s *source) rewind() error {
	s.sum.Reset()
	s.off = 0
	_, err := s.f.Seek(0, io.SeekStart)
	return err
}

// rest returns the number of bytes left to read.
func (s *source) rest() int64 { return s.attr.size() - s.off }

// read fills p with the next bytes. The caller asks for no more than are left, so read fails only
// if the file has been cut.
func (s *source) read(p []byte) error {
	_, err := io.ReadFull(s.f, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the file has become shorter", ErrChanged)
	}
	if err != nil {
		return err
	}
	s.sum.Write(p)
	s.off += int64(len(p))
	return nil
}

// end checks that the file has not changed and has no bytes beyond its size, as some files in
// Linux's /proc do. It returns the sum of the whole file.
func (s *source) end() (sum, error) {
	switch n, err := s.f.Read(make([]byte, 1)); {
	case n > 0:
		return sum{}, fmt.Errorf("%w: the file has more bytes than its size says", ErrChanged)
	case !errors.Is(err, io.EOF):
		return sum{}, err
	}
	info, err := s.f.Stat()
	if err != nil {
		return sum{}, err
	}
	if now := attrOf(info); !now.sameContent(s.attr) {
		return sum{}, ErrChanged
	}
	return sum(s.sum.Sum(nil)), nil
}

// hashPrefix adds the first n bytes of f to h, and leaves the offset of f after them.
func hashPrefix(h hash.Hash, f *os.File, n int64, stop <-chan struct{}) error {
	h.Reset()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	b := make([]byte, min(n, firstChunk))
	for n > 0 {
		select {
		case <-stop:
			return fmt.Errorf("%w while a file was compared", ErrLost)
		default:
		}
		m, err := io.ReadFull(f, b[:min(n, int64(len(b)))])
		if err != nil {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		h.Write(b[:m])
		n -= int64(m)
	}
	return nil
}
