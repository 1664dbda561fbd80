//go:build models

package models

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	// maxTime bounds each command. The longest search takes seconds.
	maxTime = 3 * time.Minute
	// maxMemory is what a search may use, in MB; maxDepth is how many steps a run may have.
	// A search that meets either bound is not complete, which is an error here.
	maxMemory = "-DMEMLIM=900"
	maxDepth  = "-m300000"
)

// A search is one of all states of a model.
type search struct {
	desc  string
	model string
	defs  string // macros, separated by spaces
	live  bool   // looks for cycles without progress, instead of states without an end
	whole bool   // must reach every statement: none may pass only because it never happens
}

// What pan says about each sort of error.
const (
	deadlock    = "invalid end state"
	livelock    = "non-progress cycle"
	noBuffer    = "assertion violated (((((q_len(link[me])-extra[me])+unread[(1-me)])+offered[(1-me)])<"
	notConserve = "+carried[" // in "assertion violated (credits[x]+…+carried[1-x])==N)"
	wrongTarget = "assertion violated granted[me]"
	outOfOrder  = "assertion violated ( !(placed[(1-me)])"

	noRoom    = "assertion violated ((words["                        // rsockets.pml: a word without a receive buffer
	lentAgain = "assertion violated ((unread[me]+room[me])<="        // a half is lent while it has unread data
	slotInUse = "assertion violated (slots[(((1-me)*2)+put[me])]==0" // a descriptor is overwritten

	afterReturn  = "assertion violated (( !(over[r])"      // deregister.pml: a copy after Deregister
	lostRegion   = "assertion violated ((table[0]==3)"     // another Region is not found
	twice        = "assertion violated (completions"       // close.pml: two Completions
	sendInUse    = "assertion violated (isRead["           // a Completion, and the payload is still referred to
	sinkInUse    = "assertion violated  !(copying["        // a Completion, and octets are still copied to the sink
	receiveInUse = "assertion violated  !(filling)"        // the same of a receive
	undone       = "assertion violated (((((undone==0)"    // no Completion
	unverified   = "assertion violated (memory[i]!=255)"   // placement.pml: placed without a valid CRC
	otherMemory  = "assertion violated (refused||(memory[" // not what the stream in order would have left
	otherMessage = "assertion violated (((delivered<="     // the same of a delivered message
	notOnce      = "assertion violated ((over||refused)||" // an FPDU judged twice, or never
	shared       = "assertion violated ((size==1)||"       // an octet in two FPDUs
	notYet       = "assertion violated (o"                 // a hint has ended the stream
	underrun     = "assertion violated (d[0].arrived["     // pipeline.pml: a fragment passes that has not arrived
	notSent      = "assertion violated (d[0].passed["      // a Completion, and not all of the packet has left
	stuck        = "assertion violated ((((posted=="       // a packet is never sent
	formula      = "assertion violated  !( !( !(("         // a run that breaks an LTL formula
)

