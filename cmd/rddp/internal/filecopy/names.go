package filecopy

import "os"

// names records the directories below root in which files and directories have recently been
// created or renamed. The content of a file is flushed to disk before the file gets its name. The
// directories are flushed when a connection or a Copy ends, once for all files of a directory.
type names struct {
	root *os.Root
	dirs map[string]bool
}

// flushFile flushes a file or directory to disk. It is a variable for the tests.
var flushFile = (*os.File).Sync

// maxUnflushed is the maximum number of recorded directories. When it is reached, they are flushed.
const maxUnflushed = 64

func (n *names) add(dir string) {
	if n.dirs == nil {
		n.dirs = make(map[string]bool)
	}
	n.dirs[dir] = true
	if len(n.dirs) > maxUnflushed {
		n.flush()
	}
}

// flush flushes the directories, on systems and file systems that support this. It ignores errors,
// because the files are complete in any case.
func (n *names) flush() {
	for dir := range n.dirs {
		if d, err := openAny(n.root, dir); err == nil {
			_ = flushFile(d)
			d.Close()
		}
	}
	clear(n.dirs)
}
