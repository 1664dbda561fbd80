package apps_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A service is gRPC's own service for tests. It does not depend on the transport.
type service struct {
	pb.UnimplementedTestServiceServer
	src   source
	began chan struct{} // an EmptyCall has arrived
	over  chan error    // how the context of a waiting call ended
}

// UnaryCall returns the request's payload.
func (s *service) UnaryCall(_ context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	return &pb.SimpleResponse{Payload: r.Payload}, nil
}

// EmptyCall takes until its context is done.
func (s *service) EmptyCall(ctx context.Context, _ *pb.Empty) (*pb.Empty, error) {
	s.began <- struct{}{}
	<-ctx.Done()
	s.over <- ctx.Err()
	return nil, ctx.Err()
}

// StreamingOutputCall sends octets of the source in messages of the requested lengths. The
// request's payload is the offset of the first one. Without lengths it sends until the client ends
// the call.
func (s *service) StreamingOutputCall(r *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	from := int(binary.BigEndian.Uint64(r.Payload.Body))
	for _, p := range r.ResponseParameters {
		if err := stream.Send(&pb.StreamingOutputCallResponse{Payload: payload(s.src[from:][:p.Size])}); err != nil {
			return err
		}
		from += int(p.Size)
	}
	for len(r.ResponseParameters) == 0 {
		if err := stream.Send(&pb.StreamingOutputCallResponse{Payload: payload(s.src[:32<<10])}); err != nil {
			s.over <- stream.Context().Err()
			return err
		}
	}
	return nil
}

// StreamingInputCall counts the octets that it receives.
func (s *service) StreamingInputCall(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	n := 0
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: int32(n)})
		}
		if err != nil {
			return err
		}
		n += len(r.Payload.Body)
	}
}

// FullDuplexCall returns each message as it arrives.
func (s *service) FullDuplexCall(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = stream.Send(&pb.StreamingOutputCallResponse{Payload: r.Payload})
		}
		if err != nil {
			s.over <- stream.Context().Err()
			return err
		}
	}
}

func payload(b []byte) *pb.Payload { return &pb.Payload{Body: b} }

// An accepting is a listener that remembers the connections that it has accepted.
type accepting struct {
	*extsock.Listener
	mu    sync.Mutex
	conns []*extsock.Conn
}

func (l *accepting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, c.(*extsock.Conn))
	return c, nil
}

// newService starts the service and returns clients of it, each with its own connection.
func newService(t *testing.T, src source, n int) (*service, []pb.TestServiceClient) {
	l := &accepting{Listener: listen(t)}
	s := &service{src: src, began: make(chan struct{}, 16), over: make(chan error, 16)}
	server := grpc.NewServer()
	pb.RegisterTestServiceServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()

	var d dialer
	var conns []*grpc.ClientConn
	var clients []pb.TestServiceClient
	for range n {
		c, err := grpc.NewClient("passthrough:///"+l.Addr().String(),
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				return d.DialContext(ctx, "tcp", addr)
			}))
		if err != nil {
			t.Fatal(err)
		}
		conns, clients = append(conns, c), append(clients, pb.NewTestServiceClient(c))
	}
	t.Cleanup(func() {
		for _, c := range conns {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		server.GracefulStop()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		d.wantDDP(t, n)
		accepted := dialer{conns: l.conns}
		accepted.wantDDP(t, n)
		settled(t)
	})
	return s, clients
}

// TestGRPC makes 1,000 calls of all kinds, with messages of 1 B to 1 MiB.
func TestGRPC(t *testing.T) {
	const longest = 1 << 20
	random := newRandom(t, 4)
	src := newSource(random, 8*longest)
	lengths := sizes(random, 1000, smallest, longest, largeBudget())
	from := make([]int, len(lengths))
	for i, n := range lengths {
		from[i] = random.IntN(len(src) - n + 1)
	}
	_, clients := newService(t, src, 4)
	ctx := prototest.TimeLimit(t)
	each(t, len(lengths), func(i int) error {
		// A stream's messages are together as long as the message of a unary call. Some of them
		// have no octets.
		c, body := clients[i%len(clients)], src[from[i]:][:lengths[i]]
		parts := [][]byte{body[:len(body)/7], body[len(body)/7 : len(body)/2], nil, body[len(body)/2:]}
		switch i / len(clients) % 4 {
		case 0:
			r, err := c.UnaryCall(ctx, &pb.SimpleRequest{Payload: payload(body)})
			if err != nil {
				return err
			}
			return same(r.Payload, body)
		case 1:
			return download(ctx, c, from[i], parts)
		case 2:
			return upload(ctx, c, parts)
		default:
			return converse(ctx, c, parts)
		}
	})
}

