package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/mpa"
)

// A Config configures Copy. The zero value works, and nil means the zero value.
type Config struct {
	// Recursive copies directories and everything in them.
	Recursive bool
	// IdleTimeout is the maximum time that the server may be silent. A busy server reports four
	// times in that time that it is alive, but at most every 100 ms. Zero means DefaultIdleTimeout.
	IdleTimeout time.Duration
	// Socket configures the connections. Copy overrides its settings for messages and startup data.
	Socket extsock.Config
	// Temporary means that the local files are deleted after the Copy. No later Copy can continue
	// it, so no error says that it can.
	Temporary bool
	// Progress, if not nil, is called after each chunk and each file, by the goroutine of Copy.
	Progress func(Progress)
	// Failed, if not nil, is called for each file or directory that could not be copied.
	Failed func(name string, err error)
	// Plan, if not nil, is called for each file that would be copied, with the names at both ends
	// and the size. Nothing is then copied or created.
	Plan func(from, to string, size int64)
	// Skipped, if not nil, is called for each skipped name below a directory: with ErrNotRegular
	// for a file that is neither regular nor a directory, and with ErrUnfinished for the name of a
	// part or a note.
	Skipped func(name string, why error)

	limit func(io.Writer) io.Writer // wraps writes to the disk, in tests; may be nil
}

// A Progress is the progress of a Copy. The totals do not change. After a failure, Octets stays
// below its total.
type Progress struct {
	Name                string // the file being copied
	Files, TotalFiles   int
	Octets, TotalOctets int64 // including bytes that were already there
}

// A Summary counts what a Copy has done.
type Summary struct {
	Files   int   // copied or already there
	Failed  int   // files and directories passed to Failed
	Skipped int   // names passed to Skipped
	Octets  int64 // moved by RDMA, including those of failed copies
	Resumed int64 // not moved, because they were already there
}

// Copy copies the sources to dst. First it makes a plan of all files and directories. If two
// sources would become one file, nothing is copied and the error is ErrNames. Either all sources
// are remote and dst is local, or the reverse; sources may be on several servers. Directories need
// Config.Recursive. If dst is a directory, the sources keep their last names in it. If there are
// several sources, dst must be a directory. If a source has no last name, such as "." or the whole
// tree of a server, its contents are copied.
//
// A failed file does not keep the others from being copied: its error is passed to Config.Failed,
// and Copy returns ErrFailed. If ctx ends the copy, Copy returns the error of ctx; if the names are
// wrong, it returns ErrNames. After a failure that may not happen again, the part of a local file
// is kept.
func Copy(ctx context.Context, sources []Name, dst Name, cfg *Config) (Summary, error) {
	c := &copier{ctx: ctx, lacking: make(map[string]bool)}
	if cfg != nil {
		c.cfg = *cfg
	}
	if c.cfg.IdleTimeout <= 0 {
		c.cfg.IdleTimeout = DefaultIdleTimeout
	}
	if len(sources) == 0 {
		return Summary{}, fmt.Errorf("%w: no source", ErrNames)
	}
	for _, src := range sources {
		switch {
		case src.IsRemote() && dst.IsRemote():
			return Summary{}, fmt.Errorf("%w: %v and %v are both remote", ErrNames, src, dst)
		case !src.IsRemote() && !dst.IsRemote():
			return Summary{}, fmt.Errorf("%w: neither %v nor %v is remote (%sHOST[:PORT]/PATH)", ErrNames, src, dst, scheme)
		}
	}
	defer c.hangUp()
	var err error
	if dst.IsRemote() {
		err = c.upload(sources, dst)
	} else {
		err = c.download(sources, dst)
	}
	if ctx.Err() != nil {
		return c.summary, ctx.Err()
	}
	if err != nil {
		return c.summary, plain(err)
	}
	if c.summary.Failed > 0 {
		err = fmt.Errorf("%w: %d failed", ErrFailed, c.summary.Failed)
	}
	return c.summary, err
}

