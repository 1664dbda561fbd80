package spec

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/toe/simtoe"
)

// overrun echoes Sends, and answers Reads of a region whose contents it keeps, until limit messages
// of the queue qn have arrived. Then it calls over with each further segment. over reports whether
// the peer continues.
func overrun(qn uint32, limit int, over func(f *fakeConn, g segment) bool) fake {
	return func(f *fakeConn) {
		if !f.startup(lends) {
			return
		}
		memory := make([]byte, MinRegion)
		for count := 0; ; {
			g, ok := f.next()
			if !ok {
				return
			}
			if g.tagged() {
				copy(memory, g.payload)
				continue
			}
			if g.qn == qn {
				count++
			}
			switch {
			case g.qn == qn && count > limit:
				if !over(f, g) {
					return
				}
			case g.qn == qnRead:
				f.put(tagged(opReadResponse, be32(g.payload), be64(g.payload[4:]), memory[:be32(g.payload[12:])]))
			default:
				f.send(opSend, g.payload)
			}
		}
	}
}

// terminating ends the stream with a code.
func terminating(c code) func(*fakeConn, segment) bool {
	return func(f *fakeConn, _ segment) bool {
		f.put(untagged(opTerminate, qnTerminate, 1, []byte{c.layer<<4 | c.etype, c.code, 0, 0}))
		return false
	}
}

// dropping drops the message and continues.
func dropping(*fakeConn, segment) bool { return true }

// leaving ends the stream without a Terminate.
func leaving(*fakeConn, segment) bool { return false }

// staying sends nothing more.
func staying(f *fakeConn, _ segment) bool {
	<-f.over
	return false
}

// TestOverrun shows what a peer may and may not do with more messages than it has room for.
func TestOverrun(t *testing.T) {
	for _, tt := range []struct {
		desc string
		over func(*fakeConn, segment) bool
		want Status
		got  string // a part of
	}{
		{"no buffer", terminating(ddpNoBuffer), StatusPass, ""},
		{"out of range", terminating(ddpMSNRange), StatusPass, ""},
		{"another code", terminating(ddpInvalidMO), StatusFail, "invalid MO"},
		{"nothing, and the end", leaving, StatusFail, "nothing, then FIN"},
		{"nothing at all", staying, StatusFail, "nothing within"},
	} {
		for _, q := range []struct {
			id string
			qn uint32
		}{{"5041/7.1/no-buffer", qnSend}, {"5040/6.1/reads-beyond-ird", qnRead}} {
			r := against(t, Responder, overrun(q.qn, 20, tt.over), q.id)[q.id]
			if r.Status != tt.want || !strings.Contains(r.Got, tt.got) {
				t.Errorf("%s, %s: %s, came %q; want %s", q.id, tt.desc, r.Status, r.Got, tt.want)
			}
		}
	}
	for _, tt := range []struct {
		desc, id string
		peer     fake
		want     Status
		got      string
	}{
		{"a catastrophe", "5040/6.1/reads-beyond-ird", overrun(qnRead, 20, terminating(rdmapCatastrophic)), StatusPass, ""},
		{"a catastrophe", "5041/7.1/no-buffer", overrun(qnSend, 20, terminating(rdmapCatastrophic)), StatusFail, "atastrophic"},
		{"room for all", "5040/6.1/reads-beyond-ird", overrun(qnRead, 1000, nil), StatusPass, ""},
		{"room for all", "5041/7.1/no-buffer", overrun(qnSend, 1000, nil), StatusPass, ""},
		// Then the last ones are not answered.
		{"lost", "5040/6.1/reads-beyond-ird", overrun(qnRead, 20, dropping), StatusFail, "nothing within"},
		{"lost", "5041/7.1/no-buffer", overrun(qnSend, 20, dropping), StatusFail, "nothing within"},
		{"another one's answer", "5041/7.1/no-buffer", overrun(qnSend, 20, func(f *fakeConn, _ segment) bool {
			f.send(opSend, []byte("message 1 of more than there are buffers"))
			return true
		}), StatusFail, "as number 20 Send"},
		{"another one's sink", "5040/6.1/reads-beyond-ird", overrun(qnRead, 20, func(f *fakeConn, g segment) bool {
			f.put(tagged(opReadResponse, 1, 0, make([]byte, be32(g.payload[12:]))))
			return true
		}), StatusFail, "as number 21 RDMA Read Response"},
	} {
		if r := against(t, Responder, tt.peer, tt.id)[tt.id]; r.Status != tt.want || !strings.Contains(r.Got, tt.got) {
			t.Errorf("%s, %s: %s, came %q; want %s", tt.id, tt.desc, r.Status, r.Got, tt.want)
		}
	}
}