// good are the searches that must find no error.
var good = []search{
	{"4 buffers, deadlines at the end that is late", "credits.pml", "-DLATE -DCANCELS=0", false, false},
	{"4 buffers, deadlines at the other", "credits.pml", "-DLATE -DCANCELS=1", false, false},
	{"4 buffers, no deadlines", "credits.pml", "-DLATE -DNO_CANCEL -DREFUSE -DPENDING=2", false, false},
	{"4 buffers, no deadlines", "credits.pml", "-DLATE -DNO_CANCEL -DREFUSE -DPENDING=2", true, false},
	{"4 buffers, an end never reads", "credits.pml", "-DNEVER -DREFUSE -DPENDING=2 -DJOIN", false, true},
	{"4 buffers, an end never reads", "credits.pml", "-DNEVER", true, false},
	{"4 buffers, nobody reads", "credits.pml", "-DNOBODY -DREFUSE -DPENDING=2 -DJOIN", false, false},
	{"4 buffers, no rendezvous", "credits.pml", "-DLATE -DNO_OFFER -DPENDING=2 -DJOIN", false, false},
	{"5 buffers, no deadlines", "credits.pml", "-DLATE -DNO_CANCEL -DN=5", false, false},
	{"6 buffers, nobody reads", "credits.pml", "-DNOBODY -DN=6 -DREFUSE", false, false},
	{"6 and 4 buffers, no deadlines", "credits.pml", "-DLATE -DNO_CANCEL -DN=6 -DM=4", false, false},
	{"RDMA Reads by the end that is late", "credits.pml", "-DLATE -DNO_OFFER -DREMOTE=0", false, false},
	{"RDMA Reads by the other", "credits.pml", "-DLATE -DNO_OFFER -DREMOTE=1", false, false},
	{"RDMA Reads by an end that never reads", "credits.pml", "-DNEVER -DNO_CANCEL -DREMOTE=0", false, false},
	{"RDMA Reads toward it", "credits.pml", "-DNEVER -DNO_CANCEL -DREMOTE=1", false, false},
	{"a window of 5 to 4", "credits.pml", "-DLATE -DNO_CANCEL -DSHRINK=1 -DN=5", false, false},
	{"a window of 5 to 4, no rendezvous", "credits.pml", "-DLATE -DNO_OFFER -DSHRINK=1 -DN=5", true, false},
	{"a window of 5 to 4, nobody reads", "credits.pml", "-DNOBODY -DREFUSE -DSHRINK=1 -DN=5", false, false},
	{"a window of 5 to 4, RDMA Reads by an end that never reads", "credits.pml", "-DNEVER -DNO_CANCEL -DREMOTE=0 -DSHRINK=1 -DN=5", false, false},

	{"both ways", "rsockets.pml", "", false, false},
	{"both ways, an end is late", "rsockets.pml", "-DLATE", false, false},
	{"one way, messages of different lengths", "rsockets.pml", "-DONE_WAY -DH=2 -DLONG -DLATE", false, false},
	{"one way, more credits", "rsockets.pml", "-DONE_WAY -DC=6 -DSPARE=2 -DH=3 -DLONG -DLATE", false, false},
	{"one way, a half has room for more than the credits", "rsockets.pml", "-DONE_WAY -DH=6 -DLONG -DLATE", false, false},

	{"Region and window by two", "deregister.pml", "", false, false},
	{"window of a window", "deregister.pml", "-DTHREE -DONE_OWNER", false, false},
	{"the STag drawn again", "deregister.pml", "-DREUSE -DTHREE -DONE_OWNER", false, true},

	{"a good peer, Send and Read", "close.pml", "-DGOOD -DREADS=1", false, false},
	{"a good peer, canceled Read", "close.pml", "-DGOOD -DSENDS=0 -DREADS=1 -DCANCEL", false, false},
	{"Send", "close.pml", "-DEVENTS=1", false, false},
	{"Read", "close.pml", "-DSENDS=0 -DREADS=1 -DEVENTS=2", false, false},
	{"jammed", "close.pml", "-DJAMMED -DEVENTS=1", false, false},
	{"Send, not closed before the end", "close.pml", "-DPOLITE -DEVENTS=1", false, false},
	{"Read, not closed before the end", "close.pml", "-DPOLITE -DSENDS=0 -DREADS=1 -DEVENTS=1", false, false},
	{"Send and receive", "close.pml", "-DRECV -DEVENTS=1", false, false},

	{"duplicates and hints", "placement.pml", "", false, false},

	{"both directions", "pipeline.pml", "", false, true},
	{"sending", "pipeline.pml", "-DSENDS=3 -DRECVS=0 -DENGINE=2", false, false},
	{"receiving", "pipeline.pml", "-DSENDS=0 -DRECVS=3", false, false},
	{"store and forward", "pipeline.pml", "-DSTORE_AND_FORWARD -DENGINE=2", false, false},
	{"one DMA at a time", "pipeline.pml", "-DSERIAL", false, false},
	{"formula 4", "pipeline.pml", "-DFORMULA4", false, false},
	{"formula 4, a longer engine queue", "pipeline.pml", "-DFORMULA4 -DENGINE=2", false, false},
	{"formula 4, store and forward", "pipeline.pml", "-DFORMULA4 -DSTORE_AND_FORWARD", false, false},
	{"a bus of half the link's speed", "pipeline.pml", "-DBUS=2 -DLINK=1 -DFRAGMENTS=4", false, true},
	{"a bus of two thirds of it", "pipeline.pml", "-DBUS=3 -DLINK=2 -DFRAGMENTS=6", false, false},
	{"a bus of twice that speed", "pipeline.pml", "-DBUS=1 -DLINK=2 -DFRAGMENTS=5", false, false},

	// Formulas 1 to 3 ask what can happen. Here it cannot: each search finds that no run does it.
	{"formula 1, one DMA at a time", "pipeline.pml", "-DFORMULA1 -DSERIAL", false, false},
	{"formula 2, one DMA at a time", "pipeline.pml", "-DFORMULA2 -DSERIAL", false, false},
	{"formula 3, one DMA at a time", "pipeline.pml", "-DFORMULA3 -DSERIAL", false, false},
	{"formula 1, store and forward of one packet", "pipeline.pml", "-DFORMULA1_ONE_PACKET -DSTORE_AND_FORWARD -DENGINE=2", false, false},
	{"formula 2, store and forward of one packet", "pipeline.pml", "-DFORMULA2_ONE_PACKET -DSTORE_AND_FORWARD", false, false},
}

