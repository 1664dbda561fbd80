package ping

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// isTerminate returns a function that reports whether err is a Terminate of the peer (remote) or of
// this end.
func isTerminate(remote bool) func(error) bool {
	return func(err error) bool {
		e := (*rdmap.TerminateError)(nil)
		return errors.As(err, &e) && e.Remote == remote
	}
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

// as reports whether err's chain contains an E.
func as[E error](err error) bool { return errors.As(err, new(E)) }

// acceptOne switches a connection to DDP mode as a Responder with receive buffers, like a server.
func acceptOne(t *testing.T, stream toe.Stream) *session {
	s, err := newSession(extsock.NewConn(stream, false, (&Config{}).socket()), &Config{Timeout: time.Minute})
	if err == nil {
		err = s.start(context.Background(), s.conn.EnableDDP)
	}
	if err != nil {
		t.Errorf("the fake server's startup: %v", err)
	}
	return s
}

// drain reads a connection to its end.
func drain(c io.Reader) { io.Copy(io.Discard, c) }

// clientFaults are faults of servers. server is called for one connection after the other.
var clientFaults = []struct {
	desc   string
	server func(t *testing.T, stream toe.Stream)
	is     func(error) bool
	words  []string
}{
	{"an HTTP server", func(t *testing.T, stream toe.Stream) {
		bufio.NewReader(stream).ReadByte()
		io.WriteString(stream, "HTTP/1.1 400 Bad Request\r\n\r\n")
		drain(stream)
	}, is(extsock.ErrNotMPA), []string{"MPA startup with server:1: ", "does not speak MPA", `"HTTP/1.1 `}},
	{"a server that speaks first", func(t *testing.T, stream toe.Stream) {
		io.WriteString(stream, "SSH-2.0-OpenSSH_9.6\r\n")
		drain(stream)
	}, func(err error) bool { return errors.Is(err, extsock.ErrNotMPA) || errors.Is(err, extsock.ErrBusy) }, // depends on the timing
		[]string{"MPA startup with server:1: ", `"SSH-2.0-`}},
	{"a silent server", func(t *testing.T, stream toe.Stream) {
		drain(stream)
	}, is(os.ErrDeadlineExceeded), []string{"MPA startup with server:1: no answer within 3s"}},
	{"a server that closes at the Request", func(t *testing.T, stream toe.Stream) {
		stream.Read(make([]byte, 1000))
	}, is(extsock.ErrNoReply), []string{"MPA startup with server:1: ", "without an MPA Reply"}},
	{"a server that resets at the Request", func(t *testing.T, stream toe.Stream) {
		stream.Read(make([]byte, 1000))
		stream.Abort()
	}, is(extsock.ErrNoReply), []string{"MPA startup with server:1: ", "reset the connection instead of sending an MPA Reply"}},
	{"a rejection", func(t *testing.T, stream toe.Stream) {
		conn := extsock.NewConn(stream, false, (&Config{}).socket())
		req, err := conn.ReceiveRequest(t.Context())
		if err == nil {
			err = req.Reject(t.Context(), []byte("go away"))
		}
		if err != nil {
			t.Error(err)
		}
		drain(conn)
		conn.Close()
	}, as[*mpa.RejectError], []string{"MPA startup with server:1: ", `rejected`, `"go away"`}},
	{"a server without receive buffers", func(t *testing.T, stream toe.Stream) {
		cfg := (&Config{}).socket()
		cfg.RecvCQ = extsock.NewCompletionQueue(1)
		conn := extsock.NewConn(stream, false, cfg)
		if err := conn.EnableDDP(t.Context(), nil); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // in a bubble
		conn.Close()
	}, func(err error) bool {
		// The Terminate may arrive before the client knows that TCP has accepted its offer.
		return isTerminate(true)(err) && (strings.Contains(err.Error(), "ping 0: offering the source buffer: ") ||
			strings.Contains(err.Error(), "ping 0: waiting for the go-ahead after the RDMA Read: "))
	}, []string{"no buffer"}},
	{"silence after startup", func(t *testing.T, stream toe.Stream) {
		s := acceptOne(t, stream)
		time.Sleep(time.Minute) // in a bubble
		s.conn.Close()
	}, is(os.ErrDeadlineExceeded), []string{"ping 0: waiting for the go-ahead after the RDMA Read: no answer within 3s"}},
	{"a close after startup", func(t *testing.T, stream toe.Stream) {
		s := acceptOne(t, stream)
		s.receive(context.Background())
		s.conn.Close()
	}, isClosed, []string{"ping 0: waiting for the go-ahead after the RDMA Read: the peer closed the connection"}},
	{"a go-ahead that is too short", func(t *testing.T, stream toe.Stream) {
		s := acceptOne(t, stream)
		s.receive(context.Background())
		s.send(context.Background(), make([]byte, 8))
		s.receive(context.Background())
		s.conn.Close()
	}, is(ErrProtocol), []string{"ping 0: waiting for the go-ahead after the RDMA Read: ", "8 bytes instead of 16"}},
	{"a go-ahead that is too long", func(t *testing.T, stream toe.Stream) {
		s := acceptOne(t, stream)
		s.receive(context.Background())
		s.send(context.Background(), make([]byte, 17))
		s.receive(context.Background())
		s.conn.Close()
	}, isTerminate(false), []string{"ping 0: waiting for the go-ahead after the RDMA Read: ended the connection with a Terminate: ", "too long"}},
	{"a byte that changes on the way", func(t *testing.T, stream toe.Stream) {
		a := answerer{session: acceptOne(t, stream)}
		source, _ := a.receiveHandle(context.Background())
		a.read(context.Background(), source)
		a.data[17] ^= 0x20
		a.send(context.Background(), goAhead[:])
		sink, _ := a.receiveHandle(context.Background())
		a.write(context.Background(), sink)
		a.send(context.Background(), goAhead[:])
		a.receive(context.Background())
		a.conn.Close()
	}, as[*MismatchError], []string{"ping 0: validating: byte 17 came back as 0x65, but 0x45 was sent"}},
	{"a Write of the wrong STag", func(t *testing.T, stream toe.Stream) {
		a := answerer{session: acceptOne(t, stream), data: []byte("data")}
		h, _ := a.receiveHandle(context.Background())
		a.do(context.Background(), rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: a.data, Remote: h}) // read only
		a.receive(context.Background())
		a.conn.Close()
	}, isTerminate(false), []string{"ping 0: waiting for the go-ahead after the RDMA Read: ", "access rights"}},
}

