package filecopy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Entry is a file or directory of a server.
type Entry struct {
	Name  string    // its last name; may contain control sequences
	Type  string    // "file", "directory", or "other", which is never copied
	Perm  uint16    // permission bits
	Size  int64     // bytes of a file
	Mtime time.Time // when it was modified
}

// List returns the entries of a remote directory, sorted by name, or the remote file itself. It
// uses only the fields of cfg about the connection.
func List(ctx context.Context, n Name, cfg *Config) (entries []Entry, err error) {
	c := &copier{ctx: ctx, cfg: *cfg}
	if c.cfg.IdleTimeout <= 0 {
		c.cfg.IdleTimeout = DefaultIdleTimeout
	}
	if !n.IsRemote() {
		return nil, fmt.Errorf("%w: %v is not remote (%sHOST[:PORT]/PATH)", ErrNames, n, scheme)
	}
	defer c.hangUp()
	if err := c.dial(n.Address); err != nil {
		return nil, c.cause(err)
	}
	m, err := c.ask(message{kind: kindStat, text: n.Path}, kindAttr)
	if err := c.after(err); err != nil {
		return nil, c.cause(err)
	}
	if m.attr.Type != typeDir {
		if n.Directory {
			return nil, ErrNotDirectory
		}
		return []Entry{entryOf(n.base(), m.attr)}, nil
	}
	found, err := c.listRemote(n.Address, n.Path)
	if err != nil {
		return nil, c.cause(err)
	}
	for _, e := range found {
		entries = append(entries, entryOf(e.name, e.attr))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// cause returns the error of the context if it is done, or else err.
func (c *copier) cause(err error) error {
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	return plain(err)
}

func entryOf(name string, a attr) Entry {
	e := Entry{Name: name, Type: "other", Perm: a.Perm, Size: a.size(), Mtime: time.Unix(a.Sec, int64(a.Nsec))}
	switch a.Type {
	case typeFile:
		e.Type = "file"
	case typeDir:
		e.Type = "directory"
	}
	return e
}

// String returns the entry as a line, with a printable name. The name of a directory ends with a
// slash.
func (e Entry) String() string {
	name := printable(e.Name)
	if e.Type == "directory" {
		name += "/"
	}
	return fmt.Sprintf("%04o %12d %s %s", e.Perm, e.Size, e.Mtime.UTC().Format(time.RFC3339), name)
}
