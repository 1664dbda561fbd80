package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/cmd/rddp/internal/monitor"
)

// TestTopScreen: on a terminal, each view replaces the previous one and fits the current size of
// the terminal. The last view remains when top ends.
func TestTopScreen(t *testing.T) {
	now := &monitor.Snapshot{
		Process:     monitor.Process{Kind: "process", Command: "rddp serve", Time: time.Unix(9, 0), Started: time.Unix(0, 0)},
		Connections: []monitor.Connection{{Peer: "near:1"}, {Peer: "far:2"}, {Peer: "far:3"}},
	}
	width, height := 30, 6
	var failure error
	var out strings.Builder
	s := &screen{w: &out, size: func() (int, int, error) { return width, height, failure }}
	s.leave()
	if out.Len() > 0 {
		t.Errorf("before there is a view, top prints %q", out.String())
	}
	if err := s.show(nil, now); err != nil {
		t.Fatal(err)
	}
	first := out.String()
	if view, isFirst := strings.CutPrefix(first, "\x1b[?1049h\x1b[?25l\x1b[H"); !isFirst || strings.Count(view, "\x1b[K\r\n") != height-1 || !strings.HasSuffix(view, "and 2 more\x1b[K\x1b[J") {
		t.Errorf("the first view is %q", first)
	}
	width, height = 10, 3
	if err := s.show(now, now); err != nil {
		t.Fatal(err)
	}
	if second := out.String()[len(first):]; second != "\x1b[Hrddp serve\x1b[K\r\nsent 0 B,\x1b[K\r\n\x1b[K\x1b[J" {
		t.Errorf("the second view is %q", second)
	}
	failure = errors.New("no terminal any more")
	if err := s.show(now, now); !errors.Is(err, failure) {
		t.Errorf("without a terminal: %v", err)
	}
	before := out.Len()
	s.leave()
	if left := out.String()[before:]; left != "\x1b[?25h\x1b[?1049lrddp serve\nsent 0 B,\n\n" {
		t.Errorf("top leaves %q", left)
	}
}
