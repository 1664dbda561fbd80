// Command grpc is a gRPC service that transfers large results by RDMA. The server has texts in
// memory. The method Find returns a Handle of 16 bytes, and the client reads the text by RDMA Read,
// on the same connection that carries the calls: gRPC's bytes and one-sided operations do not
// disturb each other.
//
//	go run -C conformance/lab ./examples/grpc -listen 127.0.0.1:7000
//	go run -C conformance/lab ./examples/grpc -dial 127.0.0.1:7000 short long
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

func main() {
	log.SetFlags(0)
	at := flag.String("listen", "", "serve at this `address`")
	dial := flag.String("dial", "", "fetch the texts with the names in the arguments from the server at this `address`")
	flag.Parse()
	var err error
	switch {
	case *at != "":
		err = listenAndServe(*at)
	case *dial != "":
		err = fetchAll(os.Stdout, *dial, flag.Args())
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// texts are the server's texts in memory, by name. All of its connections may read them.
type texts map[string]*ddp.Region

func newTexts(domain *ddp.Domain) (texts, error) {
	t := make(texts)
	for name, text := range map[string]string{"short": "hello", "long": strings.Repeat("one-sided ", 1<<16)} {
		r, err := domain.Register([]byte(text), ddp.RemoteRead, 0) // 0: on every connection of domain
		if err != nil {
			return nil, err
		}
		t[name] = r
	}
	return t, nil
}

// find is the method Find: it returns the Handle of a text.
func (t texts) find(_ context.Context, name *wrapperspb.StringValue) (*wrapperspb.BytesValue, error) {
	r, ok := t[name.Value]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "there is no text %q", name.Value)
	}
	h := rdmap.Handle{STag: r.STag(), TO: r.TO(), Len: uint32(r.Len())}
	return wrapperspb.Bytes(h.AppendTo(nil)), nil
}

const (
	serviceName = "example.Texts"
	findMethod  = "/" + serviceName + "/Find"
)

// service is the code that protoc-gen-go-grpc would generate from a .proto file with one method.
var service = grpc.ServiceDesc{
	ServiceName: serviceName,
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Find",
		Handler: func(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var name wrapperspb.StringValue
			if err := decode(&name); err != nil {
				return nil, err
			}
			return srv.(texts).find(ctx, &name)
		},
	}},
}

// newServer returns the gRPC server and its listener. Only the listener is specific to rddp.
func newServer(address string) (*grpc.Server, net.Listener, error) {
	domain := new(ddp.Domain)
	t, err := newTexts(domain)
	if err != nil {
		return nil, nil, err
	}
	s := grpc.NewServer()
	s.RegisterService(&service, t)
	l, err := extsock.Listen("tcp", address, &extsock.Config{Startup: extsock.StartupRequire, Domain: domain})
	if err != nil {
		return nil, nil, err // and not a nil *Listener in an interface
	}
	return s, l, nil
}

func listenAndServe(address string) error {
	s, l, err := newServer(address)
	if err != nil {
		return err
	}
	return s.Serve(l)
}

// A client calls the service, and reads on the connection of the calls.
type client struct {
	calls *grpc.ClientConn
	conn  atomic.Pointer[extsock.Conn] // gRPC dials again when it loses a connection
}

func newClient(address string) (*client, error) {
	c := &client{}
	var err error
	c.calls, err = grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), // or Config.TLS at both ends
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := new(extsock.Dialer).DialDDP(ctx, "tcp", address)
			if err != nil {
				return nil, err
			}
			c.conn.Store(conn)
			return conn, nil
		}))
	return c, err
}

// fetch returns the text with this name.
func (c *client) fetch(ctx context.Context, name string) ([]byte, error) {
	var b wrapperspb.BytesValue
	if err := c.calls.Invoke(ctx, findMethod, wrapperspb.String(name), &b); err != nil {
		return nil, err
	}
	h, _, err := rdmap.ParseHandle(b.Value)
	if err != nil {
		return nil, err
	}
	p := make([]byte, h.Len)
	if _, err := c.conn.Load().Remote(h).Read(ctx, p, 0); err != nil { // RDMA Read; the server's program takes no part
		return nil, err
	}
	return p, nil
}

// fetchAll prints the length and the beginning of each text.
func fetchAll(out io.Writer, address string, names []string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := newClient(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.calls.Close()) }()
	for _, name := range names {
		p, err := c.fetch(ctx, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d bytes, %.10q\n", name, len(p), p)
	}
	return nil
}
