package filecopy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// dirNote is the name of the note in a directory that a copy has made but not finished. Until it is
// finished, only its owner may use the directory, so no other user can create or remove the note.
const dirNote = noteSuffix

// makeDir makes a directory below root, with a note in it, unless the directory exists. unfinished
// says that the directory has a note, from this copy or an interrupted one: the caller must call
// finishDir when the directory is complete.
//
// A symbolic link is not a directory: another user may have made it.
func makeDir(root *os.Root, name string, made *names) (unfinished bool, err error) {
	err = root.Mkdir(name, 0o700)
	if err == nil {
		made.add(path.Dir(name))
		if err := writeNew(root, path.Join(name, dirNote), ""); err != nil {
			root.Remove(name) // otherwise no later copy would recognize it
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

// checkNote returns an error if a directory's note, with the result note of Lstat, was not made by
// a copy of this user.
//
// Some file systems show the same owner or the same bits for all files. So a note that does not
// look private is compared with a new file in its directory. If owner or bits differ, this user has
// not made the note.
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
	made, err := f.Stat() // not by name, because another user may have given the name to another file
	if err := errors.Join(err, f.Close(), root.Remove(name)); err != nil {
		return err
	}
	if !isAlike(note, made) {
		return fmt.Errorf("%s is another user's: %w", printable(path.Join(dir, dirNote)), fs.ErrPermission)
	}
	return nil
}

// finishDir gives the permission bits and the time in a to a directory that makeDir has reported as
// unfinished. It does not change a directory without a note, or with another user's note; the
// latter is an error.
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
		return err // the directory has been replaced
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
