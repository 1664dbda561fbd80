package monitor

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// snapshot returns a snapshot at the given number of seconds after the beginning.
func snapshot(after int, sent uint64, conns ...Connection) *Snapshot {
	now := began.Add(time.Duration(after) * time.Second)
	for i := range conns {
		conns[i].Time = now
	}
	return &Snapshot{
		Process: Process{
			Kind: kindProcess, Time: now, Command: "rddp serve", Started: began, Open: uint64(len(conns)), Connections: 9, Failures: 1,
			SentBytes: sent, ReceivedBytes: 1000, MemoryReserved: 3_000_000, MemoryLimit: 128 << 20,
		},
		Connections: conns,
	}
}

func conn(number uint64, since int, sent, received uint64) Connection {
	return Connection{
		Kind: kindConnection, Number: number, Since: began.Add(time.Duration(since) * time.Second), Local: "[::1]:7174", Peer: "192.0.2.1:40000",
		Role: "responder", Mode: "stream", SentBytes: sent, ReceivedBytes: received, SentMessages: 2, ReceivedMessages: 3, CreditStalls: 4,
	}
}

func TestFrame(t *testing.T) {
	before := snapshot(60, 1_000_000, conn(1, 0, 1_000_000, 0), conn(2, 10, 0, 0))
	now := snapshot(62, 5_000_000, conn(1, 0, 1_000_000, 0), conn(2, 10, 4_000_000, 500), conn(3, 61, 0, 7))
	want := []string{
		"rddp serve, up 1m02s; connections: 3 open, 9 in all, 1 failed",
		"sent 5.00 MB, 2.00 MB/s; received 1.00 kB, 0 B/s; memory 3.00 MB of 134 MB",
		"",
		"NUMBER  PEER                     ROLE      MODE          AGE     SENT/s RECEIVED/s       SENT   RECEIVED  MESSAGES   STALLS",
		"     2  192.0.2.1:40000          responder stream        52s    2.00 MB      250 B    4.00 MB      500 B         5        4",
		"     3  192.0.2.1:40000          responder stream         1s        0 B        7 B        0 B        7 B         5        4",
		"     1  192.0.2.1:40000          responder stream      1m02s        0 B        0 B    1.00 MB        0 B         5        4",
	}
	if got := Frame(before, now, 0, 0); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := Frame(before, now, 20, 6); len(got) != 6 || got[5] != "and 2 more" || got[4] != "     2  192.0.2.1:40" {
		t.Errorf("in 20 columns and 6 lines\n%s", strings.Join(got, "\n"))
	}
	if got := Frame(before, now, 0, 7); !slices.Equal(got, want) {
		t.Errorf("in 7 lines\n%s", strings.Join(got, "\n"))
	}
	for height := 1; height < 6; height++ {
		if got := Frame(before, now, 0, height); len(got) != height {
			t.Errorf("%d lines of %d", len(got), height)
		}
	}
}

// TestFrameAlone: without an earlier snapshot, and after a restart of the command, rates are since
// the beginning.
func TestFrameAlone(t *testing.T) {
	now := snapshot(10, 5_000_000, conn(1, 5, 5_000_000, 0))
	other := snapshot(9, 99_000_000, conn(1, 5, 99_000_000, 0))
	other.Process.Started = began.Add(-time.Hour)
	for _, before := range []*Snapshot{nil, other} {
		got := Frame(before, now, 0, 0)
		if !strings.Contains(got[1], "sent 5.00 MB, 500 kB/s") || !strings.Contains(got[4], "  1.00 MB        0 B    5.00 MB ") {
			t.Errorf("got\n%s", strings.Join(got, "\n"))
		}
	}
}

// TestFrameHostile: a server cannot move the cursor.
func TestFrameHostile(t *testing.T) {
	c := conn(1, 0, 1<<63, 1<<64-1)
	c.Peer, c.Role, c.Mode, c.Since = "\x1b[2J\n\u202e\x9b", "\r\a", "\xff", began.Add(time.Hour)
	s := snapshot(5, 1<<64-1, c)
	s.Process.Command, s.Process.Started = "\x1b]0;x\a", began.Add(1<<63-1)
	s.Process.MemoryLimit = -1
	for _, line := range Frame(snapshot(9, 0), s, 200, 50) {
		if strings.ContainsAny(line, "\x1b\n\r\a\u202e\u009b") {
			t.Errorf("a line is %q", line)
		}
	}
}

// TestFrameOneColumnEach: each character of a line takes one column of a terminal, so a line never
// wraps. Some Unicode characters would take two columns, and others none.
func TestFrameOneColumnEach(t *testing.T) {
	c := conn(1, 0, 1, 1)
	c.Peer = "\u5bbd\uff21e\u0301\U0001f600:1"
	s := snapshot(5, 1, c)
	for _, line := range Frame(nil, s, 40, 50) {
		for _, r := range line {
			if r > '~' {
				t.Errorf("a line is %q", line)
			}
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0 B", 999: "999 B", 999.6: "1.00 kB", 1000: "1.00 kB", 9994: "9.99 kB", 9996: "10.0 kB", 99_960: "100 kB",
		999_499: "999 kB", 999_500: "1.00 MB", 1e18: "1.00 EB", 1 << 63: "9.22 EB",
	} {
		if got := bytes(n); got != want {
			t.Errorf("bytes(%v) = %q, want %q", n, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", time.Minute: "1m00s", time.Hour - 1: "59m59s", 25*time.Hour + time.Minute: "1d01h", time.Hour: "1h00m",
	} {
		if got := age(d); got != want {
			t.Errorf("age(%v) = %q, want %q", d, got, want)
		}
	}
}

// FuzzParse: whatever a server sends, parse returns a snapshot that can be shown, or an error.
func FuzzParse(f *testing.F) {
	f.Add(`{"kind":"process","time":"2026-01-02T03:04:05Z","open":1}` + "\n" + `{"kind":"connection","number":1,"peer":"x"}` + "\n")
	f.Add(`{"kind":"process"}`)
	f.Add(`{"kind":"connection"}`)
	f.Add("")
	f.Add("HTTP/1.1 400")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse(strings.NewReader(text))
		if (s == nil) == (err == nil) {
			t.Fatalf("%v, %v", s, err)
		}
		if s == nil {
			return
		}
		if lines := Frame(nil, s, 80, 24); len(lines) > 24 {
			t.Errorf("%d lines", len(lines))
		}
		Frame(s, s, 0, 0)
	})
}
