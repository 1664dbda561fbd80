package filecopy

import (
	"bytes"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A copy that is under way when the server must end comes to its end within the grace period.
func TestGrace(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v := serve(t, &ServerConfig{Writable: true, chunk: testChunk, Grace: prototest.Patience(t)})
			from, to, src, dst := side(v, way.up, t.TempDir())
			want := content(3<<20, 7)
			put(t, filepath.Join(from, "f"), want)
			interrupted := false
			o := cp(t, Config{Progress: func(p Progress) {
				if !interrupted && p.Octets > 1<<20 {
					interrupted = true
					v.interrupt()
					awaitRefusal(t, v)
				}
			}}, dst, src)
			if o.err != nil || o.Files != 1 || !interrupted {
				t.Errorf("%+v, interrupted %t", o, interrupted)
			}
			wantFile(t, filepath.Join(to, "f"), want)
			v.stop()
		})
	}
}

// awaitRefusal waits until a server no longer listens.
func awaitRefusal(t *testing.T, v *serving) {
	t.Helper()
	prototest.Wait(t, "the server does not listen any more", func() bool {
		c, err := net.Dial("tcp", v.addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
}

// A copy that is still under way at the end of the grace period fails, and the log names the
// client.
func TestGraceIsOver(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			var log bytes.Buffer // nothing is written to it after stop
			v := serve(t, &ServerConfig{
				Writable: true, chunk: testChunk, Grace: 10 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil)),
			})
			from, _, src, dst := side(v, way.up, t.TempDir())
			put(t, filepath.Join(from, "f"), content(3<<20, 7))
			o := cp(t, Config{Progress: func(p Progress) {
				if p.Octets > 1<<20 {
					v.stop()
				}
			}}, dst, src)
			o.wantFailure(t, ErrLost, "the same command continues")
			if !strings.Contains(log.String(), "msg=\"connection ended\" client=127.0.0.1:") || !strings.Contains(log.String(), "err=\"the server ends\"") {
				t.Errorf("the log has\n%s", &log)
			}
		})
	}
}
