package filecopy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/rddp/rddp/rdmap"
)

// maxEntries and maxPlanned limit the directory entries that servers can make the client request
// and keep in one copy: their number, and the bytes of their paths. They are variables for the
// tests.
var (
	maxEntries = 1 << 20
	maxPlanned = 1 << 30
)

// download copies remote sources to the local dst.
func (c *copier) download(sources []Name, dst Name) error {
	root, name, err := openDestination(dst, len(sources) > 1)
	if err != nil {
		return err
	}
	defer root.Close()
	c.names.root = root
	defer c.names.flush()
	var plans []*plan
	for _, src := range sources {
		p := &plan{address: src.Address}
		to := name
		if to == "" {
			to = src.base()
		}
		if err := c.planDownload(p, src, to, dst.Directory && name != ""); err != nil {
			c.lack(job{to: to, shown: src.String()}, err)
			p.jobs = nil // a tree with too many entries is not copied at all
		}
		for i, j := range p.jobs {
			p.jobs[i].target = filepath.Join(root.Name(), j.to)
		}
		plans = append(plans, p)
	}
	if err := c.targets.check(plans); err != nil {
		return err
	}
	c.run(plans, steps{
		file:   func(j job) error { return c.downloadFile(root, j) },
		mkdir:  func(j job) (bool, error) { return makeDir(root, j.to, &c.names) },
		finish: func(j job) error { return finishDir(root, j.to, j.attr) },
		stat: func(name string) error {
			_, err := root.Lstat(name)
			return err
		},
		list: func(dir string) ([]string, error) { return readNames(root, dir) },
	})
	return nil
}

// openDestination opens the destination directory. name is the name of the single source in it, or
// "" if each source keeps its own name.
func openDestination(dst Name, several bool) (root *os.Root, name string, err error) {
	dir := dst.Path
	switch {
	case isLocalDir(dst.Path):
	case several:
		return nil, "", fmt.Errorf("%w: several sources, and %v %w", ErrNames, dst, ErrNotDirectory)
	default:
		target, err := followLink(dst.Path)
		if err != nil {
			return nil, "", err
		}
		clean := filepath.Clean(target)
		dir, name = filepath.Dir(clean), filepath.Base(clean)
		if err := checkName(filepath.ToSlash(name)); err != nil {
			return nil, "", err
		}
	}
	root, err = os.OpenRoot(dir)
	return root, name, err
}

// followLink returns the local name that a symbolic link leads to, so that a copy replaces that
// file and not a link such as /dev/stdout. It returns any other name unchanged. It fails if the
// link leads nowhere, or to a file that must not be replaced.
func followLink(name string) (string, error) {
	if info, err := os.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return name, nil //nolint:nilerr // a name of nothing is that of a new file
	}
	if info, err := os.Stat(name); err == nil && info.Mode()&keptModes != 0 {
		return "", fmt.Errorf("%s: %w", printable(name), ErrNotRegular)
	}
	return filepath.EvalSymlinks(name)
}

// planDownload adds src to the plan. to is its name below the destination, "" for the destination
// itself. dirOnly says that to can't be the name of a file.
func (c *copier) planDownload(p *plan, src Name, to string, dirOnly bool) error {
	if err := c.dial(src.Address); err != nil {
		return err
	}
	m, err := c.ask(message{kind: kindStat, text: src.Path}, kindAttr)
	if err := c.after(err); err != nil {
		return err
	}
	switch {
	case m.attr.Type == typeDir && !c.cfg.Recursive:
		return fmt.Errorf("%w (-r copies directories)", ErrIsDirectory)
	case m.attr.Type == typeDir:
		return c.planDownloadDir(p, job{from: src.Path, to: to, shown: src.String(), attr: m.attr})
	case m.attr.Type == typeOther:
		return ErrNotRegular
	case dirOnly:
		return fmt.Errorf("%s: %w", to, ErrNotDirectory)
	case src.Directory:
		return ErrNotDirectory
	}
	p.add(job{from: src.Path, to: to, shown: src.String(), attr: m.attr})
	return nil
}

// planDownloadDir adds a directory and its contents to the plan. It returns an error only if all of
// it fails; it reports other failures individually.
func (c *copier) planDownloadDir(p *plan, d job) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	entries, err := c.listRemote(p.address, d.from)
	if err != nil {
		return err
	}
	if d.to != "" {
		p.add(d)
	}
	for _, e := range entries {
		j := job{from: path.Join(d.from, e.name), to: path.Join(d.to, e.name), attr: e.attr}
		j.shown = Name{Address: p.address, Path: j.from}.String()
		if c.planned += len(j.from) + len(j.to) + len(j.shown); c.planned > maxPlanned {
			return fmt.Errorf("%w: their paths have more than %d bytes", ErrTooManyEntries, maxPlanned)
		}
		err := checkPath(j.from)
		switch {
		case isPartName(e.name):
			c.skip(j.shown, ErrUnfinished)
			continue
		case err != nil:
		case e.attr.Type == typeDir:
			err = c.planDownloadDir(p, j)
		case e.attr.Type == typeFile:
			p.add(j)
		default:
			c.skip(j.shown, ErrNotRegular)
		}
		if errors.Is(err, ErrTooManyEntries) {
			return err // the next directories would fail in the same way
		}
		if err != nil {
			c.lack(j, err)
		}
	}
	return nil
}