// A copier is a running Copy.
type copier struct {
	cfg      Config
	ctx      context.Context //nolint:containedctx // lives as long as the call of Copy
	summary  Summary
	progress Progress
	names    names // of a download
	targets  targets
	made     []job           // unfinished directories at the destination; they get their attributes last
	lacking  map[string]bool // directories at the destination in which something is missing
	entries  int             // entries of directories that servers have reported
	planned  int             // bytes of the paths of entries

	*session        // with the server at address; nil if there is none
	address  string // the server's
	copying  bool   // the session is in the middle of a file, so no other request can follow
	buffers  [window][]byte
}

// dial ensures that there is a session with the server.
func (c *copier) dial(address string) error {
	if c.session != nil && c.address == address {
		select {
		case <-c.over:
		default:
			return nil
		}
	}
	c.hangUp()
	if err := c.ctx.Err(); err != nil {
		return err
	}
	conf := socket(c.cfg.Socket, c.cfg.IdleTimeout)
	conn, err := (&extsock.Dialer{Config: &conf}).DialDDP(c.ctx, "tcp", address)
	if err != nil {
		return dialError(address, err)
	}
	peerIdle, ok := parseGreeting(conn.ConnectionState().PeerPrivateData)
	if !ok {
		conn.Close()
		return fmt.Errorf("%s: %w", address, ErrNotServer)
	}
	c.session, c.address = newSession(c.ctx, conn, c.cfg.IdleTimeout, peerIdle), address
	return nil
}

// dialError describes a failed dial for users of Copy.
func dialError(address string, err error) error {
	var rejected *mpa.RejectError
	hint := ""
	switch {
	case tlshandshake.Words(err) != "": // the error says enough
	case errors.As(err, &rejected):
		return fmt.Errorf("%s: %w", address, ErrNotServer)
	case errors.Is(err, extsock.ErrNotMPA):
		hint = ": is it another kind of server?"
	case errors.Is(err, extsock.ErrNoReply), errtext.IsReset(err):
		hint = ": is it another kind of server, or has it too many clients?"
	case isErrno(err, syscall.ECONNREFUSED, wsaRefused):
		hint = ": is `rddp serve` running there, at this port?"
	}
	return fmt.Errorf("%s: %w%s", address, errtext.Brief(err), hint)
}

// hangUp ends the session, if there is one.
func (c *copier) hangUp() {
	if c.session == nil {
		return
	}
	c.close()
	c.session, c.copying = nil, false
}

// after handles the error of a request. It ends the session if no other request can follow.
func (c *copier) after(err error) error {
	if err != nil && (c.copying || isOver(err)) {
		c.hangUp()
	}
	c.copying = false
	return err
}

// fail counts and reports one failure, unless it ends the whole Copy.
func (c *copier) fail(name string, err error) {
	if c.ctx.Err() != nil {
		return
	}
	c.summary.Failed++
	if c.cfg.Failed != nil {
		c.cfg.Failed(printable(name), plain(err))
	}
}

func (c *copier) skip(name string, why error) {
	c.summary.Skipped++
	if c.cfg.Skipped != nil {
		c.cfg.Skipped(printable(name), why)
	}
}

// report adds n octets to the progress.
func (c *copier) report(n int64) {
	c.progress.Octets += n
	if c.cfg.Progress != nil {
		c.cfg.Progress(c.progress)
	}
}

// buffer returns n bytes of memory for the chunk with this index.
func (c *copier) buffer(index uint64, n int) []byte {
	b := &c.buffers[index%window]
	*b = resized(*b, n)
	return *b
}

// A job is one file or directory of a plan.
type job struct {
	from, to string   // its names at the two ends
	shown    string   // the name of the source for the user
	target   string   // the name of the destination for the user
	twin     string   // the destination of another job that differs only in case, or ""
	attr     attr     // the attributes of the source
	root     *os.Root // the directory that contains from, in an upload of a directory
	of       *plan
}

func (j *job) isDir() bool { return j.attr.Type == typeDir }

// A plan lists what to copy from or to one server.
type plan struct {
	address string
	jobs    []job      // each directory comes before its contents
	roots   []*os.Root // of the uploaded directories
	lost    int        // consecutive requests that have failed with their connection
}

