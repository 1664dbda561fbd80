package extsock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestOnePortThreeKindsOfPeers: at one address, ReceiveRequest tells plain TCP, rddp and foreign
// iWARP peers apart before this end sends anything, and each peer gets its own server.
func TestOnePortThreeKindsOfPeers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		network := simtoe.New(simtoe.Config{Seed: 3, Split: true})
		l, err := extsock.Listen("tcp", "three:1", &extsock.Config{Backend: network, Startup: extsock.StartupPrefer, JudgeRequests: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var served sync.WaitGroup
		served.Go(func() {
			for {
				c, err := acceptConn(l)
				if err != nil {
					return
				}
				served.Go(func() {
					defer c.Close()
					if err := answerByKind(ctx, c); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				})
			}
		})
		silent, err := network.Dial(t.Context(), "tcp", "three:1")
		if err != nil {
			t.Fatal(err)
		}
		var clients sync.WaitGroup
		for range 5 {
			clients.Go(func() {
				s, err := network.Dial(t.Context(), "tcp", "three:1")
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				s.Write([]byte("MPA hello"))
				p := make([]byte, len("plain: MPA hello"))
				if _, err := io.ReadFull(s, p); string(p) != "plain: MPA hello" || err != nil {
					t.Errorf("the plain peer got %q, %v", p, err)
				}
			})
			clients.Go(func() {
				c, err := extsock.Dial("tcp", "three:1", &extsock.Config{Backend: network, Startup: extsock.StartupPrefer})
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				c.Write([]byte("MPA hello"))
				p := make([]byte, len("rddp: MPA hello"))
				if _, err := io.ReadFull(c, p); string(p) != "rddp: MPA hello" || err != nil {
					t.Errorf("the rddp peer got %q, %v", p, err)
				}
			})
			clients.Go(func() {
				c, err := extsock.Dial("tcp", "three:1", &extsock.Config{Backend: network, NoCapabilities: true, Messages: true})
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				if err := c.EnableDDP(t.Context(), []byte("who")); err != nil {
					t.Error(err)
					return
				}
				if got := c.ConnectionState().PeerPrivateData; string(got) != "me" {
					t.Errorf("the foreign peer's program gets the private data %q, want what the server's gave alone", got)
				}
				c.Write([]byte("MPA hello"))
				p := make([]byte, 100)
				if n, err := c.Read(p); string(p[:n]) != "iWARP: MPA hello" || err != nil {
					t.Errorf("the foreign peer got %q, %v", p[:n], err)
				}
			})
		}
		clients.Wait()
		l.Close()
		stop()
		served.Wait()
		silent.Close()
		settle()
	})
}

// answerByKind answers one message of the peer in its own protocol.
func answerByKind(ctx context.Context, c *extsock.Conn) error {
	req, err := c.ReceiveRequest(ctx)
	kind := "rddp: "
	var plain *extsock.FallbackError
	switch {
	case errors.As(err, &plain):
		kind = "plain: "
		if modeOf(c) != "TCP" || fallbackOf(c) != plain {
			return errors.New("Fallback does not say what ReceiveRequest does")
		}
	case err != nil:
		return err
	case !c.ConnectionState().PeerIsRDDP:
		return answerForeign(ctx, c, req)
	default:
		if err := req.Accept(ctx, nil); err != nil {
			return err
		}
	}
	p := make([]byte, len("MPA hello"))
	if _, err := io.ReadFull(c, p); err != nil {
		return err
	}
	if _, err := c.Write([]byte(kind + string(p))); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, c)
	return err
}

// answerForeign posts receive buffers of its own, once the Request has shown that they are needed.
func answerForeign(ctx context.Context, c *extsock.Conn, req *extsock.Request) error {
	if string(req.PrivateData) != "who" {
		return errors.New("private data " + string(req.PrivateData))
	}
	buf := make([]byte, 100)
	if err := c.PostRecv(rdmap.RecvRequest{ID: 7, Buf: buf}); err != nil {
		return err
	}
	if err := req.Accept(ctx, []byte("me")); err != nil {
		return err
	}
	if _, err := c.Read(buf); !errors.Is(err, extsock.ErrReceiveOwner) {
		return errors.New("Read has buffers, too")
	}
	got, err := c.RecvCQ().Wait(ctx)
	if err != nil || got.Status != rdmap.StatusOK || got.ID != 7 {
		return errors.Join(err, got.Err)
	}
	if _, err := c.Write([]byte("iWARP: " + string(buf[:got.Len]))); err != nil {
		return err
	}
	_ = c.PostRecv(rdmap.RecvRequest{ID: 8, Buf: buf}) // the peer may have closed
	_, err = c.RecvCQ().Wait(ctx)
	return err
}

