package where

import "os"

// A file is that of an object. The Finder's token guards it.
type file struct {
	*os.File // nil if it cannot be read
	reader   asker
	lines    map[uint64][]line // by the address in the file
}

// files are the files of a process.
type files interface {
	// file returns the file of a mapping that has its beginning, or nil if it may not have one.
	file(m *mapping) *file
	// frames returns where the frame descriptions of a file are in it.
	frames(x *file) (at, n uint64, ok bool)
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

func (x *file) close() {
	if x.reader != nil {
		x.reader.close()
		x.reader = nil
	}
	if x.File != nil {
		_ = x.File.Close()
		x.File = nil
	}
}
