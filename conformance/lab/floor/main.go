// Floor measures plain TCP with an extra round trip, or extra state, for each connection. It uses
// none of rddp's code. Its figures are a lower bound for those of rddp perf --scale: how fast many
// connections can be, and how fast a connection can be opened; for those of its Writes one by one;
// and for those of an echo after a pause.
//
// Usage: floor [-conns list] [-lines list] [-opened n] [-rounds n] [-time duration] [-echoes n]
//
// The first table has round trips of 1 KiB on many connections. Before each message, each end
// changes one byte in each of a number of cache lines that belong to that connection alone and lie
// on four pages, in random order. The CPU can fetch them "together", or has to fetch them "one by
// one", because each says where the next one is. The ratios, of the rate and of the processor time
// of both ends, compare with the same program without such lines.
//
// The second table has the opening of a connection, one after another. "exchange" is a connect and
// the minimum of an MPA startup: a request, a reply, and the first FPDU of the Initiator, for which
// neither end waits. The ratio compares with connect alone.
//
// The third table has one connection on which one end writes 4 KiB, again and again, and the other
// reads. "framed, copied" is the minimum of an RDMA Write: a header and a trailer go out with each
// of them, and the other end reads many at once, and copies each to its place.
//
// The fourth table has an echo of 64 bytes after a pause, with both ends in this process. Before it
// writes, each end changes a byte in 500 cache lines on 68 pages: so many more does an echo over
// rddp execute or change than one over plain TCP. The ratios compare with none.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// numbers is a flag with a comma-separated list of numbers.
type numbers []int

func (n *numbers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*n), " ", ","), "[]")
}

func (n *numbers) Set(s string) error {
	*n = nil
	if s == "" {
		return nil
	}
	for f := range strings.SplitSeq(s, ",") {
		v, err := strconv.Atoi(f)
		if err != nil || v < 0 {
			return errors.New("not a list of numbers")
		}
		*n = append(*n, v)
	}
	return nil
}

func main() {
	conns, lines := numbers{64, 1000, 8000}, numbers{22, 64, 126}
	flag.Var(&conns, "conns", "numbers of connections")
	flag.Var(&lines, "lines", "numbers of cache lines for each message and end")
	opened := flag.Int("opened", 500, "number of connections that one round opens")
	rounds := flag.Int("rounds", 5, "number of rounds")
	d := flag.Duration("time", 2*time.Second, "time of one run of many connections, or of Writes")
	pauses := flag.Int("echoes", 100, "number of echoes after each pause")
	server := flag.String("server", "", "be the other process: echo N, open, or write")
	flag.Parse()
	if flag.NArg() > 0 || *opened < 1 || *rounds < 1 || *d <= 0 || *pauses < 1 {
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if *server != "" {
		err = serve(*server)
	} else {
		err = measure(conns, lines, *opened, *rounds, *d)
		if err == nil {
			err = measureWrites(*rounds, *d)
		}
		if err == nil {
			err = measurePauses(*pauses)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func measure(conns, lines []int, opened, rounds int, d time.Duration) error {
	fmt.Printf("| connections | cache lines of each end | rate | processor time | µs |\n| --- | --- | --- | --- | --- |\n")
	loads := []load{{}}
	for _, l := range lines {
		loads = append(loads, load{Lines: l}, load{Lines: l, Chain: true})
	}
	for _, n := range conns {
		rates, cpus := make([][]float64, len(loads)), make([][]float64, len(loads))
		for range rounds { // the contenders take turns
			for i, l := range loads {
				s, err := echoes(n, l, d)
				if err != nil {
					return err
				}
				rates[i], cpus[i] = append(rates[i], s.rate), append(cpus[i], s.cpu)
			}
		}
		for i, l := range loads {
			what := "0"
			switch {
			case l.Chain:
				what = fmt.Sprint(l.Lines, ", one by one")
			case l.Lines > 0:
				what = fmt.Sprint(l.Lines, ", together")
			}
			fmt.Printf("| %d | %s | %s | %s | %.1f |\n", n, what, ratio(rates[i], rates[0]), ratio(cpus[i], cpus[0]), median(cpus[i]))
		}
	}
	var connect, exchange []float64
	for range rounds {
		for _, t := range []struct {
			to       *[]float64
			exchange bool
		}{{&connect, false}, {&exchange, true}} {
			s, err := openings(opened, t.exchange)
			if err != nil {
				return err
			}
			*t.to = append(*t.to, s*1e6)
		}
	}
	fmt.Printf("\n| opening | ratio | µs |\n| --- | --- | --- |\n| connect | 1 | %.1f |\n| exchange | %s | %.1f |\n",
		median(connect), ratio(exchange, connect), median(exchange))
	return nil
}

// ratio returns the median of the rounds' ratios of a to b, with the lowest and the highest.
func ratio(a, b []float64) string {
	r := make([]float64, len(a))
	for i := range r {
		r[i] = a[i] / b[i]
	}
	slices.Sort(r)
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(r), r[0], r[len(r)-1])
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// A process is the other end.
type process struct {
	addr string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// start runs this program as the other process.
func start(what string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, "-server", what)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if p.addr, err = p.out.ReadString('\n'); err != nil {
		p.stop()
		return nil, err
	}
	p.addr = strings.TrimSpace(p.addr)
	return p, nil
}

// stop ends the process.
func (p *process) stop() {
	p.in.Close()
	p.cmd.Wait()
}

// bothEnds returns the processor time that this process and the other one have taken.
func (p *process) bothEnds() (time.Duration, error) {
	if _, err := fmt.Fprintln(p.in); err != nil {
		return 0, err
	}
	s, err := p.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	there, err := time.ParseDuration(strings.TrimSpace(s))
	return there + processTime(), err
}

// serve is the other process. It answers each line of its standard input with the processor time
// that it has taken, and ends when its standard input does.
func serve(what string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(processTime())
		}
		os.Exit(0)
	}()
	handle := answerOpening
	if s, ok := strings.CutPrefix(what, "echo "); ok {
		var l load
		if _, err := fmt.Sscan(s, &l.Lines, &l.Chain); err != nil {
			return err
		}
		handle = func(c net.Conn) { answer(c, message, newState(l).touch) }
	}
	if s, ok := strings.CutPrefix(what, "write "); ok {
		var w work
		if _, err := fmt.Sscan(s, &w.Framed, &w.CRC); err != nil {
			return err
		}
		handle = func(c net.Conn) { takeWrites(c, w) }
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go handle(c)
	}
}
