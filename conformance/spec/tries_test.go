package spec

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
)

// eachNth returns a function that reports true for each n-th call. The peers of cases overlap, so
// several goroutines may call it.
func eachNth(n int) func() bool {
	var mu sync.Mutex
	calls := 0
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return calls%n == 0
	}
}

// leaves is a peer that echoes one Send, and closes without a Terminate at the next segment, except
// each n-th time. Then it sends a Terminate, in siw's bit order or the correct one.
func leaves(n int, control ...byte) fake {
	due := eachNth(n)
	return func(f *fakeConn) {
		if !f.startup(lends) {
			return
		}
		g, _ := f.next()
		f.send(opSend, g.payload)
		if g, ok := f.next(); ok && due() {
			header := g.octets()
			payload := append(append([]byte(nil), control...), 0, byte(g.size>>8), byte(g.size))
			f.put(untagged(opTerminate, qnTerminate, 1, append(payload, header[:len(header)-len(g.payload)]...)))
		}
	}
}

// If siw leaves out a Terminate now and then, the case is asked again. If the Terminate never
// arrives, the case fails.
func TestSiwRace(t *testing.T) {
	const id, held = "5041/7.1/qn-4", "5041/4.3/mo-not-zero"
	for _, tt := range []struct {
		desc   string
		peer   fake
		id     string
		want   Status
		tries  int
		reason string
	}{
		{"right at once", leaves(1, 0x12, 0x01, 0xC0), id, StatusPass, 0, ""},
		{"right the second time", leaves(2, 0x12, 0x01, 0xC0), id, StatusPass, 2, ""},
		{"siw's bits, the fifth time", leaves(maxTries, 0x21, 0x01, 0x03), id, StatusKnown, maxTries, siwBits},
		{"too late", leaves(maxTries+1, 0x12, 0x01, 0xC0), id, StatusFail, maxTries, ""},
		{"another code the second time", leaves(2, 0x12, 0x02, 0xC0), id, StatusFail, 2, ""},
		{"what may be held, never", leaves(100), held, StatusFail, maxTries, ""},
		{"what may be held, siw's bits", leaves(3, 0x21, 0x04, 0x03), held, StatusKnown, 3, siwBits},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			r := profiled(t, Responder, tt.peer, Profiles()["siw"], tt.id)[tt.id]
			if r.Status != tt.want || r.Tries != tt.tries || r.Reason != tt.reason {
				t.Errorf("%s after %d tries, reason %q, came %q; want %s after %d, reason %q", r.Status, r.Tries, r.Reason, r.Got, tt.want, tt.tries, tt.reason)
			}
			var text bytes.Buffer
			NewPrinter(&text).Print(r)
			if tt.tries > 0 != strings.Contains(text.String(), " times)") {
				t.Errorf("%d tries: %s", tt.tries, text.String())
			}
		})
	}
}

// stalls is a peer that echoes Sends, but leaves the first FPDU of a connection unread until more
// octets arrive, except on each n-th connection.
func stalls(n int) fake {
	due := eachNth(n)
	return func(f *fakeConn) {
		if !f.startup(lends) {
			return
		}
		read := due()
		for {
			g, ok := f.next()
			if !ok {
				return
			}
			if !read {
				if _, ok := f.next(); !ok {
					return
				}
			}
			read = true
			if g.op() != opWrite {
				f.send(opSend, g.payload)
			}
		}
	}
}

// If siw leaves the first FPDU of a case unread now and then, the case is asked again. A peer that
// never reads it fails, and so does one that has read something.
func TestSiwStalls(t *testing.T) {
	const id = "5040/5.3/send-with-se"
	silentLater := func(f *fakeConn) {
		if f.startup(lends) {
			if g, ok := f.next(); ok {
				f.send(opSend, g.payload)
				f.next()
				f.next()
			}
		}
	}
	for _, tt := range []struct {
		desc    string
		profile string
		peer    fake
		id      string
		want    Status
		tries   int
	}{
		{"never", "siw", stalls(1), id, StatusPass, 0},
		// The probe is asked first, so the case is the second connection.
		{"the first time", "siw", stalls(3), id, StatusPass, 2},
		{"always", "siw", stalls(1 << 30), id, StatusFail, maxTries},
		{"not siw", "rfc", stalls(1 << 30), id, StatusFail, 0},
		{"silent later", "siw", silentLater, "5040/5.3/send", StatusFail, 0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			r := profiled(t, Responder, tt.peer, Profiles()[tt.profile], tt.id)[tt.id]
			if r.Status != tt.want || r.Tries != tt.tries {
				t.Errorf("%s after %d tries, came %q; want %s after %d", r.Status, r.Tries, r.Got, tt.want, tt.tries)
			}
		})
	}
}

// A peer that never sends a Terminate is not excused by siw's profile, except in cases in which siw
// itself never does.
func TestSiwNeverSilent(t *testing.T) {
	for _, part := range []Part{Responder, Initiator} {
		failed := 0
		for id, r := range profiled(t, part, leaves(1<<30), Profiles()["siw"], "5041", "5040") {
			if r.Status == StatusKnown && !slices.Contains([]string{"5040/7.2/read-wraps", "5041/7.1/no-buffer"}, id) {
				t.Errorf("%s, %v: known, %s; came %q", id, part, r.Reason, r.Got)
			}
			if r.Status == StatusFail && r.Tries == maxTries {
				failed++
			}
		}
		if failed < 40 {
			t.Errorf("%v: %d cases miss a Terminate, want 40 at least", part, failed)
		}
	}
}
