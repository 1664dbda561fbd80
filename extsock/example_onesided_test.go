package extsock_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/rddp/rddp/extsock"
)

// A client reads the server's memory, and the server's program takes no part in it.
func Example_oneSided() {
	cfg := &extsock.Config{Startup: extsock.StartupRequire}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go func() { // the server lends memory
		c, err := l.AcceptDDP()
		if err != nil {
			log.Fatal(err)
		}
		defer c.Close() // also takes the memory back
		region, err := c.Register([]byte("one-sided"), extsock.RemoteRead)
		if err != nil {
			log.Fatal(err)
		}
		c.Write(region.Handle().AppendTo(nil)) // 16 bytes that name the memory
		io.Copy(io.Discard, c)                 // until the client closes
	}()

	c, err := extsock.Dial("tcp", l.Addr().String(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	b := make([]byte, 16)
	if _, err := io.ReadFull(c, b); err != nil { // c is a net.Conn
		log.Fatal(err)
	}
	handle, _, err := extsock.ParseHandle(b)
	if err != nil {
		log.Fatal(err)
	}
	p := make([]byte, handle.Len)
	if _, err := c.Remote(handle).ReadAt(p, 0); err != nil { // an RDMA Read
		log.Fatal(err)
	}
	fmt.Printf("%s\n", p)
	// Output: one-sided
}

// TestDocHasTheExample: the package documentation shows exactly this example, with a list of the
// names that it uses.
func TestDocHasTheExample(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("example_onesided_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(file), "func Example_oneSided() {\n")
	code, _, _ = strings.Cut(code, "\t// Output:")
	_, section, _ := strings.Cut(string(doc), "// # From Dial to a one-sided Read\n")
	section, _, _ = strings.Cut(section, "\n// # ")
	shown := ""
	for line := range strings.Lines(section) {
		if rest, ok := strings.CutPrefix(line, "//\t"); ok {
			shown += "\t" + rest
		} else if shown != "" {
			shown += "\n"
		}
	}
	names, shown, _ := strings.Cut(shown, "\n\n")
	if want, got := strings.TrimSpace(code), strings.TrimSpace(shown); got != want {
		t.Errorf("doc.go shows\n%s\nthe example is\n%s", got, want)
	}
	n := 0
	for line := range strings.Lines(names) {
		name := strings.Fields(line)[0]
		if _, method, _ := strings.Cut(name, "."); !strings.Contains(code, method) {
			t.Errorf("the example does not use %s", name)
		}
		n++
	}
	if n != 12 {
		t.Errorf("doc.go lists %d names, want 12", n)
	}
}
