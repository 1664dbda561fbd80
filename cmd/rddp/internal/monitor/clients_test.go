package monitor

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.over) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// TestIdleClients: a scrape does not wait for clients that send no request or only a part of one.
func TestIdleClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn, 3*maxClients), over: make(chan struct{})}
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "7") })
		stop := serve(l, nil, h, slog.New(slog.DiscardHandler), time.Hour) // no timeout expires during the test
		defer stop()
		const ask = "GET /metrics HTTP/1.1\r\nHost: x\r\n"
		closed := make(chan int, 2*maxClients) // the numbers of clients whose connections are closed
		var idle []net.Conn
		for i := range 2 * maxClients {
			c := l.dial()
			defer c.Close()
			idle = append(idle, c)
			go func() {
				if i%2 == 1 {
					io.WriteString(c, ask)
				}
				if i < maxClients {
					io.Copy(io.Discard, c)
					closed <- i
				}
			}()
		}
		synctest.Wait()
		answered := make(chan string, 10)
		request := func(c net.Conn, rest string) {
			go func() {
				io.WriteString(c, rest+"\r\n")
				r, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					answered <- err.Error()
					return
				}
				b, _ := io.ReadAll(r.Body)
				answered <- string(b)
			}()
			synctest.Wait()
			select {
			case got := <-answered:
				if got != "7" {
					t.Errorf("the answer is %q", got)
				}
			default:
				t.Fatal("a scrape waits for clients that ask for nothing")
			}
		}
		scrape := l.dial()
		defer scrape.Close()
		request(scrape, ask)
		// The newest clients are still connected. A client counts as idle from its last answer on.
		request(idle[len(idle)-1], "")
		request(idle[len(idle)-1], ask)
		select {
		case <-closed:
		default:
			t.Error("the oldest still have their connections")
		}
	})
}