func TestClientFaults(t *testing.T) {
	for i, tt := range clientFaults {
		t.Run(tt.desc, func(t *testing.T) { checkFault(t, clientFault(t, i), tt.is, tt.words) })
	}
}

// clientFault returns the client's error for fault number i.
func clientFault(t *testing.T, i int) (err error) {
	synctest.Test(t, func(t *testing.T) {
		backend := simtoe.New(simtoe.Config{})
		l, failed := backend.Listen(t.Context(), "tcp", "server:1")
		if failed != nil {
			t.Fatal(failed)
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			for {
				stream, err := l.Accept()
				if err != nil {
					return
				}
				clientFaults[i].server(t, stream)
				stream.Close()
			}
		}()
		cfg := &Config{Socket: extsock.Config{Backend: backend}, Count: 1, Timeout: 3 * time.Second, Validate: true}
		_, err = Client(t.Context(), "server:1", cfg)
		l.Close()
		<-served
	})
	return err
}

// TestOperatorsTable: rddp produces each error text that the operator's guide explains. A … stands
// for any text, and N for a number.
func TestOperatorsTable(t *testing.T) {
	said := []string{
		(&Error{Ping: -1, Step: "connecting to server:1", Err: syscall.ECONNREFUSED}).Error(),
		(&Error{Ping: -1, Step: "connecting to server:1", Err: bounded(os.ErrDeadlineExceeded, time.Second)}).Error(),
		ErrNoReads.Error(),
		(&mpa.Error{Code: mpa.CodeNoRTR}).Error(), // no server in clientFaults has CRC errors or lacks a common RTR
		(&mpa.Error{Code: mpa.CodeCRC}).Error(),
		"bytes that came before the switch have not been read", // for a server that speaks first, and early
	}
	for i := range clientFaults {
		said = append(said, clientFault(t, i).Error())
	}
	guide, err := os.ReadFile("../../../../docs/operator.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(guide), "| rddp prints |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[2:]
	if len(rows) < 5 {
		t.Fatalf("the table has the rows %q", rows)
	}
	for _, row := range rows {
		first := strings.Split(row, "|")[1]
		for i, text := range strings.Split(first, "`") {
			if i%2 == 0 || strings.HasPrefix(text, "-") || text == "SSH-" { // between texts, an option, an example
				continue
			}
			text = strings.NewReplacer("…", ".*", " N ", " [0-9]+ ").Replace(regexp.QuoteMeta(text))
			is := regexp.MustCompile(text).MatchString
			if !slices.ContainsFunc(said, is) {
				t.Errorf("rddp never says %q", text)
			}
		}
	}
}

// checkFault checks an error of Client or Serve: its chain, its words, and that it has only one
// line.
func checkFault(t *testing.T, err error, is func(error) bool, words []string) {
	t.Helper()
	if err == nil || !is(err) {
		t.Fatalf("error %#v (%v) is not the one wanted", err, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error says %q, want it to have %q in it", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is more than a line: %q", err)
	}
	if n := strings.Count(err.Error(), "server:1"); n > 1 {
		t.Errorf("the error names the address %d times: %q", n, err)
	}
}

func TestClientRefused(t *testing.T) {
	_, err := Client(t.Context(), "server:1", &Config{Socket: extsock.Config{Backend: simtoe.New(simtoe.Config{})}})
	checkFault(t, err, is(syscall.ECONNREFUSED), []string{"connecting to server:1: ", "refused"})
}

// With kernel TCP, the error has the words of the system.
func TestClientRefusedByKernel(t *testing.T) {
	address := prototest.ClosedPort(t)
	_, err := Client(t.Context(), address, &Config{Timeout: prototest.Patience(t)})
	checkFault(t, err, as[syscall.Errno], []string{"connecting to " + address + ": ", "refused"})
}

func TestListenFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Listen(l.Addr().String(), nil)
	checkFault(t, err, as[syscall.Errno], []string{"listening at " + l.Addr().String() + ": "})
}

