package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/accept"
)

// A serverConn is the server's end of a connection. It answers one request at a time.
type serverConn struct {
	*Server
	*session
	ctx   context.Context //nolint:containedctx // of the connection
	log   *slog.Logger
	place *accept.Place
	slots [window]slot
	pace  pace
	names names

	counted bool // the failure that ends the connection is counted

	list     *os.File // the directory that the next kindNext request continues; may be nil
	listPath string
}

func (c *serverConn) close() {
	c.endList()
	c.session.close()
	for i := range c.slots {
		c.slots[i].takeBack()
	}
	c.names.flush()
}

// serve answers requests until the connection ends, and returns the reason.
func (c *serverConn) serve() error {
	for {
		m, err := c.receive()
		if err != nil {
			return err
		}
		if err := c.answer(m); err != nil {
			return err
		}
	}
}

// A refusal is an error that is sent as the answer to a request. The connection then remains
// usable.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// answer answers one request. If it returns an error, the connection ends. Unless the connection
// itself has failed, answer sends the error to the client.
func (c *serverConn) answer(m message) error {
	if m.kind != kindNext {
		c.endList()
	}
	err := c.dispatch(m)
	if err == nil || isOver(err) && !errors.Is(err, ErrProtocol) {
		return err
	}
	c.cfg.Counts.fail(c.ctx, err)
	c.log.Debug("request failed", "request", m.kind.String(), "path", printable(m.text), "err", err)
	if sendErr := c.send(errorMessage(err)); sendErr != nil {
		return sendErr
	}
	if r := (refusal{}); errors.As(err, &r) {
		return nil
	}
	c.counted = true
	c.awaitEnd()
	return err
}

// awaitEnd waits until the client closes the connection, after an error during a copy. Until then,
// the memory to which the client may be writing stays registered. Otherwise the stream would end
// before the client has read the reason.
func (c *serverConn) awaitEnd() {
	for {
		if _, err := c.receive(); err != nil {
			return
		}
	}
}

func (c *serverConn) dispatch(m message) error {
	if !c.place.Heard() {
		return refusal{ErrTooManyClients}
	}
	switch m.kind {
	case kindStat, kindList, kindMkdir, kindSetAttr, kindGet, kindPut:
		if err := checkPath(m.text); err != nil {
			return refusal{err}
		}
	}
	switch m.kind {
	case kindMkdir, kindSetAttr, kindPut:
		if !c.cfg.Writable {
			return refusal{ErrReadOnly}
		}
	}
	switch m.kind {
	case kindStat:
		return c.stat(m.text)
	case kindList:
		return c.startList(m.text)
	case kindNext:
		return c.sendEntries()
	case kindMkdir:
		return c.mkdir(m.text)
	case kindSetAttr:
		return c.setAttr(m.text, m.attr)
	case kindGet:
		return c.get(m)
	case kindPut:
		return c.put(m)
	}
	return protocolError("%v instead of a request", m.kind)
}

func (c *serverConn) stat(name string) error {
	info, err := c.root.Stat(name)
	if err != nil {
		return refusal{err}
	}
	return c.send(message{kind: kindAttr, attr: attrOf(info)})
}

func (c *serverConn) startList(name string) error {
	info, err := c.root.Stat(name)
	if err != nil {
		return refusal{err}
	}
	if !info.IsDir() {
		return refusal{fmt.Errorf("%s: %w", printable(name), ErrNotDirectory)}
	}
	if c.list, err = openAny(c.root, name); err != nil {
		return refusal{err}
	}
	c.listPath = name
	return c.sendEntries()
}

// entriesAtOnce is the number of entries that fit into one message, with names of any length.
const entriesAtOnce = (maxMessage - 2) / (attrLen + 1 + maxName)

// sendEntries sends the next entries of the current directory.
func (c *serverConn) sendEntries() error {
	if c.list == nil {
		return protocolError("next without list")
	}
	answer := message{kind: kindEntries, flag: true}
	for answer.flag && len(answer.entries) == 0 { // entries may have skipped all names
		names, err := c.list.Readdirnames(entriesAtOnce)
		if err != nil && !errors.Is(err, io.EOF) {
			c.endList()
			return refusal{err}
		}
		answer.flag = err == nil
		if answer.entries, err = c.entries(names); err != nil {
			return err
		}
	}
	if !answer.flag {
		c.endList()
	}
	return c.send(answer)
}