// possible are the searches that must find a run: formulas 1 to 3, each written as its negation,
// which that run breaks.
var possible = []search{
	{"formula 1", "pipeline.pml", "-DFORMULA1", false, false},
	{"formula 1, one packet", "pipeline.pml", "-DFORMULA1_ONE_PACKET", false, false},
	{"formula 1, sending", "pipeline.pml", "-DFORMULA1_ONE_PACKET -DSENDS=1 -DRECVS=0", false, false},
	{"formula 1, store and forward", "pipeline.pml", "-DFORMULA1 -DSTORE_AND_FORWARD -DENGINE=2", false, false},
	{"formula 1, a link without pauses", "pipeline.pml", "-DFORMULA1_ONE_PACKET -DBUS=2 -DFRAGMENTS=4", false, false},
	{"formula 2", "pipeline.pml", "-DFORMULA2", false, false},
	{"formula 2, one packet", "pipeline.pml", "-DFORMULA2_ONE_PACKET", false, false},
	{"formula 2, receiving", "pipeline.pml", "-DFORMULA2_ONE_PACKET -DSENDS=0 -DRECVS=1", false, false},
	{"formula 2, store and forward", "pipeline.pml", "-DFORMULA2 -DSTORE_AND_FORWARD", false, false},
	{"formula 3", "pipeline.pml", "-DFORMULA3", false, false},
	{"formula 3, store and forward", "pipeline.pml", "-DFORMULA3 -DSTORE_AND_FORWARD", false, false},
}