// add adds a job to the plan.
func (p *plan) add(j job) {
	j.of = p
	p.jobs = append(p.jobs, j)
}

// steps are the operations of a plan's jobs, for one direction.
type steps struct {
	file   func(job) error
	mkdir  func(job) (unfinished bool, err error) // see makeDir
	finish func(job) error                        // see finishDir
	stat   func(name string) error                // nil if the destination has the name
	list   func(dir string) ([]string, error)     // the names in a directory of the destination
}

// maxLost is the number of consecutive requests that fail with their connection before the client
// gives up the server. So a server can't make the client wait for a timeout at each of a million
// files.
const maxLost = 5

// run executes the plans, job by job.
func (c *copier) run(plans []*plan, s steps) {
	c.announce(plans)
	for _, p := range plans {
		for _, j := range p.jobs {
			if c.ctx.Err() != nil {
				return
			}
			switch {
			case j.isDir() && c.cfg.Plan == nil:
				c.runDir(j, s)
			case !j.isDir():
				c.runFile(j, s)
			}
		}
	}
	for _, j := range slices.Backward(c.made) { // the innermost first, because a change below a directory would change its time
		if c.ctx.Err() != nil {
			return
		}
		if c.lacking[j.to] {
			continue // the next run of the same command finds it unfinished
		}
		if err := s.finish(j); err != nil {
			c.lack(j, err)
		}
	}
}

// lack reports the failure of a job, and marks the directories above it as incomplete.
func (c *copier) lack(j job, err error) {
	for dir := path.Dir(j.to); !c.lacking[dir]; dir = path.Dir(dir) {
		c.lacking[dir] = true
	}
	c.fail(j.shown, err)
}

// isAbsent reports whether the directory of the target could not be made. That failure has already
// been reported.
func (c *copier) isAbsent(j job) bool { return c.targets.absent[path.Dir(j.to)] }

// runDir makes a directory.
func (c *copier) runDir(j job, s steps) {
	if c.isAbsent(j) {
		c.targets.absent[j.to] = true
		return
	}
	unfinished, err := false, c.targets.checkTwin(j, s)
	if err == nil {
		unfinished, err = s.mkdir(j)
	}
	if err != nil {
		c.targets.absent[j.to] = true
		c.lack(j, err)
	}
	if unfinished {
		c.made = append(c.made, j)
	}
}

// runFile copies a file.
func (c *copier) runFile(j job, s steps) {
	if c.cfg.Plan != nil {
		c.cfg.Plan(printable(j.shown), printable(j.target), j.attr.size())
		return
	}
	c.progress.Name = printable(j.shown)
	before := c.progress.Octets
	isAbsent, err := c.isAbsent(j), error(nil)
	if !isAbsent {
		err = c.targets.checkTwin(j, s)
	}
	if err == nil && !isAbsent {
		err = c.try(j.of, func() error { return s.file(j) })
	}
	c.progress.Files++
	switch {
	case err != nil:
		c.lack(j, err)
		c.report(0)
	case isAbsent:
		c.report(0)
	default:
		c.summary.Files++
		c.report(j.attr.size() - (c.progress.Octets - before)) // not 0 if the file has changed since the plan
	}
}

// try makes a request on a connection with the plan's server, unless the server has been given up.
func (c *copier) try(p *plan, request func() error) error {
	if p.lost >= maxLost {
		return ErrGivenUp
	}
	err := c.dial(p.address)
	broken := err != nil
	if err == nil {
		err = c.after(request())
		broken = isOver(err)
	}
	if broken {
		p.lost++
	} else {
		p.lost = 0
	}
	return err
}

// announce sets the totals of Progress.
func (c *copier) announce(plans []*plan) {
	for _, p := range plans {
		for _, j := range p.jobs {
			if !j.isDir() {
				c.progress.TotalFiles++
				c.progress.TotalOctets += j.attr.size()
			}
		}
	}
}

// isLocalDir reports whether name is a local directory.
func isLocalDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
