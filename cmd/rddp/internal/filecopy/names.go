package filecopy

import "os"

// names are the directories below root that files have got their names in lately. What is in a file is
// flushed to disk before the file gets its name; the names follow, for all files of a directory at once,
// when a connection or a Copy ends.
type names struct {
	root *os.Root
	dirs map[string]bool
}

// maxUnflushed is the most directories that are noted before they are flushed.
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

// flush flushes the directories, on systems and file systems that can. There is nothing to undo where they
// refuse, and the files are whole in any case.
func (n *names) flush() {
	for dir := range n.dirs {
		if d, err := n.root.Open(dir); err == nil {
			_ = d.Sync()
			d.Close()
		}
	}
	clear(n.dirs)
}
