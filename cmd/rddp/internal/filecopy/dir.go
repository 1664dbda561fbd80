package filecopy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// dirNote is the name of the note in a directory that a copy has made and not finished. Until then only its owner may
// use the directory, so nobody else can put the note there or take it away.
const dirNote = noteSuffix

// makeDir makes a directory below root, with a note in it, unless it is there. unfinished says that the directory has
// the note, of this copy or of an interrupted one: finishDir has to be called when everything is in it.
//
// A symbolic link is not a directory: another user may have made it.
func makeDir(root *os.Root, name string, made *names) (unfinished bool, err error) {
	err = root.Mkdir(name, 0o700)
	if err == nil {
		made.add(path.Dir(name))
		if err := writeNew(root, path.Join(name, dirNote), ""); err != nil {
			root.Remove(name) // otherwise nobody would know it again
			return false, err
		}
		return true, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	if info, err := root.Lstat(name); err != nil || !info.IsDir() {
		return false, errors.Join(err, fmt.Errorf("%s: %w", printable(name), ErrNotDirectory))
	}
	return isUnfinished(root.Lstat(path.Join(name, dirNote))), nil
}

// isUnfinished reports whether the result of Lstat is that of a directory's note.
func isUnfinished(info fs.FileInfo, err error) bool { return err == nil && isPrivate(info) }

// finishDir gives the permission bits and the time a to a directory that makeDir has called unfinished. A
// directory without a note stays as it is.
func finishDir(root *os.Root, name string, a attr) error {
	named, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !named.IsDir() {
		return fmt.Errorf("%s: %w", printable(name), ErrNotDirectory)
	}
	d, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if opened, err := d.Stat("."); err != nil || !os.SameFile(opened, named) || !isUnfinished(d.Lstat(dirNote)) {
		return err // another copy has finished it, or somebody has replaced it
	}
	if err := d.Remove(dirNote); err != nil {
		return err
	}
	if err := d.Chtimes(".", a.modTime(), a.modTime()); err != nil {
		return err
	}
	return d.Chmod(".", a.perm())
}
