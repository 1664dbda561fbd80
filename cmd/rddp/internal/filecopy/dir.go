package filecopy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// dirNote is the name of the note in a directory that a copy has made and not finished. Until then
// only its owner may use the directory, so nobody else can put the note there or take it away.
const dirNote = noteSuffix

// makeDir makes a directory below root, with a note in it, unless it is there. unfinished says that
// the directory has the note, of this copy or of an interrupted one: finishDir has to be called
// when everything is in it.
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
	note, err := root.Lstat(path.Join(name, dirNote))
	if err != nil {
		return false, nil //nolint:nilerr // such as no note: the directory was there before
	}
	return checkNote(root, name, note) == nil, nil
}

// checkNote returns an error if note, what Lstat says of a directory's note, is not that of this
// user's copy.
//
// Some file systems show the same owner or the same bits for all files. So a note that is not
// private is compared with a new file in its directory: with another owner or other bits than that,
// this user has not made it like this.
func checkNote(root *os.Root, dir string, note fs.FileInfo) error {
	if isPrivate(note) {
		return nil
	}
	name := path.Join(dir, partSuffix)
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNonBlock, 0o600)
	if err != nil {
		return err
	}
	made, err := f.Stat() // not by its name, which another user may have given to another file by now
	if err := errors.Join(err, f.Close(), root.Remove(name)); err != nil {
		return err
	}
	if !isAlike(note, made) {
		return fmt.Errorf("%s is another user's: %w", printable(path.Join(dir, dirNote)), fs.ErrPermission)
	}
	return nil
}

// finishDir gives the permission bits and the time a to a directory that makeDir has called
// unfinished. A directory without a note stays as it is. With a note that is not this user's it
// does too, which is an error.
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
	if opened, err := d.Stat("."); err != nil || !os.SameFile(opened, named) {
		return err // somebody has replaced it
	}
	note, err := d.Lstat(dirNote)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another copy has finished it
	}
	if err != nil {
		return err
	}
	if err := checkNote(d, ".", note); err != nil {
		return err
	}
	if err := d.Remove(dirNote); err != nil {
		return err
	}
	if err := d.Chtimes(".", a.modTime(), a.modTime()); err != nil {
		return err
	}
	return d.Chmod(".", a.perm())
}