// serverFaults are faults of clients that have completed startup.
var serverFaults = []struct {
	desc   string
	client func(ctx context.Context, c *client)
	is     func(error) bool
	words  []string
}{
	{"silence after startup", func(ctx context.Context, c *client) {
		time.Sleep(time.Minute) // in a bubble
	}, is(os.ErrDeadlineExceeded), []string{"ping 0: waiting for the client's source buffer: no answer within 3s"}},
	{"silence in a later ping", func(ctx context.Context, c *client) {
		c.ping(ctx)
		c.offer(ctx, "source", c.source)
		c.receive(ctx)
		time.Sleep(time.Minute)
	}, is(os.ErrDeadlineExceeded), []string{"ping 1: waiting for the client's sink buffer: no answer within 3s"}},
	{"a close before the first ping", func(context.Context, *client) {}, isClosed,
		[]string{"ping 0: waiting for the client's source buffer: the peer closed the connection"}},
	{"a close in the middle of a ping", func(ctx context.Context, c *client) {
		c.offer(ctx, "source", c.source)
		c.receive(ctx)
	}, isClosed, []string{"ping 0: waiting for the client's sink buffer: the peer closed the connection"}},
	{"a source that is too long", func(ctx context.Context, c *client) {
		c.register(1001)
		c.offer(ctx, "source", c.source)
		c.receive(ctx)
	}, as[*Error], []string{"ping 0: RDMA Read of the source buffer: ", "1001 bytes", "1 to 1000"}},
	{"a source of no bytes", func(ctx context.Context, c *client) {
		c.send(ctx, make([]byte, messageLen))
		c.receive(ctx)
	}, as[*Error], []string{"ping 0: RDMA Read of the source buffer: ", "0 bytes"}},
	{"a source that does not exist", func(ctx context.Context, c *client) {
		h := c.source.Handle()
		h.STag ^= 0x5500
		c.send(ctx, h.AppendTo(nil))
		c.receive(ctx)
	}, isTerminate(true), []string{"ping 0: RDMA Read of the source buffer: the peer ended the connection with a Terminate: ", "invalid STag"}},
	{"a source that may not be read", func(ctx context.Context, c *client) {
		c.offer(ctx, "source", c.sink)
		c.receive(ctx)
	}, isTerminate(true), []string{"ping 0: RDMA Read of the source buffer: ", "access rights"}},
	{"a sink that is too short", func(ctx context.Context, c *client) {
		c.offer(ctx, "source", c.source)
		c.receive(ctx)
		h := c.sink.Handle()
		h.Len--
		c.send(ctx, h.AppendTo(nil))
		c.receive(ctx)
	}, is(ErrProtocol), []string{"ping 0: RDMA Write to the sink buffer: ", "its buffer has 63 bytes, the ping data 64"}},
	{"a sink that may not be written", func(ctx context.Context, c *client) {
		c.offer(ctx, "source", c.source)
		c.receive(ctx)
		c.offer(ctx, "sink", c.source)
		c.receive(ctx)
		c.receive(ctx)
	}, isTerminate(true), []string{": the peer ended the connection with a Terminate: "}}, // in this step or, if it is slower, in the next
	{"a message that is no handle", func(ctx context.Context, c *client) {
		c.send(ctx, []byte("hello"))
		c.receive(ctx)
	}, is(ErrProtocol), []string{"ping 0: waiting for the client's source buffer: ", "5 bytes instead of 16"}},
}