func same(got *pb.Payload, want []byte) error {
	if !bytes.Equal(got.GetBody(), want) {
		return fmt.Errorf("%d octets, want %d: or others", len(got.GetBody()), len(want))
	}
	return nil
}

// download is a call with a stream of answers.
func download(ctx context.Context, c pb.TestServiceClient, from int, parts [][]byte) error {
	req := &pb.StreamingOutputCallRequest{Payload: payload(binary.BigEndian.AppendUint64(nil, uint64(from)))}
	for _, p := range parts {
		req.ResponseParameters = append(req.ResponseParameters, &pb.ResponseParameters{Size: int32(len(p))})
	}
	stream, err := c.StreamingOutputCall(ctx, req)
	if err != nil {
		return err
	}
	for _, p := range parts {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := same(r.Payload, p); err != nil {
			return err
		}
	}
	return wantEnd(stream.Recv())
}

// upload is a call with a stream of requests.
func upload(ctx context.Context, c pb.TestServiceClient, parts [][]byte) error {
	stream, err := c.StreamingInputCall(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, p := range parts {
		n += len(p)
		if err := stream.Send(&pb.StreamingInputCallRequest{Payload: payload(p)}); err != nil {
			return err
		}
	}
	r, err := stream.CloseAndRecv()
	if err == nil && int(r.AggregatedPayloadSize) != n {
		err = fmt.Errorf("the server got %d octets, want %d", r.AggregatedPayloadSize, n)
	}
	return err
}

// converse is a call in which each message gets its own answer.
func converse(ctx context.Context, c pb.TestServiceClient, parts [][]byte) error {
	stream, err := c.FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := stream.Send(&pb.StreamingOutputCallRequest{Payload: payload(p)}); err != nil {
			return err
		}
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := same(r.Payload, p); err != nil {
			return err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return wantEnd(stream.Recv())
}

func wantEnd(_ any, err error) error {
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("after the last message: %v, want %v", err, io.EOF)
	}
	return nil
}

// TestGRPCEnds ends calls early: by their deadline, and by their client.
func TestGRPCEnds(t *testing.T) {
	src := newSource(newRandom(t, 5), 64<<10)
	start := &pb.StreamingOutputCallRequest{Payload: payload(make([]byte, 8))}
	tests := []struct {
		desc   string
		call   func(ctx context.Context, cancel context.CancelFunc, c pb.TestServiceClient, s *service) error
		code   codes.Code
		server error // what ends the server's context
	}{
		{"deadline", func(ctx context.Context, _ context.CancelFunc, c pb.TestServiceClient, s *service) error {
			for d := 20 * time.Millisecond; ; d *= 2 { // until one reaches the server
				short, cancel := context.WithTimeout(ctx, d)
				_, err := c.EmptyCall(short, &pb.Empty{})
				cancel()
				select {
				case <-s.began:
					return err
				default:
				}
				if ctx.Err() != nil {
					return err
				}
			}
		}, codes.DeadlineExceeded, nil},
		{"cancel while answers come", func(ctx context.Context, cancel context.CancelFunc, c pb.TestServiceClient, _ *service) error {
			stream, err := c.StreamingOutputCall(ctx, start)
			if err != nil {
				return err
			}
			for range 20 {
				r, err := stream.Recv()
				if err != nil {
					return err
				}
				if err := same(r.Payload, src[:32<<10]); err != nil {
					return err
				}
			}
			cancel()
			for {
				if _, err := stream.Recv(); err != nil {
					return err
				}
			}
		}, codes.Canceled, context.Canceled},
		{"cancel while both talk", func(ctx context.Context, cancel context.CancelFunc, c pb.TestServiceClient, _ *service) error {
			stream, err := c.FullDuplexCall(ctx)
			if err != nil {
				return err
			}
			if err := stream.Send(&pb.StreamingOutputCallRequest{Payload: payload(src)}); err != nil {
				return err
			}
			r, err := stream.Recv()
			if err != nil {
				return err
			}
			if err := same(r.Payload, src); err != nil {
				return err
			}
			cancel()
			_, err = stream.Recv()
			return err
		}, codes.Canceled, context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			s, clients := newService(t, src, 1)
			if err := converse(prototest.TimeLimit(t), clients[0], [][]byte{src}); err != nil { // makes the connection
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(prototest.TimeLimit(t))
			defer cancel()
			if err := tt.call(ctx, cancel, clients[0], s); status.Code(err) != tt.code {
				t.Errorf("the client's end: %v, want %v", err, tt.code)
			}
			select {
			case err := <-s.over:
				if tt.server != nil && !errors.Is(err, tt.server) {
					t.Errorf("the server's end: %v, want %v", err, tt.server)
				}
			case <-prototest.TimeLimit(t).Done():
				t.Fatal("the server's call goes on")
			}
			if err := converse(prototest.TimeLimit(t), clients[0], [][]byte{src}); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}