// broken are the searches that must find an error, with what pan says about it.
var broken = []struct {
	search
	want string
}{
	{search{"3 buffers", "credits.pml", "-DLATE -DN=3", true, false}, livelock},
	{search{"3 buffers, threshold of two", "credits.pml", "-DLATE -DN=3 -DT=2", false, false}, deadlock},
	{search{"reserve of one", "credits.pml", "-DLATE -DNO_CANCEL -DR=1", true, false}, livelock},
	{search{"reserve of one, not counted apart", "credits.pml", "-DLATE -DNO_CANCEL -DR=1 -DTOGETHER", false, false}, deadlock},
	{search{"threshold of all buffers", "credits.pml", "-DLATE -DT=4", false, false}, deadlock},
	{search{"threshold of one", "credits.pml", "-DLATE -DT=1", true, false}, livelock},
	{search{"DATA takes the last credit", "credits.pml", "-DLATE -DDATA_NEEDS=1", false, false}, deadlock},
	{search{"FIN keeps to the reserve", "credits.pml", "-DNEVER -DFIN_NEEDS=3", false, false}, deadlock},
	{search{"FIN uses the reserve", "credits.pml", "-DLATE -DNO_CANCEL -DN=6 -DM=4 -DFIN_NEEDS=1", false, false}, deadlock},
	{search{"CANCEL keeps to the reserve", "credits.pml", "-DNOBODY -DCANCEL_NEEDS=3", false, false}, deadlock},
	{search{"GRANT leaves a credit to UPDATE", "credits.pml", "-DLATE -DGRANT_NEEDS=2", false, false}, deadlock},
	{search{"GRANT keeps to the reserve", "credits.pml", "-DLATE -DGRANT_NEEDS=3", false, false}, deadlock},
	{search{"UPDATE leaves a credit to GRANT", "credits.pml", "-DLATE -DUPDATE_NEEDS=2", false, false}, deadlock},
	{search{"OFFERs after a CANCEL", "credits.pml", "-DLATE -DAGAIN", false, false}, wrongTarget},
	{search{"a Write overtakes a DONE", "credits.pml", "-DLATE -DOVERTAKES", false, false}, outOfOrder},
	{search{"UPDATE uses no credit", "credits.pml", "-DLATE -DUPDATE_FREE -DNO_MONITOR", false, false}, noBuffer},
	{search{"UPDATE uses no credit, monitored", "credits.pml", "-DLATE -DUPDATE_FREE", false, false}, notConserve},
	{search{"owed is kept", "credits.pml", "-DLATE -DOWED_KEPT -DNO_MONITOR", false, false}, noBuffer},
	{search{"owed is kept, monitored", "credits.pml", "-DLATE -DOWED_KEPT", false, false}, notConserve},
	{search{"any message waits for memory", "credits.pml", "-DLATE -DNO_CANCEL -DMEMORY=1", false, false}, deadlock},
	{search{"any message waits for memory, RDMA Reads", "credits.pml", "-DNEVER -DNO_CANCEL -DREMOTE=0 -DMEMORY=1", false, false}, deadlock},
	{search{"any message waits for memory, RDMA Reads toward it", "credits.pml", "-DNEVER -DNO_CANCEL -DREMOTE=1 -DMEMORY=1", false, false}, deadlock},
	{search{"DATA waits for memory", "credits.pml", "-DLATE -DNO_CANCEL -DDATA_WAITS=1", false, false}, deadlock},
	{search{"DATA waits for memory, RDMA Reads", "credits.pml", "-DNEVER -DNO_CANCEL -DREMOTE=0 -DDATA_WAITS=1", false, false}, deadlock},
	{search{"any credit is kept", "credits.pml", "-DLATE -DNO_CANCEL -DSHRINK=1 -DN=5 -DANY_KEPT", false, false}, deadlock},
	{search{"a window of 6 to 4 with the threshold of 6", "credits.pml", "-DLATE -DNO_OFFER -DSHRINK=2 -DN=6 -DOLD_THRESHOLD", false, false}, deadlock},
	{search{"a window of 4 to 3", "credits.pml", "-DLATE -DNO_OFFER -DSHRINK=1", true, false}, livelock},

	{search{"room for six words without data", "rsockets.pml", "-DLATE -DWORDS=6", false, false}, noRoom},
	{search{"a half is lent before it is read", "rsockets.pml", "-DEARLY_GRANT", false, false}, lentAgain},
	{search{"one slot for two descriptors", "rsockets.pml", "-DONE_SLOT", false, false}, slotInUse},
	{search{"a descriptor stays in its slot", "rsockets.pml", "-DKEEP_SLOT", false, false}, slotInUse},
	{search{"all credits must be used", "rsockets.pml", "-DONE_WAY -DH=6 -DT=4", false, false}, deadlock},
	{search{"a sender leaves more than half", "rsockets.pml", "-DONE_WAY -DH=6 -DSPARE=3", false, false}, deadlock},
	{search{"what is read is not stated", "rsockets.pml", "-DONLY_ARRIVALS", false, false}, deadlock},
	{search{"a Write does not receive", "rsockets.pml", "-DLATE -DREADER_RECEIVES", false, false}, deadlock},

	{search{"a copy without the lock", "deregister.pml", "-DNO_LOCK -DONE_OWNER", false, false}, afterReturn},
	{search{"the table is all that is looked at", "deregister.pml", "-DNO_GONE -DONE_OWNER", false, false}, afterReturn},
	{search{"Deregister does not wait", "deregister.pml", "-DNO_WAIT -DONE_OWNER", false, false}, afterReturn},
	{search{"a request is judged once", "deregister.pml", "-DNO_RECHECK -DONE_OWNER", false, false}, afterReturn},
	{search{"windows stay", "deregister.pml", "-DKEEP_WINDOWS", false, false}, afterReturn},
	{search{"windows first", "deregister.pml", "-DWINDOWS_FIRST", false, false}, afterReturn},
	{search{"a window leaves the list first", "deregister.pml", "-DUNLINK_FIRST", false, false}, afterReturn},
	{search{"Window looks before it locks", "deregister.pml", "-DLOOK_FIRST", false, false}, afterReturn},
	{search{"a window is listed late", "deregister.pml", "-DLIST_LATE", false, false}, afterReturn},
	{search{"the second one does not wait", "deregister.pml", "-DONCE", false, false}, afterReturn},
	{search{"the lock is kept for the windows", "deregister.pml", "-DKEEP_LOCK", false, false}, deadlock},
	{search{"the lock is taken twice", "deregister.pml", "-DCHECK_HOLDS -DONE_OWNER", false, false}, deadlock},
	{search{"whatever has the STag is removed", "deregister.pml", "-DREMOVE_ANY -DREUSE", false, false}, lostRegion},

	{search{"the state is looked at before", "close.pml", "-DSPLIT", false, false}, undone},
	{search{"nobody looks again", "close.pml", "-DGOOD -DNO_RELOOK", false, false}, deadlock},
	{search{"flushed without the token", "close.pml", "-DNO_TOKEN", false, false}, sendInUse},
	{search{"completed while given out", "close.pml", "-DEVENTS=1 -DNOT_GIVEN", false, false}, sendInUse},
	{search{"completed before the sink is back", "close.pml", "-DSENDS=0 -DREADS=1 -DEVENTS=2 -DNO_SINK", false, false}, sinkInUse},
	{search{"TCP is lost when nobody receives", "close.pml", "-DPOLITE -DEVENTS=1 -DNOBODY_LEFT", false, false}, deadlock},
	{search{"receive ends when TCP is lost", "close.pml", "-DPOLITE -DEVENTS=1 -DNOBODY_LOOKS", false, false}, deadlock},
	{search{"the flush is nobody's work", "close.pml", "-DPOLITE -DEVENTS=1 -DNO_ABORT_DUE", false, false}, deadlock},
	{search{"the peer sends no FIN", "close.pml", "-DNO_DEADLINE", false, false}, deadlock},
	{search{"Reads outlive the peer's FIN", "close.pml", "-DPOLITE -DSENDS=0 -DREADS=1 -DEVENTS=1 -DFIN_KEEPS", false, false}, deadlock},
	{search{"a Read after the peer's FIN", "close.pml", "-DPOLITE -DSENDS=0 -DREADS=1 -DEVENTS=1 -DREAD_AFTER_FIN", false, false}, deadlock},
	{search{"canceled and answered", "close.pml", "-DGOOD -DCANCEL -DSENDS=0 -DREADS=1 -DNO_COMPLETED", false, false}, twice},
	{search{"canceled while it is answered", "close.pml", "-DGOOD -DCANCEL -DSENDS=0 -DREADS=1 -DNO_DISCARD", false, false}, sinkInUse},
	{search{"receives without a Flush", "close.pml", "-DRECV -DEVENTS=2 -DNO_FLUSH", false, false}, receiveInUse},
	{search{"a receive after the flush", "close.pml", "-DRECV -DEVENTS=2 -DNO_RECEIVES", false, false}, twice},

	{search{"placed, then verified", "placement.pml", "-DNO_VERIFY", false, false}, unverified},
	{search{"a duplicate is placed", "placement.pml", "-DTWICE", false, false}, otherMemory},
	{search{"what was early comes in order", "placement.pml", "-DSHOWN_AGAIN -DJUDGED_AGAIN", false, false}, notOnce},
	{search{"hints overlap", "placement.pml", "-DNO_REMEMBER", false, false}, notOnce},
	{search{"an FPDU in an FPDU", "placement.pml", "-DINSIDE", false, false}, shared},
	{search{"a hint that was not placed is kept", "placement.pml", "-DNO_UNREAD", false, false}, notOnce},
	{search{"two hints for one place", "placement.pml", "-DNO_OVERLAPS", false, false}, otherMemory},
	{search{"a hint for a delivered message", "placement.pml", "-DNO_AHEAD", false, false}, otherMessage},
	{search{"what is earlier overwrites", "placement.pml", "-DNO_AROUND", false, false}, otherMemory},
	{search{"delivered beyond the edge", "placement.pml", "-DNO_EDGE", false, false}, notOnce},
	{search{"a hint ends the stream", "placement.pml", "-DHINT_COUNTS", false, false}, notYet},

	{search{"the host DMA is used twice", "pipeline.pml", "-DFORMULA4 -DNO_DMA_LOCK", false, false}, formula},
	{search{"a transfer of what has not arrived", "pipeline.pml", "-DAHEAD", false, false}, underrun},
	{search{"a threshold too low", "pipeline.pml", "-DBUS=2 -DLINK=1 -DFRAGMENTS=4 -DTHRESHOLD=2", false, false}, underrun},
	{search{"a threshold too low for a faster bus", "pipeline.pml", "-DBUS=3 -DLINK=2 -DFRAGMENTS=6 -DTHRESHOLD=2", false, false}, underrun},
	{search{"completed before the last byte", "pipeline.pml", "-DCOMPLETE_EARLY", false, false}, notSent},
	{search{"a completion without a refill", "pipeline.pml", "-DNO_REFILL", false, false}, stuck},
}