// listRemote returns the entries of the server's directory. A name that appears more than once
// counts once, because a directory may change while the server reads it.
func (c *copier) listRemote(address, dir string) (entries []entry, err error) {
	if err := c.dial(address); err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for request := (message{kind: kindList, text: dir}); ; request = (message{kind: kindNext}) {
		m, err := c.ask(request, kindEntries)
		if err := c.after(err); err != nil {
			return nil, err
		}
		before := len(entries)
		for _, e := range m.entries {
			if !seen[e.name] {
				seen[e.name] = true
				entries = append(entries, e)
			}
		}
		if c.entries += len(m.entries); c.entries > maxEntries {
			c.hangUp()
			return nil, fmt.Errorf("%w: more than %d", ErrTooManyEntries, maxEntries)
		}
		if !m.flag {
			return entries, nil
		}
		if len(entries) == before { // otherwise a server could make the client ask forever
			return nil, c.after(protocolError("no new entries, and a promise of more"))
		}
	}
}

// downloadFile copies one file.
func (c *copier) downloadFile(root *os.Root, j job) error {
	p, err := openPart(root, j.to, j.attr, disk{&c.names, c.cfg.limit})
	if err != nil {
		return err
	}
	defer func() { p.close() }() // closes the part of the last attempt
	here, err := p.prefix(c.over)
	if err != nil {
		return err
	}
	m, err := c.ask(message{kind: kindGet, attr: j.attr, number: uint64(p.off), sum: here, text: j.from}, kindFile)
	if err != nil {
		return err
	}
	c.copying = true
	if m.attr.Type != typeFile || m.number != 0 && (m.number != uint64(p.off) || !m.attr.sameContent(j.attr)) {
		return protocolError("file from offset %d, %d bytes are here", m.number, p.off)
	}
	if !m.attr.sameContent(j.attr) { // the file has changed since the plan, so the part belongs to the old one
		p.close()
		other, err := openPart(root, j.to, m.attr, disk{&c.names, c.cfg.limit})
		if err != nil {
			return err
		}
		p = other
	}
	if err := p.begin(int64(m.number)); err != nil {
		return err
	}
	c.summary.Resumed += int64(m.number)
	c.report(int64(m.number))
	whole, err := c.fetch(p)
	if err == nil {
		err = p.finish(whole)
	}
	if err != nil {
		if c.cfg.Temporary {
			return err
		}
		return resumable(err, p)
	}
	c.copying = false
	return nil
}

// fetch reads the rest of the file chunk by chunk and returns the sum that the server reports. Up
// to window Reads are outstanding while fetch stores an earlier chunk.
func (c *copier) fetch(p *part) (sum, error) {
	var posted, arrived uint64
	var lengths [window]int
	for unread := p.rest(); p.rest() > 0; {
		for unread > 0 {
			m, ok, err := c.announced(posted == arrived)
			if err != nil {
				return sum{}, err
			}
			if !ok {
				break
			}
			if err := checkChunk(m, posted, arrived, unread); err != nil {
				return sum{}, err
			}
			lengths[posted%window] = int(m.handle.Len)
			if err := c.move(rdmap.WorkRead, m.handle, c.buffer(posted, int(m.handle.Len))); err != nil {
				return sum{}, err
			}
			unread -= int64(m.handle.Len)
			posted++
		}
		if err := c.moved(); err != nil {
			return sum{}, err
		}
		if err := c.send(message{kind: kindRelease, number: arrived}); err != nil {
			return sum{}, err
		}
		n := lengths[arrived%window]
		c.summary.Octets += int64(n)
		if _, err := p.Write(c.buffer(arrived, n)); err != nil {
			return sum{}, err
		}
		c.report(int64(n))
		arrived++
	}
	m, err := c.expect(kindEnd)
	return m.sum, err
}

// announced returns the next chunk message, waiting for it only if wait is true.
func (c *copier) announced(wait bool) (m message, ok bool, err error) {
	if wait {
		m, err = c.expect(kindChunk)
		return m, true, err
	}
	return c.poll(kindChunk)
}

// checkChunk checks that the chunk or grant m is the next one, with this index. since is the oldest
// outstanding index, and rest is the number of bytes left.
func checkChunk(m message, index, since uint64, rest int64) error {
	n := int64(m.handle.Len)
	if m.number != index || index-since >= window || n == 0 || n > maxChunk || n > rest {
		return protocolError("%v %d of %d bytes; %d is next, %d are under way, %d bytes are to come",
			m.kind, m.number, n, index, index-since, rest)
	}
	return nil
}

// resumable adds to an error during a copy that the received bytes are kept.
func resumable(err error, p *part) error {
	if (errors.Is(err, ErrLost) || isDiskFull(err)) && p.off > 0 && p.attr.size() > resumeMin {
		return fmt.Errorf("%w; the same command continues after the %d bytes received", err, p.off)
	}
	return err
}
