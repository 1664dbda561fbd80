package where

import (
	"os"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// A file is that of an object. The Finder's token guards it.
type file struct {
	*os.File // nil if it cannot be read
	reader   asker
	lines    map[uint64][]line // by the address in the file
	// the frame descriptions, by the address in the file, if they have been asked for
	table    frame.FrameDescriptionEntries
	hasTable bool
}

// files are the files of a process.
type files interface {
	// file returns the file of a mapping that has its beginning, or nil if it may not have one.
	file(m *mapping) *file
	// table returns the frame descriptions of a file that has none of its functions. bias is what
	// an address in memory has more than in the file.
	table(x *file, bias uint64) frame.FrameDescriptionEntries
}

// An asker knows what is in a file.
type asker interface {
	// ask returns what the file says of an address.
	ask(addr uint64) ([]line, error)
	// frames returns the address and the length of the section .eh_frame; they are 0 if there is
	// none.
	frames() (at, n uint64, err error)
	close()
}

// known returns the frame descriptions, if they are known.
func (x *file) known() frame.FrameDescriptionEntries {
	if x == nil {
		return nil
	}
	return x.table
}

// read returns the reader of the file. start starts one.
func (x *file) read(start func(*os.File) (asker, error)) (asker, error) {
	if x.reader == nil {
		r, err := start(x.File)
		if err != nil {
			return nil, err
		}
		x.reader = r
	}
	return x.reader, nil
}

// close closes the file. It does not wait for the file system, which may never answer.
func (x *file) close() {
	if x.reader != nil {
		x.reader.close()
		x.reader = nil
	}
	if x.File != nil {
		go func(f *os.File) { _ = f.Close() }(x.File)
		x.File = nil
	}
}