func TestModels(t *testing.T) {
	for _, s := range good {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			out := s.run(t, "-O1")
			if !strings.Contains(out, "errors: 0\n") || !complete(out) {
				t.Fatalf("spin %s: not a complete search without errors:\n%s", s.defs, out)
			}
			if s.whole {
				s.reached(t, out)
			}
			t.Logf("%s states, %s MB", find(out, `([0-9.e+]+) states, stored`), find(out, `([0-9.]+)\s+total actual memory`))
		})
	}
}

func TestBrokenModels(t *testing.T) {
	for _, b := range broken {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			out := b.run(t, "-O0") // It ends at the first error: to compile it takes longest.
			if got := find(out, `(?m)^pan:1: (.*) \(at depth`); !strings.Contains(got, b.want) {
				t.Fatalf("spin %s: found %q, want %q:\n%s", b.defs, got, b.want, out)
			}
		})
	}
}

func TestFormulas(t *testing.T) {
	for _, s := range possible {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			out := s.run(t, "-O0")
			if got := find(out, `(?m)^pan:1: (.*) \(at depth`); !strings.Contains(got, formula) {
				t.Fatalf("spin %s: found %q, want a run that breaks the formula:\n%s", s.defs, got, out)
			}
		})
	}
}

// reached fails the test for each statement that a search has not reached.
func (s search) reached(t *testing.T, out string) {
	t.Helper()
	_, unreached, found := strings.Cut(out, "unreached in ")
	if !found {
		t.Fatalf("spin %s: pan does not tell what it has not reached:\n%s", s.defs, out)
	}
	for line := range strings.Lines(unreached) {
		if strings.Contains(line, ", state ") && !strings.Contains(line, `"-end-"`) {
			t.Errorf("spin %s: not reached: %s", s.defs, strings.TrimSpace(line))
		}
	}
}