// entries returns the entries for the names in the current directory, without
// names that the protocol does not allow. It fails if the connection has ended.
func (c *serverConn) entries(names []string) (entries []entry, err error) {
	select {
	case <-c.over:
		return nil, c.lost(net.ErrClosed)
	default:
	}
	for _, name := range names {
		if !isElement(name) {
			continue
		}
		// Use root, because the directory could have been moved or replaced since it was opened.
		info, err := c.root.Lstat(path.Join(c.listPath, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the file has just been removed
		}
		e := entry{name: name, attr: attr{Type: typeOther}}
		if err == nil {
			e.attr = attrOf(info)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (c *serverConn) endList() {
	if c.list != nil {
		c.list.Close()
		c.list = nil
	}
}

func (c *serverConn) mkdir(name string) error {
	unfinished, err := makeDir(c.root, name, &c.names)
	if err != nil {
		return refusal{err}
	}
	return c.send(message{kind: kindMade, flag: unfinished})
}

func (c *serverConn) setAttr(name string, a attr) error {
	if name == "." {
		return refusal{fmt.Errorf("%w: the directory served keeps its attributes", ErrPath)}
	}
	if err := finishDir(c.root, name, a); err != nil {
		return refusal{err}
	}
	return c.send(message{kind: kindMade})
}

// get answers a get: the client downloads a file.
func (c *serverConn) get(m message) error {
	src, err := openSource(c.root, m.text)
	if err != nil {
		return refusal{err}
	}
	defer src.close()
	if m.number > 0 && m.attr.sameContent(src.attr) && m.number <= src.attr.Size {
		got, err := src.skip(int64(m.number), c.over)
		if err != nil {
			return refusal{err}
		}
		if got != m.sum {
			if err := src.rewind(); err != nil {
				return refusal{err}
			}
		}
	}
	from := src.off
	if err := c.send(message{kind: kindFile, attr: src.attr, number: uint64(from)}); err != nil {
		return err
	}
	if err := c.sendChunks(src); err != nil {
		return err
	}
	c.cfg.Counts.Sent.Files.Add(1)
	c.log.Debug("sent", "path", printable(m.text), "size", src.attr.Size, "from", from)
	return nil
}

// sendChunks announces the rest of the file chunk by chunk, then its sum, and waits until the
// client has read everything.
func (c *serverConn) sendChunks(src *source) error {
	var announced, released uint64
	for src.rest() > 0 {
		if announced-released == window {
			if err := c.awaitRelease(released); err != nil {
				return err
			}
			released++
		}
		s := &c.slots[announced%window]
		n := c.pace.next(src.rest())
		if err := src.read(s.memory(n)); err != nil {
			return err
		}
		h, err := s.lend(c.c, ddp.RemoteRead)
		if err != nil {
			return err
		}
		if err := c.send(message{kind: kindChunk, number: announced, handle: h}); err != nil {
			return err
		}
		announced++
	}
	whole, err := src.end()
	if err != nil {
		return err
	}
	if err := c.send(message{kind: kindEnd, sum: whole}); err != nil {
		return err
	}
	for ; released < announced; released++ {
		if err := c.awaitRelease(released); err != nil {
			return err
		}
	}
	return nil
}

func (c *serverConn) awaitRelease(index uint64) error {
	m, err := c.expect(kindRelease)
	if err != nil {
		return err
	}
	if m.number != index {
		return protocolError("release of chunk %d instead of %d", m.number, index)
	}
	c.cfg.Counts.Sent.Octets.Add(uint64(len(c.settle(&c.slots[index%window]))))
	return nil
}

// settle takes back a slot whose chunk has been transferred, and returns its data.
func (c *serverConn) settle(s *slot) []byte {
	c.pace.took(len(s.buf), time.Since(s.since))
	return s.takeBack()
}

// put answers a put: the client uploads a file.
func (c *serverConn) put(m message) error {
	if err := checkRegular(m.attr); err != nil || m.text == "." {
		return protocolError("put of what is no file")
	}
	p, err := c.openPart(m)
	if err != nil {
		return refusal{err}
	}
	defer p.close()
	here, err := p.prefix(c.over)
	if err != nil {
		return refusal{err}
	}
	begin, err := c.ask(message{kind: kindReady, number: uint64(p.off), sum: here}, kindBegin)
	if err != nil {
		return err
	}
	if begin.number != 0 && begin.number != uint64(p.off) {
		return protocolError("begin at %d, %d or 0 were offered", begin.number, p.off)
	}
	if err := p.begin(int64(begin.number)); err != nil {
		return err
	}
	if err := c.takeChunks(p); err != nil {
		return err
	}
	end, err := c.expect(kindEnd)
	if err != nil {
		return err
	}
	if err := p.finish(end.sum); err != nil {
		return err
	}
	c.cfg.Counts.Received.Files.Add(1)
	c.log.Debug("received", "path", printable(m.text), "size", m.attr.Size, "from", begin.number)
	return c.send(message{kind: kindDone, sum: end.sum})
}

// The connection of a client that was just interrupted may still be storing data. When the same
// command is repeated, the server waits for that connection for at most busyPauses times busyPause.
const (
	busyPause  = 100 * time.Millisecond
	busyPauses = 20
)

// openPart opens the part of a put. If another connection has locked the part, openPart retries for
// a while.
func (c *serverConn) openPart(m message) (*part, error) {
	for n := 0; ; n++ {
		p, err := openPart(c.root, m.text, m.attr, disk{&c.names, c.cfg.limit})
		if !errors.Is(err, ErrBusy) || n == busyPauses {
			return p, err
		}
		if n == 0 {
			c.log.Debug("waiting for another copy to end", "path", printable(m.text))
		}
		select {
		case <-time.After(busyPause):
		case <-c.over:
			return nil, err
		}
	}
}

// takeChunks grants memory for the rest of the file chunk by chunk, and stores the data that the
// client writes to it.
func (c *serverConn) takeChunks(p *part) error {
	var granted, written uint64
	for ungranted := p.rest(); p.rest() > 0; {
		for ungranted > 0 && granted-written < window {
			n := c.pace.next(ungranted)
			s := &c.slots[granted%window]
			s.memory(n)
			h, err := s.lend(c.c, ddp.RemoteWrite)
			if err != nil {
				return err
			}
			if err := c.send(message{kind: kindGrant, number: granted, handle: h}); err != nil {
				return err
			}
			granted++
			ungranted -= int64(n)
		}
		m, err := c.expect(kindWritten)
		if err != nil {
			return err
		}
		if m.number != written {
			return protocolError("chunk %d written instead of %d", m.number, written)
		}
		n, err := p.Write(c.settle(&c.slots[written%window]))
		c.cfg.Counts.Received.Octets.Add(uint64(n))
		if err != nil {
			return err
		}
		written++
	}
	return nil
}
