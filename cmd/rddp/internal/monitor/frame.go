package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Frame returns the lines in which `rddp top` shows a snapshot: at most height lines of at most
// width characters. 0 means no limit. Rates are since before, an earlier snapshot of the same
// process. If before is nil, or for a connection that is not in it, rates are since the beginning.
func Frame(before, now *Snapshot, width, height int) []string {
	if before != nil && !before.Process.Started.Equal(now.Process.Started) {
		before = nil // the command was restarted
	}
	lines := append(processLines(before, &now.Process), "")
	rows := rowsOf(before, now)
	lines = append(lines, fmt.Sprintf("%6s  %-24s %-9s %-8s %8s %10s %10s %10s %10s %9s %8s",
		"NUMBER", "PEER", "ROLE", "MODE", "AGE", "SENT/s", "RECEIVED/s", "SENT", "RECEIVED", "MESSAGES", "STALLS"))
	for i, r := range rows {
		if left := len(rows) - i; height > 0 && len(lines) == height-1 && left > 1 {
			lines = append(lines, fmt.Sprintf("and %d more", left))
			break
		}
		lines = append(lines, r.line())
	}
	if height > 0 && len(lines) > height {
		lines = lines[:height]
	}
	for i, l := range lines {
		lines[i] = fit(l, width)
	}
	return lines
}

func processLines(before *Snapshot, p *Process) []string {
	since, sent, received := p.Started, uint64(0), uint64(0)
	if before != nil {
		since, sent, received = before.Process.Time, before.Process.SentBytes, before.Process.ReceivedBytes
	}
	d := p.Time.Sub(since)
	return []string{
		fmt.Sprintf("%s, up %s; connections: %d open, %d in all, %d failed", p.Command, age(p.Time.Sub(p.Started)), p.Open, p.Connections, p.Failures),
		fmt.Sprintf("sent %s, %s/s; received %s, %s/s; memory %s of %s", bytes(float64(p.SentBytes)), bytes(rate(sent, p.SentBytes, d)),
			bytes(float64(p.ReceivedBytes)), bytes(rate(received, p.ReceivedBytes, d)), bytes(float64(p.MemoryReserved)), bytes(float64(p.MemoryLimit))),
	}
}

// A row is a connection with its rates in bytes per second.
type row struct {
	*Connection
	sent, received float64
}

// rowsOf returns the rows of now, the busiest first.
func rowsOf(before, now *Snapshot) []row {
	known := make(map[uint64]*Connection)
	if before != nil {
		for i := range before.Connections {
			known[before.Connections[i].Number] = &before.Connections[i]
		}
	}
	rows := make([]row, len(now.Connections))
	for i := range now.Connections {
		c := &now.Connections[i]
		was := &Connection{Time: c.Since}
		if k := known[c.Number]; k != nil {
			was = k
		}
		d := c.Time.Sub(was.Time)
		rows[i] = row{c, rate(was.SentBytes, c.SentBytes, d), rate(was.ReceivedBytes, c.ReceivedBytes, d)}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.sent+b.received, a.sent+a.received) })
	return rows
}

func (r row) line() string {
	return fmt.Sprintf("%6d  %-24s %-9s %-8s %8s %10s %10s %10s %10s %9d %8d", r.Number, r.Peer, r.Role, r.Mode, age(r.Time.Sub(r.Since)),
		bytes(r.sent), bytes(r.received), bytes(float64(r.SentBytes)), bytes(float64(r.ReceivedBytes)), r.SentMessages+r.ReceivedMessages, r.CreditStalls)
}

// rate returns the growth of a count per second, or 0 if the clock was set back.
func rate(before, now uint64, d time.Duration) float64 {
	if d <= 0 || now < before {
		return 0
	}
	return float64(now-before) / d.Seconds()
}

// bytes returns a number of bytes with three digits, in decimal units.
func bytes(n float64) string {
	const units = "kMGTPE"
	unit := -1
	for n >= 999.5 && unit < len(units)-1 {
		n /= 1000
		unit++
	}
	if unit < 0 {
		return fmt.Sprintf("%.0f B", n)
	}
	digits := 2
	switch {
	case n >= 99.95:
		digits = 0
	case n >= 9.995:
		digits = 1
	}
	return fmt.Sprintf("%.*f %cB", digits, n, units[unit])
}

// age returns a duration in its two largest units.
func age(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}

// fit truncates a line. It replaces characters that do not take exactly one column on a terminal,
// or that could move its cursor, because the peer may be hostile. An honest peer sends only ASCII,
// except in the zone of an address.
func fit(line string, width int) string {
	var b strings.Builder
	n := 0
	for _, r := range line {
		if width > 0 && n == width {
			break
		}
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimRight(b.String(), " ")
}