func TestServerFaults(t *testing.T) {
	for _, tt := range serverFaults {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				socket := extsock.Config{Backend: simtoe.New(simtoe.Config{})}
				addr, end := serve(t.Context(), t, "server:1", &Config{Socket: socket, Size: 1000, Timeout: 3 * time.Second})
				s, err := dial(t.Context(), addr, &Config{Socket: socket, Timeout: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				c := &client{session: s}
				if err := c.register(64); err != nil {
					t.Fatal(err)
				}
				c.n = 0
				tt.client(t.Context(), c)
				s.conn.Close()
				checkFault(t, end(), tt.is, tt.words)
			})
		})
	}
}

func TestServerNeedsReads(t *testing.T) {
	socket := extsock.Config{Backend: simtoe.New(simtoe.Config{})}
	addr, end := serve(t.Context(), t, "server:1", &Config{Socket: socket})
	socket.IRD = -1
	_, err := Client(t.Context(), addr, &Config{Socket: socket, Count: 1})
	checkFault(t, err, isClosed, []string{"ping 0: "})
	checkFault(t, end(), is(ErrNoReads), []string{"IRD is 0"})
}

// The first connection is closed at its revision 2 Request; the second carries the pings with
// revision 1.
func TestRevisionFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := simtoe.New(simtoe.Config{})
		l, err := backend.Listen(t.Context(), "tcp", "server:1")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() {
			defer l.Close()
			first, err := l.Accept()
			if err != nil {
				served <- err
				return
			}
			first.Read(make([]byte, 1000))
			first.Close()
			second, err := l.Accept()
			if err != nil {
				served <- err
				return
			}
			s := acceptOne(t, second)
			served <- s.close((&answerer{session: s}).run(t.Context()))
		}()
		seen := new(taps)
		cfg := &Config{Socket: extsock.Config{Backend: backend, Tap: seen.tap}, Count: 2, Validate: true}
		sum, err := Client(t.Context(), "server:1", cfg)
		if e := <-served; sum.Pings != 2 || err != nil || e != nil {
			t.Fatalf("%d pings, client: %v, server: %v", sum.Pings, err, e)
		}
		const first = mpa.FrameHeaderLen + 4 // octets, with the enhanced header
		if a, b := seen.sent[0][17], seen.sent[0][first+17]; a != 2 || b != 1 {
			t.Errorf("the Requests have revisions %d and %d, want 2 and 1", a, b)
		}
	})
}
