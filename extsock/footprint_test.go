package extsock_test

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rddp/rddp/extsock"
)

// echoPeerEnv makes the test binary a server of one connection, which returns what it reads. The
// value is the kind of the connection.
const echoPeerEnv = "RDDP_ECHO_PEER"

// echoSize is the length in bytes of the messages that the server returns.
const echoSize = 64

// runEchoPeer is the server. It prints its address, and ends with the connection.
func runEchoPeer(kind idleKind) error {
	time.AfterFunc(idleTimeout, func() { os.Exit(1) }) // the parent may be gone
	l, err := extsock.Listen("tcp", "127.0.0.1:0", idleJob{Kind: kind}.config())
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	c, err := l.Accept()
	if err != nil {
		return err
	}
	for b := make([]byte, echoSize); ; {
		if _, err := io.ReadFull(c, b); err != nil {
			return nil
		}
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
}
