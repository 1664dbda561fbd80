package standin

import (
	"fmt"
	"net"
)

// Pipe takes the place of net.Pipe: the two ends of a connection of ours over loopback.
func Pipe() (net.Conn, net.Conn) { return pipe(Listen, Dial) }

// PlainPipe is Pipe with package net's TCP.
func PlainPipe() (net.Conn, net.Conn) { return pipe(net.Listen, net.Dial) }

func pipe(
	listen func(network, address string) (net.Listener, error),
	dial func(network, address string) (net.Conn, error),
) (net.Conn, net.Conn) {
	l, err := listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("standin.Pipe: %v", err))
	}
	defer l.Close()
	a, err := dial("tcp", l.Addr().String())
	if err != nil {
		panic(fmt.Sprintf("standin.Pipe: %v", err))
	}
	b, err := l.Accept()
	if err != nil {
		panic(fmt.Sprintf("standin.Pipe: %v", err))
	}
	return a, b
}
