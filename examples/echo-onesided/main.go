// Command echo-onesided is the service of echo-tcp with one-sided operations, the last of three
// steps. The server gives each client access to two pieces of memory. The client writes a question
// to the first by RDMA Write and reads the answer from the second by RDMA Read. Only the length of
// the question goes through the byte stream, as a note that the question has been written.
//
//	go run ./examples/echo-onesided -listen 127.0.0.1:7000
//	go run ./examples/echo-onesided -dial 127.0.0.1:7000 one two three
package main

import (
	"context"
	"encoding/binary"
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
		var l *extsock.Listener
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

func listen(address string) (*extsock.Listener, error) {
	return extsock.Listen("tcp", address, &extsock.Config{Startup: extsock.StartupRequire})
}

// serve serves each connection in its own goroutine, until l is closed.
func serve(l *extsock.Listener) error {
	for {
		c, err := l.AcceptDDP()
		var passes interface{ Temporary() bool }
		switch {
		case err == nil:
			go serveOne(c)
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.As(err, &passes) && passes.Temporary(): // for example, too many files are open
			time.Sleep(100 * time.Millisecond)
		default:
			return err
		}
	}
}

func serveOne(c *extsock.Conn) {
	defer c.Close() // also ends the client's access to the memory
	if err := echo(c); err != nil && !errors.Is(err, io.EOF) {
		log.Printf("connection from %v: %v", c.RemoteAddr(), err)
	}
}

const maxLen = 64 << 10 // of a question

// echo gives the client access to memory, and answers a question for each note.
func echo(c *extsock.Conn) error {
	question, answer := make([]byte, maxLen), make([]byte, maxLen)
	q, err := c.Register(question, extsock.RemoteWrite)
	if err != nil {
		return err
	}
	a, err := c.Register(answer, extsock.RemoteRead)
	if err != nil {
		return err
	}
	// A Handle identifies the memory in 16 bytes. A program may send it to its peer in any way.
	if _, err := c.Write(a.Handle().AppendTo(q.Handle().AppendTo(nil))); err != nil {
		return err
	}
	for note := make([]byte, 4); ; {
		if _, err := io.ReadFull(c, note); err != nil {
			return err // io.EOF: the client has closed the connection
		}
		n := binary.BigEndian.Uint32(note)
		if n > maxLen {
			return fmt.Errorf("a question of %d bytes", n) // never trust a length from a peer
		}
		// The note came after the RDMA Write, so the whole question is in memory.
		copy(answer, question[:n])
		if _, err := c.Write(note); err != nil {
			return err
		}
	}
}

// ask writes each word to the server's memory, and reads the answer from there.
func ask(out io.Writer, address string, words []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := new(extsock.Dialer).DialDDP(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	b := make([]byte, 32)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	q, b, err := extsock.ParseHandle(b)
	if err != nil {
		return err
	}
	a, _, err := extsock.ParseHandle(b)
	if err != nil {
		return err
	}
	question, answer := c.Remote(q), c.Remote(a) // an io.WriterAt and an io.ReaderAt
	for _, word := range words {
		if _, err := question.WriteAt([]byte(word), 0); err != nil { // RDMA Write
			return err
		}
		note := binary.BigEndian.AppendUint32(nil, uint32(len(word)))
		if _, err := c.Write(note); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, note); err != nil { // the answer is ready
			return err
		}
		p := make([]byte, len(word))
		if _, err := answer.ReadAt(p, 0); err != nil { // RDMA Read; the server's program takes no part
			return err
		}
		fmt.Fprintf(out, "%s\n", p)
	}
	return nil
}