// TestReceiveRequestLeavesPlainOctets: bytes that are not a Request go to the application, however
// similar they are to one.
func TestReceiveRequestLeavesPlainOctets(t *testing.T) {
	for same := range len(mpaKey) {
		for _, sent := range []string{mpaKey[:same], mpaKey[:same] + "x and more"} {
			bubble(t, func(t *testing.T) {
				c, peer := prefers(extsock.Config{})
				go func() {
					(&splitStream{peer, []int{1, same}}).Write([]byte(sent))
					peer.CloseWrite()
				}()
				_, err := c.ReceiveRequest(t.Context())
				var plain *extsock.FallbackError
				if !errors.As(err, &plain) || plain.Reason != extsock.FallbackPlainPeer || plain != fallbackOf(c) {
					t.Errorf("%q: ReceiveRequest = %v, Fallback = %v", sent, err, fallbackOf(c))
				}
				if got, err := io.ReadAll(c); string(got) != sent || err != nil {
					t.Errorf("of %q came %q, %v", sent, got, err)
				}
				c.Close()
				peer.Close()
			})
		}
	}
}

// TestReceiveRequestIsInterrupted: if the context ends before the peer's protocol is known, the
// connection remains usable, whatever the peer speaks. If it ends within the Request, the
// connection ends.
func TestReceiveRequestIsInterrupted(t *testing.T) {
	request := string(mpa.Frame{Revision: 2, CRC: true}.AppendTo(nil))
	for _, sent := range []string{"", "M", mpaKey[:15]} {
		for _, rest := range []string{"x", request[len(sent):]} {
			bubble(t, func(t *testing.T) {
				c, peer := prefers(extsock.Config{})
				peer.Write([]byte(sent))
				for range 2 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					if _, err := c.ReceiveRequest(ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("after %q: ReceiveRequest = %v, want the deadline", sent, err)
					}
					cancel()
				}
				peer.Write([]byte(rest))
				req, err := c.ReceiveRequest(t.Context())
				var plain *extsock.FallbackError
				if isPlain := rest == "x"; errors.As(err, &plain) != isPlain || (req == nil) != isPlain {
					t.Errorf("after %q and %q: ReceiveRequest = %v, %v", sent, rest, req, err)
				}
				if req != nil && (c.ConnectionState().PeerIsRDDP || len(req.PrivateData) > 0) {
					t.Errorf("the Request is %+v", req)
				}
				c.Close()
				peer.Close()
				settle()
			})
		}
	}
	bubble(t, func(t *testing.T) {
		c, peer := prefers(extsock.Config{})
		peer.Write([]byte(mpaKey + "\x40"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.ReceiveRequest(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ReceiveRequest = %v, want the deadline", err)
		}
		if _, err := c.ReceiveRequest(t.Context()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("ReceiveRequest after the deadline within the Request = %v", err)
		}
		peer.Close()
		settle()
	})
}

// TestReceiveRequestEnds tests everything else that can come instead of a Request.
func TestReceiveRequestEnds(t *testing.T) {
	begin := func(c *extsock.Conn) <-chan error {
		result := make(chan error, 1)
		go func() { _, err := c.ReceiveRequest(context.Background()); result <- err }()
		synctest.Wait()
		return result
	}
	t.Run("Close", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c, peer := prefers(extsock.Config{})
			result := begin(c)
			c.Close()
			if err := <-result; !errors.Is(err, net.ErrClosed) {
				t.Errorf("ReceiveRequest = %v", err)
			}
			peer.Close()
		})
	})
	t.Run("silence", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c, peer := prefers(extsock.Config{SniffTimeout: time.Minute})
			began := time.Now()
			var plain *extsock.FallbackError
			if err := <-begin(c); !errors.As(err, &plain) || plain.Reason != extsock.FallbackSniffTimeout || time.Since(began) != time.Minute {
				t.Errorf("ReceiveRequest = %v after %v", err, time.Since(began))
			}
			if _, err := c.Write([]byte("220 welcome")); err != nil {
				t.Error(err)
			}
			c.Close()
			if got, err := io.ReadAll(peer); string(got) != "220 welcome" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			peer.Close()
		})
	})
	t.Run("another call is at it", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c, peer := prefers(extsock.Config{})
			result := begin(c)
			if _, err := c.ReceiveRequest(t.Context()); !errors.Is(err, extsock.ErrBusy) {
				t.Errorf("the second ReceiveRequest = %v", err)
			}
			c.Close()
			<-result
			peer.Close()
		})
	})
	t.Run("it is plain TCP already", func(t *testing.T) { // a switch in the middle of a conversation
		bubble(t, func(t *testing.T) {
			c, peer := prefers(extsock.Config{})
			peer.Write([]byte("START DDP\n"))
			p := make([]byte, 10)
			if _, err := io.ReadFull(c, p); err != nil {
				t.Fatal(err)
			}
			peer.Write(mpa.Frame{Revision: 1}.AppendTo(nil))
			if req, err := c.ReceiveRequest(t.Context()); req == nil || err != nil {
				t.Errorf("ReceiveRequest = %v, %v", req, err)
			}
			c.Close()
			peer.Close()
			settle()
		})
	})
	t.Run("EnableDDP takes no plain peer", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c, peer := prefers(extsock.Config{})
			peer.Write([]byte("hello"))
			if err := c.EnableDDP(t.Context(), nil); !errors.Is(err, extsock.ErrNotMPA) {
				t.Errorf("EnableDDP = %v", err)
			}
			peer.Close()
			settle()
		})
	})
}

