// Floor measures plain TCP with an extra round trip, or extra state, for each connection. It uses
// none of rddp's code. Its figures are a lower bound for those of rddp perf --scale: how fast many
// connections can be, and how fast a connection can be opened.
//
// Usage: floor [-conns list] [-lines list] [-opened n] [-rounds n] [-time duration]
//
// The first table has round trips of 1 KiB on many connections. Before each message, each end
// changes one byte in each of a number of cache lines that belong to that connection alone. The
// ratio compares with the same program without such lines.
//
// The second table has the opening of a connection, one after another. "exchange" is a connect and
// the minimum of an MPA startup: a request, a reply, and the first FPDU of the Initiator, for which
// neither end waits. The ratio compares with connect alone.
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
	d := flag.Duration("time", 2*time.Second, "time of one run of many connections")
	server := flag.String("server", "", "be the other process: echo N, or open")
	flag.Parse()
	if flag.NArg() > 0 || *opened < 1 || *rounds < 1 || *d <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if *server != "" {
		err = serve(*server)
	} else {
		err = measure(conns, lines, *opened, *rounds, *d)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func measure(conns, lines []int, opened, rounds int, d time.Duration) error {
	fmt.Printf("| connections | cache lines of each end | ratio | round trips per second |\n| --- | --- | --- | --- |\n")
	for _, n := range conns {
		rates := make([][]float64, 1+len(lines))
		for range rounds { // the contenders take turns
			for i, l := range append([]int{0}, lines...) {
				r, err := echoes(n, l, d)
				if err != nil {
					return err
				}
				rates[i] = append(rates[i], r)
			}
		}
		for i, l := range lines {
			fmt.Printf("| %d | %d | %s | %.0f |\n", n, l, ratio(rates[1+i], rates[0]), median(rates[1+i]))
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

// start runs this program as the other process, and returns its address. stop ends that process.
func start(what string) (addr string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, "-server", what)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { in.Close(); cmd.Wait() }
	addr, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, err
	}
	return strings.TrimSpace(addr), stop, nil
}

// serve is the other process. It ends when its standard input does.
func serve(what string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	handle := answerOpening
	if s, ok := strings.CutPrefix(what, "echo "); ok {
		lines, err := strconv.Atoi(s)
		if err != nil {
			return err
		}
		handle = func(c net.Conn) { answer(c, newState(lines)) }
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go handle(c)
	}
}
