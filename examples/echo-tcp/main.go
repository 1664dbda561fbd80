// Command echo-tcp is an echo service over plain TCP. It is the first of three steps: echo-ddp
// runs the same service in DDP mode, and echo-onesided moves the data by RDMA Write and RDMA Read.
//
//	go run ./examples/echo-tcp -listen 127.0.0.1:7000
//	go run ./examples/echo-tcp -dial 127.0.0.1:7000 one two three
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"time"
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

func listen(address string) (net.Listener, error) {
	return net.Listen("tcp", address)
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
	c, err := net.Dial("tcp", address)
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
