package filecopy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/rddp/rddp/rdmap"
)

// upload copies local sources to the remote dst.
func (c *copier) upload(sources []Name, dst Name) error {
	p := &plan{address: dst.Address}
	defer func() {
		for _, root := range p.roots {
			root.Close()
		}
	}()
	if err := c.dial(dst.Address); err != nil {
		return err
	}
	m, err := c.ask(message{kind: kindStat, text: dst.Path}, kindAttr)
	err = c.after(err)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%v: %w", dst, err)
	}
	isDir := err == nil && m.attr.Type == typeDir
	if len(sources) > 1 && !isDir {
		return fmt.Errorf("%w: several sources, and %v %w", ErrNames, dst, ErrNotDirectory)
	}
	for _, src := range sources {
		to := dst.Path
		if isDir {
			to = path.Join(dst.Path, src.base())
		}
		if err := c.planUpload(p, src, to, dst.Directory && !isDir); err != nil {
			c.lack(job{to: to, shown: src.String()}, err)
		}
	}
	for i, j := range p.jobs {
		p.jobs[i].target = Name{Address: p.address, Path: j.to}.String()
	}
	plans := []*plan{p}
	if err := c.targets.check(plans); err != nil {
		return err
	}
	ask := func(m message, want kind) (answer message, err error) {
		err = c.try(p, func() error {
			answer, err = c.ask(m, want)
			return err
		})
		return answer, err
	}
	c.run(plans, steps{
		file: c.uploadFile,
		mkdir: func(j job) (bool, error) {
			m, err := ask(message{kind: kindMkdir, text: j.to}, kindMade)
			if isDir && j.to == dst.Path && errors.Is(err, ErrNotDirectory) {
				return false, nil // the user has named a link to a directory
			}
			return m.flag, err
		},
		finish: func(j job) error {
			_, err := ask(message{kind: kindSetAttr, attr: j.attr, text: j.to}, kindMade)
			return err
		},
		stat: func(name string) error {
			_, err := ask(message{kind: kindStat, text: name}, kindAttr)
			return err
		},
		list: func(dir string) (names []string, err error) {
			entries, err := c.listRemote(p.address, dir)
			for _, e := range entries {
				names = append(names, e.name)
			}
			return names, err
		},
	})
	return nil
}

// planUpload adds src to the plan. dirOnly says that to can't be the name of a file.
func (c *copier) planUpload(p *plan, src Name, to string, dirOnly bool) error {
	info, err := os.Stat(src.Path)
	if err != nil {
		return err
	}
	a := attrOf(info)
	switch {
	case a.Type == typeDir && !c.cfg.Recursive:
		return fmt.Errorf("%w (-r copies directories)", ErrIsDirectory)
	case a.Type == typeDir:
		root, err := os.OpenRoot(src.Path)
		if err != nil {
			return err
		}
		p.roots = append(p.roots, root)
		return c.planUploadDir(p, job{from: ".", to: to, shown: src.Path, attr: a, root: root})
	case a.Type == typeOther:
		return ErrNotRegular
	case dirOnly:
		return fmt.Errorf("%s: %w", to, ErrNotDirectory)
	}
	if err := checkPath(to); err != nil {
		return err
	}
	p.add(job{from: src.Path, to: to, shown: src.Path, attr: a})
	return nil
}

// planUploadDir adds a directory and its contents to the plan. It returns an error only if all of
// it fails; it reports other failures individually.
func (c *copier) planUploadDir(p *plan, d job) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if err := checkPath(d.to); err != nil {
		return err
	}
	names, err := readNames(d.root, d.from)
	if err != nil {
		return err
	}
	if d.to != "." {
		p.add(d)
	}
	for _, name := range names {
		j := job{from: filepath.Join(d.from, name), to: path.Join(d.to, name), shown: filepath.Join(d.shown, name), root: d.root}
		if isPartName(name) {
			c.skip(j.shown, ErrUnfinished)
			continue
		}
		info, err := j.root.Lstat(j.from)
		if err == nil {
			err = checkPath(j.to)
		}
		if err == nil {
			j.attr = attrOf(info)
			switch j.attr.Type {
			case typeDir:
				err = c.planUploadDir(p, j)
			case typeFile:
				p.add(j)
			default:
				c.skip(j.shown, ErrNotRegular)
			}
		}
		if err != nil {
			c.lack(j, err)
		}
	}
	return nil
}

// readNames returns the names in a directory below root, sorted.
func readNames(root *os.Root, dir string) ([]string, error) {
	d, err := openAny(root, dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// uploadFile copies one file.
func (c *copier) uploadFile(j job) error {
	open := openLocalSource
	if j.root != nil {
		open = func(name string) (*source, error) { return openSource(j.root, name) }
	}
	src, err := open(j.from)
	if err != nil {
		return err
	}
	defer src.close()
	m, err := c.ask(message{kind: kindPut, attr: src.attr, text: j.to}, kindReady)
	if err != nil {
		return err
	}
	c.copying = true
	if m.number > src.attr.Size {
		return protocolError("%d bytes are there of a file of %d", m.number, src.attr.Size)
	}
	got, err := src.skip(int64(m.number), c.over)
	if err != nil {
		return err
	}
	if got != m.sum {
		if err := src.rewind(); err != nil {
			return err
		}
	}
	if err := c.send(message{kind: kindBegin, number: uint64(src.off)}); err != nil {
		return err
	}
	c.summary.Resumed += src.off
	c.report(src.off)
	if err := c.push(src); err != nil {
		if (errors.Is(err, ErrLost) || errors.Is(err, syscall.ENOSPC)) && src.attr.size() > resumeMin && !c.cfg.Temporary {
			err = fmt.Errorf("%w; the same command continues the copy", err)
		}
		return err
	}
	c.copying = false
	return nil
}

// push writes the rest of the file chunk by chunk. Up to window Writes are outstanding while push
// reads the next chunk from disk.
func (c *copier) push(src *source) error {
	var posted, gone uint64
	for src.rest() > 0 {
		m, err := c.expect(kindGrant)
		if err != nil {
			return err
		}
		if posted-gone == window { // its buffer is needed now
			if err := c.moved(); err != nil {
				return err
			}
			gone++
		}
		if err := checkChunk(m, posted, gone, src.rest()); err != nil {
			return err
		}
		b := c.buffer(posted, int(m.handle.Len))
		if err := src.read(b); err != nil {
			return err
		}
		if err := c.move(rdmap.WorkWrite, m.handle, b); err != nil {
			return err
		}
		if err := c.send(message{kind: kindWritten, number: posted}); err != nil {
			return err
		}
		posted++
		c.summary.Octets += int64(len(b))
		c.report(int64(len(b)))
	}
	whole, err := src.end()
	if err != nil {
		return err
	}
	if err := c.send(message{kind: kindEnd, sum: whole}); err != nil {
		return err
	}
	for ; gone < posted; gone++ {
		if err := c.moved(); err != nil {
			return err
		}
	}
	m, err := c.expect(kindDone)
	if err == nil && m.sum != whole {
		err = protocolError("done with another sum")
	}
	return err
}
