package filecopy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/rddp/rddp/cmd/rddp/internal/cliparse"
)

// Maximum lengths in bytes.
const (
	maxPath = 4096
	maxName = 255
)

// scheme is the prefix of every remote name.
const scheme = "rddp://"

// A Name is a source or destination of Copy.
type Name struct {
	// Address is the server's HOST:PORT; empty for a local name.
	Address string
	// Path is a path of the system for a local name. For a remote name it is slash-separated and
	// relative to the served directory; "." means that directory.
	Path string
	// Directory says that the name ended with a slash, so it can't be the name of a file.
	Directory bool
}

// ParseName parses the name of a source or destination. A name of the form rddp://HOST[:PORT]/PATH
// is remote. An IPv6 address is in brackets. PATH has no percent-escapes; an empty PATH means the
// served directory. Every other name is local. The error is an ErrPath, or says that the host is
// missing or malformed.
func ParseName(s string) (Name, error) {
	rest, isRemote := strings.CutPrefix(s, scheme)
	if !isRemote {
		if s == "" {
			return Name{}, fmt.Errorf("%w: the empty name", ErrPath)
		}
		return Name{Path: s, Directory: strings.HasSuffix(filepath.ToSlash(s), "/")}, nil
	}
	authority, rest, hasSlash := strings.Cut(rest, "/")
	address, err := parseAddress(authority)
	if err != nil {
		return Name{}, fmt.Errorf("%s: %w; a remote name is %sHOST[:PORT]/PATH", printable(s), err, scheme)
	}
	var elements []string
	for e := range strings.SplitSeq(rest, "/") {
		if e != "" && e != "." {
			elements = append(elements, e)
		}
	}
	n := Name{Address: address, Path: ".", Directory: hasSlash && (rest == "" || strings.HasSuffix(rest, "/"))}
	if len(elements) > 0 {
		n.Path = strings.Join(elements, "/")
	}
	if err := checkPath(n.Path); err != nil {
		return Name{}, fmt.Errorf("%s: %w", printable(s), err)
	}
	return n, nil
}

// parseAddress parses the HOST[:PORT] of a remote name.
func parseAddress(authority string) (string, error) {
	if strings.HasPrefix(authority, ":") {
		return "", errors.New("there is no host")
	}
	if strings.Count(authority, ":") > 1 && !strings.HasPrefix(authority, "[") {
		return "", fmt.Errorf("bad host %q (IPv6 addresses must be in brackets)", authority)
	}
	return cliparse.ParseAddress(authority, cliparse.DefaultPort)
}

// IsRemote reports whether the name is remote.
func (n Name) IsRemote() bool { return n.Address != "" }

// String returns the name in the form that ParseName parses.
func (n Name) String() string {
	if !n.IsRemote() {
		return n.Path
	}
	if n.Path == "." {
		return scheme + n.Address + "/"
	}
	return scheme + n.Address + "/" + n.Path
}

// base returns the last element of the name, or "" if the name has no such element, as with ".",
// ".." and "/".
func (n Name) base() string {
	b := path.Base(n.Path)
	if !n.IsRemote() {
		b = filepath.Base(n.Path)
	}
	if b == "." || b == ".." || b == "/" || b == string(filepath.Separator) {
		return ""
	}
	return b
}

// checkPath checks a path as it goes over the wire: slash-separated and relative, without empty,
// "." and ".." elements. "." alone means the served directory.
func checkPath(p string) error {
	if p == "." {
		return nil
	}
	if len(p) > maxPath {
		return fmt.Errorf("%w: %d bytes, the maximum is %d", ErrPath, len(p), maxPath)
	}
	for e := range strings.SplitSeq(p, "/") {
		if err := checkName(e); err != nil {
			return err
		}
	}
	if filepath.Separator != '/' {
		// Other names can also lead outside: C:x, a\b, NUL.
		if _, err := filepath.Localize(p); err != nil {
			return fmt.Errorf("%w: %q", ErrPath, p)
		}
	}
	return nil
}

// checkName checks one element of a path.
func checkName(e string) error {
	if !isElement(e) {
		return fmt.Errorf("%w: element %q", ErrPath, e)
	}
	if isPartName(e) {
		return fmt.Errorf("%q: %w", e, ErrUnfinished)
	}
	return nil
}

// isElement reports whether e is a valid element of a path that does not lead outside.
func isElement(e string) bool {
	return e != "" && e != "." && e != ".." && len(e) <= maxName && !strings.ContainsAny(e, "/\x00")
}

// The suffixes of a part and of the note about its source.
const (
	partSuffix = ".rddp-part"
	noteSuffix = ".rddp-part-of"
)

// partNames returns the names of the part of the file p and of its note, in the same directory.
func partNames(p string) (part, note string) {
	dir, base := path.Split(filepath.ToSlash(p))
	if 1+len(base)+len(noteSuffix) > maxName { // the name would be too long, so a hash replaces it
		base = fmt.Sprintf("%x", sha256.Sum256([]byte(base)))
	}
	return dir + "." + base + partSuffix, dir + "." + base + noteSuffix
}

// isPartName reports whether base, a name without a directory, is the name of a part or a note.
func isPartName(base string) bool {
	return strings.HasPrefix(base, ".") && (strings.HasSuffix(base, partSuffix) || strings.HasSuffix(base, noteSuffix))
}