func (s search) String() string {
	name := strings.TrimSuffix(s.model, ".pml") + "/" + s.desc
	if s.live {
		name += ", progress"
	}
	return name
}

// run has spin make the search and returns what it says. It fails the test only if there is no
// search.
func (s search) run(t *testing.T, optimize string) string {
	t.Helper()
	model, err := filepath.Abs(s.model)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	defs := strings.Fields(s.defs)
	kind, options := "-DSAFETY", []string{maxDepth}
	if s.live {
		kind, options = "-DNP", append(options, "-l")
	}
	// A macro that the model does not know would break nothing.
	text := source(t, model)
	for _, d := range defs {
		name, _, _ := strings.Cut(strings.TrimPrefix(d, "-D"), "=")
		if !regexp.MustCompile(`#ifn?def ` + name + `\b`).Match(text) {
			t.Fatalf("%s has no macro %s", s.model, name)
		}
	}
	command(t, dir, "spin", append(defs, "-a", model)...)
	command(t, dir, "gcc", "-w", optimize, kind, maxMemory, "-o", "pan", "pan.c")
	out := command(t, dir, "./pan", options...)
	if !strings.Contains(out, "State-vector ") {
		t.Fatalf("spin %s: no search:\n%s", s.defs, out)
	}
	return out
}

// source returns the text of a model, and of what it includes.
func source(t *testing.T, model string) []byte {
	t.Helper()
	text, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#include "(.*)"$`).FindAllSubmatch(text, -1) {
		text = append(text, source(t, filepath.Join(filepath.Dir(model), string(m[1])))...)
	}
	return text
}

// complete reports whether a search saw all states.
func complete(out string) bool {
	for _, sign := range []string{"Search not completed", "max search depth too small", "reached -DMEMLIM", "out of memory", "hash-compact", "Bit statespace"} {
		if strings.Contains(out, sign) {
			return false
		}
	}
	return strings.Contains(out, "Full statespace search for:")
}

// command runs a command in dir and returns its output, of both sorts.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil && !strings.HasPrefix(name, "./") {
		t.Fatalf("%v: install Debian's spin and gcc (./.ci/install spin gcc libc6-dev)", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), maxTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// find returns what the first group of pattern matches in out, "" if nothing.
func find(out, pattern string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
}
