// Command echo-ddp is the service of echo-tcp in DDP mode, the second of three steps. Only listen
// and the first lines of ask differ. Read and Write carry the same byte stream, a CRC32C protects
// each byte, and the connection could also do one-sided operations, as in echo-onesided.
//
//	go run ./examples/echo-ddp -listen 127.0.0.1:7000
//	go run ./examples/echo-ddp -dial 127.0.0.1:7000 one two three
//
// The server also serves the client of echo-tcp, so peers can be switched one by one.
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
	"time"

	"github.com/rddp/rddp/extsock"
)

func main() {
	log.SetFlags(0)
	at := flag.String("listen", "", "serve at this `address`")
	dial := flag.String("dial", "", "send the arguments to the server at this `address`")
	flag.Parse()
	var err error
	switch {
	case *at != "":
		var l net.Listener
		if l, err = listen(*at); err == nil {
			err = serve(l)
		}
	case *dial != "":
		err = ask(os.Stdout, *dial, flag.Args())
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// listen listens for both kinds of clients: a connection uses DDP mode if the client requests it,
// and plain TCP otherwise. StartupRequire would accept only DDP mode.
func listen(address string) (net.Listener, error) {
	return extsock.Listen("tcp", address, &extsock.Config{Startup: extsock.StartupPrefer})
}

// serve serves each connection in its own goroutine, until l is closed.
func serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		var passes interface{ Temporary() bool }
		switch {
		case err == nil:
			go echo(c)
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.As(err, &passes) && passes.Temporary(): // for example, too many files are open
			time.Sleep(100 * time.Millisecond)
		default:
			return err
		}
	}
}

// echo sends back everything that the client sends.
func echo(c net.Conn) {
	defer c.Close()
	if _, err := io.Copy(c, c); err != nil {
		log.Printf("connection from %v: %v", c.RemoteAddr(), err)
	}
}

// ask sends each word to the server and prints the answer.
func ask(out io.Writer, address string, words []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := new(extsock.Dialer).DialDDP(ctx, "tcp", address) // fails if the server is not in DDP mode
	if err != nil {
		return err
	}
	defer c.Close()
	for _, word := range words {
		if _, err := io.WriteString(c, word); err != nil {
			return err
		}
		answer := make([]byte, len(word)) // a stream has no messages, but the answer is as long as the word
		if _, err := io.ReadFull(c, answer); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", answer)
	}
	return nil
}
