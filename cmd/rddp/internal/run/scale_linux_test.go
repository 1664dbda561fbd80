//go:build amd64 || arm64

package run

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

func init() { programs["many"], programs["large"] = manyProgram, largeProgram }

// manyQPs is how many queue pairs TestManyQueuePairs joins.
const manyQPs = 1000

// supervisorMemory returns the memory in KiB of this program's supervisor: its own, and what it
// shares with the program, such as the rings.
func supervisorMemory() (own, shared float64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", supervisorPID()))
	for line := range bytes.Lines(b) {
		name, rest, _ := strings.Cut(string(line), ":")
		kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		n, _ := strconv.ParseFloat(kib, 64)
		switch name {
		case "RssAnon":
			own = n
		case "RssShmem":
			shared = n
		}
	}
	return own, shared, err
}

// A figure is a result that a program reports to the benchmark, in a line on its standard error.
type figure struct {
	value float64
	unit  string
}

func tellFigures(all ...figure) {
	for _, f := range all {
		fmt.Fprintln(os.Stderr, "figure", f.value, f.unit)
	}
}

// reportFigures reports the figures in text.
func reportFigures(b *testing.B, text string) {
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		var f figure
		if _, err := fmt.Sscanf(s.Text(), "figure %g %s", &f.value, &f.unit); err == nil {
			b.ReportMetric(f.value, f.unit)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// manyProgram is one of two programs that connect all of their queue pairs, which share one CQ.
// Over each, they write a number to the other's memory, and then send an empty message.
func manyProgram(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	c, err := guest.OpenDevice()
	if err != nil {
		return err
	}
	pd, err := c.PD()
	if err != nil {
		return err
	}
	memory, err := pages(2 * 8 * n) // the numbers to send, then the received ones
	if err != nil {
		return err
	}
	mr, err := c.Register(pd, memory, guest.All)
	if err != nil {
		return err
	}
	cq, err := c.CQ(uint32(4*n), -1, 1)
	if err != nil {
		return err
	}
	own, shared, err := supervisorMemory()
	if err != nil {
		return err
	}
	qps := make([]*guest.QP, n)
	names := make([]string, n)
	for i := range qps {
		if qps[i], err = c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 16, SGEs: 1, Inline: 64}); err != nil {
			return err
		}
		names[i] = fmt.Sprint(qps[i].Num)
		binary.NativeEndian.PutUint64(memory[8*i:], uint64(i)<<32|1)
		qps[i].PostRecv(uint64(i), mr.Part(0, 8))
	}
	ownIdle, sharedIdle, err := supervisorMemory()
	if err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	if err := joinMany(c, in, mr, qps, names); err != nil {
		return err
	}
	if err := drainMany(cq, n); err != nil {
		return err
	}
	for i := range n {
		if got := binary.NativeEndian.Uint64(memory[8*(n+i):]); got != uint64(i)<<32|1 {
			return fmt.Errorf("queue pair %d has brought %#x", i, got)
		}
	}
	ownBusy, sharedBusy, err := supervisorMemory()
	if err != nil {
		return err
	}
	if args[0] == "first" {
		per := float64(n)
		tellFigures(figure{(ownIdle - own) / per, "KiB/new-QP"}, figure{(ownBusy - own) / per, "KiB/joined-QP"},
			figure{(sharedIdle - shared) / per, "KiB/new-QP-rings"}, figure{(sharedBusy - shared) / per, "KiB/joined-QP-rings"})
	}
	tell("done")
	if line, err := in.ReadString('\n'); err != nil || line != "done\n" {
		return fmt.Errorf("%q, %w", line, err)
	}
	return nil
}

