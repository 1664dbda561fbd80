//go:build amd64 || arm64

package softrnic

import (
	"context"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/retry"
)

// levels counts log records by their levels.
type levels struct {
	slog.Handler
	mu sync.Mutex
	n  map[slog.Level]int // +checklocks:mu
}

func newLevels() *levels { return &levels{Handler: slog.DiscardHandler, n: make(map[slog.Level]int)} }

func (l *levels) Enabled(context.Context, slog.Level) bool { return true }

func (l *levels) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n[r.Level]++
	return nil
}

func (l *levels) of(v slog.Level) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n[v]
}

// TestJoinAgain: a queue pair whose peer is not there tries ever more rarely, and so does one that
// cannot be joined with itself, which warns once.
func TestJoinAgain(t *testing.T) {
	p := newProgram(t, newDevice(t))
	q := p.dev.find(p.qp(nil).Num)
	const hour = int(time.Hour / retry.Most)
	for _, tt := range []struct {
		desc     string
		join     func(ctx context.Context)
		warnings int
	}{
		{"a peer that is not there", func(ctx context.Context) {
			h := hello{kind: joining, from: q.num, to: nobody(t), gid: uverbs.GID(localhost.As16())}
			q.dial(ctx, h, h.gid, q.life.number) // +checklocksignore: nobody else has q
		}, 0},
		{"itself without descriptors", func(ctx context.Context) {
			withoutDescriptors(t)
			q.joinSelf(ctx, q.life.number) // +checklocksignore: nobody else has q
		}, 1},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			log := newLevels()
			q.ctx.dev.log = slog.New(log)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				tt.join(ctx)
			})
			if warnings, n := log.of(slog.LevelWarn), log.of(slog.LevelWarn)+log.of(slog.LevelDebug); warnings != tt.warnings || n < hour || n > hour+10 {
				t.Errorf("%d attempts in an hour, want about %d; %d warnings, want %d", n, hour, warnings, tt.warnings)
			}
		})
	}
}

// nobody returns a QPN whose port is bound but has no listener.
func nobody(t *testing.T) uint32 {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: localhost.As4()}); err != nil {
		t.Fatal(err)
	}
	a, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(a.(*syscall.SockaddrInet4).Port) << 8
}

// withoutDescriptors prevents the process from opening further descriptors until the test ends.
func withoutDescriptors(t *testing.T) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	})
}