// An eager connection restarts its time-out with each octet.
type eager struct {
	net.Conn
	limit time.Duration
}

func (e eager) Read(p []byte) (int, error) {
	_ = e.SetReadDeadline(time.Now().Add(e.limit))
	return e.Conn.Read(p[:min(1, len(p))])
}

// leavesStartup is a peer that echoes, and ends a startup after limit, counted from the beginning
// or from the last octet. Its record states the time stated, which may differ.
func leavesStartup(stated, limit time.Duration, each bool) fake {
	return func(f *fakeConn) {
		record := lends
		record.Startup = stated
		read := f.Conn
		_ = read.SetReadDeadline(time.Now().Add(limit))
		if each {
			f.Conn = eager{read, limit}
		}
		if !f.startup(record) {
			return
		}
		f.Conn = read
		_ = f.SetReadDeadline(time.Time{})
		for {
			g, ok := f.next()
			if !ok {
				return
			}
			f.send(opSend, g.payload)
		}
	}
}

func TestStartupTimeout(t *testing.T) {
	for _, tt := range []struct {
		desc           string
		stated, limit  time.Duration
		each           bool
		nothing, drips Status // for the case in which nothing arrives, and the one in which octets do
	}{
		{"in time", time.Second, time.Second, false, StatusPass, StatusPass},
		{"a bit late", time.Second, 1200 * time.Millisecond, false, StatusPass, StatusPass},
		{"as long as can be asked", 2500 * time.Millisecond, 2500 * time.Millisecond, false, StatusPass, StatusPass},
		{"longer", 2501 * time.Millisecond, time.Second, false, StatusSkip, StatusSkip},
		{"never", time.Second, time.Hour, false, StatusFail, StatusFail},
		{"for each byte", time.Second, time.Second, true, StatusPass, StatusFail},
	} {
		for _, q := range []struct {
			id   string
			part Part
			want Status
		}{
			{"5044/7.1.2/no-request", Responder, tt.nothing}, {"5044/7.1.2/request-too-slow", Responder, tt.drips},
			{"5044/7.1.2/no-reply", Initiator, tt.nothing}, {"5044/7.1.2/reply-too-slow", Initiator, tt.drips},
		} {
			if r := against(t, q.part, leavesStartup(tt.stated, tt.limit, tt.each), q.id)[q.id]; r.Status != q.want {
				t.Errorf("%s, %s: %s %s, came %q; want %s", q.id, tt.desc, r.Status, r.Reason, r.Got, q.want)
			}
		}
	}
}

// A resetting connection ends with a reset instead of a FIN.
type resetting struct{ net.Conn }

func (r resetting) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		err = syscall.ECONNRESET
	}
	return n, err
}

// In these cases a reset counts as an end, since it can destroy a Terminate. It does not excuse a
// wrong answer.
func TestOverrunReset(t *testing.T) {
	const id = "5041/7.1/no-buffer"
	for _, tt := range []struct {
		desc string
		over func(*fakeConn, segment) bool
		want Status
	}{
		{"reset", leaving, StatusPass},
		{"reset behind a wrong answer", func(f *fakeConn, _ segment) bool { f.send(opSend, []byte("wrong")); return false }, StatusFail},
		{"reset behind the wrong code", terminating(ddpInvalidMO), StatusFail},
	} {
		synctest.Test(t, func(t *testing.T) {
			over := make(chan struct{})
			defer close(over)
			report, err := Run(t.Context(), Config{Part: Responder, Sections: []string{id}, Open: func(context.Context) (net.Conn, error) {
				ours, theirs := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				go func() {
					defer theirs.Close()
					overrun(qnSend, 20, tt.over)(&fakeConn{Conn: theirs, part: Responder, over: over})
				}()
				return resetting{ours}, nil
			}})
			if err != nil || len(report.Results) != 1 || report.Results[0].Status != tt.want {
				t.Errorf("%s: %+v, %v; want %s", tt.desc, report.Results, err, tt.want)
			}
		})
	}
}