// joinMany connects the queue pairs to those of the other program, and posts a Write and a Send on
// each.
func joinMany(c *guest.Context, in *bufio.Reader, mr guest.MR, qps []*guest.QP, names []string) error {
	gid, err := os.ReadFile("/sys/class/infiniband/" + DeviceName + "/ports/1/gids/0")
	if err != nil {
		return err
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(gid)), ":", ""))
	if err != nil {
		return err
	}
	tell("%d %d %s", mr.Key, mr.Addr, strings.Join(names, " "))
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	words := strings.Fields(line)
	var far guest.MR
	if _, err := fmt.Sscan(words[0]+" "+words[1], &far.Key, &far.Addr); err != nil {
		return err
	}
	for i, q := range qps {
		qpn, err := strconv.ParseUint(words[2+i], 10, 32)
		if err != nil {
			return err
		}
		if err := q.Join([16]byte(raw), uint32(qpn)); err != nil {
			return err
		}
		write := guest.WR{Op: guest.OpWrite, Remote: far.Addr + uint64(8*(len(qps)+i)), Key: far.Key, List: []guest.SGE{mr.Part(8*i, 8)}}
		send := guest.WR{ID: uint64(len(qps) + i), Op: guest.OpSend, Flags: guest.Signaled}
		if err := errors.Join(q.Post(write), q.Post(send)); err != nil {
			return err
		}
	}
	return nil
}

// drainMany waits for the completions of n Sends and n receives, each of which must come once.
func drainMany(cq *guest.CQ, n int) error {
	seen := make([]bool, 2*n)
	for range 2 * n {
		w := next(cq)
		if w.Status != 0 || w.ID >= uint64(2*n) || seen[w.ID] {
			return fmt.Errorf("completion %+v", w)
		}
		seen[w.ID] = true
	}
	return nil
}

// runMany runs two programs with n queue pairs each, and returns the output of the first.
func runMany(t testing.TB, n int) string {
	t.Helper()
	first, second := makePair(t, "many", strconv.Itoa(n))
	var text bytes.Buffer
	first.Stderr = &text
	if err := errors.Join(first.Start(), second.Start(), first.Wait(), second.Wait()); err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	return text.String()
}

// TestManyQueuePairs connects many queue pairs of two programs, and uses them all.
func TestManyQueuePairs(t *testing.T) { runMany(t, testmode.Rounds(manyQPs, manyQPs/4)) }

// BenchmarkMemory measures the memory that a supervisor needs for a program's objects: its own, and
// the rings, which it shares with the program.
func BenchmarkMemory(b *testing.B) {
	b.Run("queue pairs", func(b *testing.B) {
		for range b.N {
			reportFigures(b, runMany(b, manyQPs))
		}
	})
	b.Run("registered", func(b *testing.B) {
		for range b.N {
			c := under(performance(b, "large")...)
			var text bytes.Buffer
			c.Stderr = &text
			if err := c.Run(); err != nil {
				b.Fatalf("%v\n%s", err, &text)
			}
			reportFigures(b, text.String())
		}
	})
}

// largeProgram registers 1 GiB of memory in use, and then the same memory in many pieces.
func largeProgram([]string) error {
	const size, pieces = 1 << 30, 10_000
	c, err := guest.OpenDevice()
	if err != nil {
		return err
	}
	pd, err := c.PD()
	if err != nil {
		return err
	}
	memory, err := pages(size)
	if err != nil {
		return err
	}
	for i := 0; i < size; i += unix.Getpagesize() {
		memory[i] = 1
	}
	before, _, err := supervisorMemory()
	if err != nil {
		return err
	}
	if _, err := c.Register(pd, memory, guest.All); err != nil {
		return err
	}
	whole, _, err := supervisorMemory()
	if err != nil {
		return err
	}
	for i := range pieces {
		if _, err := c.Register(pd, memory[i*size/pieces:(i+1)*size/pieces], guest.All); err != nil {
			return err
		}
	}
	after, _, err := supervisorMemory()
	tellFigures(figure{whole - before, "KiB/GiB"}, figure{(after - whole) / pieces, "KiB/MR"})
	return err
}