// TestPostRecvForARequest: the application can take the receive queue until the answer, and not
// after it. The answer then tells an rddp peer that there is no byte stream.
func TestPostRecvForARequest(t *testing.T) {
	for _, before := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			cr, s := prefers(extsock.Config{})
			ci := extsock.NewConn(s, true, nil)
			enabled := make(chan error, 1)
			go func() { enabled <- ci.EnableDDP(t.Context(), nil) }()
			req, err := cr.ReceiveRequest(t.Context())
			if err != nil || !cr.ConnectionState().PeerIsRDDP {
				t.Fatalf("ReceiveRequest = %+v, %v", req, err)
			}
			buf := make([]byte, 10)
			post := func() error { return cr.PostRecv(rdmap.RecvRequest{Buf: buf}) }
			if before {
				if err := post(); err != nil {
					t.Error(err)
				}
			}
			if err := errors.Join(req.Accept(t.Context(), nil), <-enabled); err != nil {
				t.Fatal(err)
			}
			if err := post(); errors.Is(err, extsock.ErrReceiveOwner) == before {
				t.Errorf("PostRecv after Accept = %v; one before it: %t", err, before)
			}
			if err := ci.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("hi")}); errors.Is(err, extsock.ErrByteStream) == before {
				t.Errorf("a Send = %v; receives posted: %t", err, before)
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
}

// TestRequestWaitsForItsJudge: with JudgeRequests, a Request that comes while no call waits for it
// is not answered, even if an earlier ReceiveRequest has given up. The next ReceiveRequest gets it.
func TestRequestWaitsForItsJudge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, n := simListener(t, extsock.Config{Startup: extsock.StartupPrefer, JudgeRequests: true})
		peer, err := n.Dial(t.Context(), "sim", "sim:1")
		if err != nil {
			t.Fatal(err)
		}
		c, err := acceptConn(l)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.ReceiveRequest(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("ReceiveRequest = %v", err)
		}
		ci := extsock.NewConn(peer, true, &extsock.Config{PrivateData: []byte("let me in")})
		dialed := make(chan error, 1)
		go func() { dialed <- ci.EnableDDP(t.Context(), nil) }()
		time.Sleep(6 * time.Second)
		select {
		case err := <-dialed:
			t.Errorf("the Request was answered before the program has seen it: %v", err)
			ci.Close()
			return
		default:
		}
		req, err := c.ReceiveRequest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if string(req.PrivateData) != "let me in" {
			t.Errorf("private data %q", req.PrivateData)
		}
		if err := req.Reject(t.Context(), nil); err != nil {
			t.Error(err)
		}
		<-dialed
		ci.Close()
		c.Close()
		l.Close()
		settle()
	})
}
