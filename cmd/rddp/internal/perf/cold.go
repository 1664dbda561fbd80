package perf

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"
)

// A Cold is what this machine takes to touch a page that it has not touched for a while: after a
// pause, or because it touches many pages in turn. A program touches hundreds of pages for one
// message. If the processor has forgotten where they are, it can take a virtual machine more than a
// microsecond to find out. In huge pages many places share one translation, so HugeNS is about what
// the cache lines alone take.
type Cold struct {
	Pause  time.Duration `json:"pause_ns"`          // before each pass
	Pages  int           `json:"pages"`             // of 4 KiB, touched in a pass, each once
	PageNS float64       `json:"page_ns"`           // of one touch; the median of several passes
	HugeNS float64       `json:"huge_ns,omitempty"` // the same places in pages of 2 MiB; 0 if the system gives none
}

const (
	smallPage = 4 << 10
	hugePage  = 2 << 20
	fewPages  = 256
	manyPages = 16 << 10 // more than the processors of this time know the places of
)

// coldPasses are the pauses, the numbers of pages, and how many passes are made with each.
var coldPasses = []struct {
	pause  time.Duration
	pages  int
	passes int
}{
	{0, fewPages, 20}, {time.Millisecond, fewPages, 20}, {5 * time.Millisecond, fewPages, 20}, {30 * time.Millisecond, fewPages, 10},
	{0, manyPages, 5},
}

// measureCold returns the prices of a page, or nil if this system has no memory for it. It takes
// about half a second.
func measureCold() (all []Cold) {
	small, huge, free := coldMemory(manyPages * smallPage)
	if small == nil {
		return nil
	}
	defer free()
	runtime.LockOSThread() // another processor has forgotten other pages
	defer runtime.UnlockOSThread()
	linked := 0
	for _, p := range coldPasses {
		if linked != p.pages {
			linked = p.pages
			link(small, linked)
			if huge != nil {
				link(huge, linked)
			}
		}
		var smalls, huges []float64
		for range p.passes {
			time.Sleep(p.pause)
			smalls = append(smalls, visit(small, p.pages))
			if huge != nil {
				huges = append(huges, visit(huge, p.pages))
			}
		}
		all = append(all, Cold{p.pause, p.pages, median(smalls), median(huges)})
	}
	return all
}

// link writes to one line of each page where the next one is, so that no touch can begin before the
// one before it has ended. The pages are in an order that no prefetcher knows, and their lines in
// different sets of the caches.
func link(mem []byte, pages int) {
	at := func(page int) int { return page*smallPage + page*7%(smallPage/64)*64 }
	order := rand.Perm(pages)
	for i, page := range order {
		binary.NativeEndian.PutUint32(mem[at(page):], uint32(at(order[(i+1)%pages])))
	}
}

// visit touches each of the linked pages once, and returns the time of one touch in nanoseconds.
func visit(mem []byte, pages int) float64 {
	begin, at := time.Now(), uint32(0)
	for range pages {
		at = binary.NativeEndian.Uint32(mem[at:])
	}
	d := time.Since(begin)
	if at != 0 {
		panic("BUG: the pages are not linked in a circle")
	}
	return float64(d.Nanoseconds()) / float64(pages)
}

// coldText says in words what all contains.
func coldText(all []Cold) string {
	var parts []string
	for _, c := range all {
		when := "at once"
		switch {
		case c.Pages > fewPages:
			when = fmt.Sprintf("among %d pages", c.Pages)
		case c.Pause > 0:
			when = "after " + c.Pause.String()
		}
		text := fmt.Sprintf("%.0f ns %s", c.PageNS, when)
		if c.HugeNS > 0 {
			text += fmt.Sprintf(" (in a huge page %.0f)", c.HugeNS)
		}
		parts = append(parts, text)
	}
	return "the price of a page, touched " + fmt.Sprint(fewPages) + " in turn: " + strings.Join(parts, ", ")
}
