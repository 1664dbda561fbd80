package check

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
)

// A slowSite is a place that is found once the channel is closed.
type slowSite struct {
	place string
	found chan struct{}
}

func (s slowSite) String() string {
	<-s.found
	return s.place
}

// TestSites: a finding has its place and that of its object, as long as they are known, and
// findings are logged in order although places are found late. Whoever reports one does not wait
// for that.
func TestSites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := NewReporter(slog.New(slog.NewTextHandler(&log, nil)), nil)
		found := make(chan struct{})
		site := func(place string) Site { return slowSite{place, found} }
		r.Makes("PD 1", "created", site("main at a.c:1"))
		r.Makes("PD 2", "created", site(""))
		r.Makes("PD 3", "created", nil)
		r.Makes("PD 4", "created", site("main at a.c:4"))
		r.Unmakes(named("PD 4"))
		r.Add(Leaves("PD 0", "first"))
		if log.Len() == 0 {
			t.Error("a finding without a place waits")
		}
		for n := range 5 {
			r.Add(Leaves(fmt.Sprintf("PD %d", n), "ibv_dealloc_pd"))
		}
		r.AddAt("posted", site("send at b.c:2"), Finding{State, "QP 1", "wrong"})
		r.Of("server[17]").AddAt("posted", nil, Finding{State, "QP 2", "wrong"})
		synctest.Wait()
		close(found)
		c := r.Summarize()
		if c.Findings != 7 || c.Repeated != 1 {
			t.Errorf("%+v", c)
		}
		var got []string
		for line := range strings.Lines(log.String()) {
			_, line, _ = strings.Cut(line, "msg=")
			line, _, _ = strings.Cut(line, " rule=")
			got = append(got, strings.TrimSpace(line))
		}
		want := []string{
			`"PD 0: the program has not destroyed it by first" check=leak`,
			`"PD 1: the program has not destroyed it by ibv_dealloc_pd" check=leak created="main at a.c:1"`,
			`"PD 2: the program has not destroyed it by ibv_dealloc_pd" check=leak`,
			`"PD 3: the program has not destroyed it by ibv_dealloc_pd" check=leak`,
			`"PD 4: the program has not destroyed it by ibv_dealloc_pd" check=leak created="main at a.c:4"`,
			`"QP 1: wrong" check=state posted="send at b.c:2"`,
			`"QP 2: wrong" check=state process=server[17]`,
			`checked findings=7 notes=0 suppressed=0 repeated=1`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("the log is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestSitesEnd: the place of an object is kept for some time when it is gone, and then no more.
func TestSitesEnd(t *testing.T) {
	var s sites
	for n := range 3 * maxGone {
		name := fmt.Sprint(n)
		s.add(name, place{"created", slowSite{}})
		s.remove(name)
		s.remove("another one")
	}
	_, first := s.all["0"]
	_, last := s.all[fmt.Sprint(3*maxGone-1)]
	if first || !last || len(s.all) != maxGone || len(s.gone) != maxGone {
		t.Errorf("first %t, last %t, %d places of %d objects", first, last, len(s.all), len(s.gone))
	}
}

// A named is an object with this name.
type named string

func (n named) String() string { return string(n) }

// TestPlaceOfSuccessor: an object keeps its place, however many others go after an earlier one of
// the same name.
func TestPlaceOfSuccessor(t *testing.T) {
	var s sites
	s.add("MR 1", place{site: placed("first")})
	s.remove("MR 1")
	s.add("MR 1", place{site: placed("second")})
	for range maxGone + 1 {
		s.add("MR 2", place{})
		s.remove("MR 2")
	}
	if got := text(s.all["MR 1"].site); got != "second" {
		t.Errorf("the place is %q, want %q", got, "second")
	}
}
