package capture_test

import (
	"bytes"
	"fmt"
	"io"
	"log"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/capture"
)

// A connection that has been in use for a while is captured for a moment, for Wireshark or rddp
// dump.
func ExampleWriter_Start() {
	cfg := &extsock.Config{Startup: extsock.StartupRequire}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	client, err := extsock.Dial("tcp", l.Addr().String(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	server, err := l.AcceptDDP()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	hello := func() {
		if _, err := client.Write([]byte("hello")); err != nil {
			log.Fatal(err)
		}
		if _, err := io.ReadFull(server, make([]byte, 5)); err != nil {
			log.Fatal(err)
		}
	}
	hello()
	var file bytes.Buffer // usually an *os.File
	w, err := capture.NewWriter(&file)
	if err != nil {
		log.Fatal(err)
	}
	stop, err := w.Start(server)
	if err != nil {
		log.Fatal(err)
	}
	hello()
	stop()
	hello()
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("messages in the capture:", bytes.Count(file.Bytes(), []byte("hello")))
	// Output: messages in the capture: 1
}
