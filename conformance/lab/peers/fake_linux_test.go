package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// The test binary under the name of a tool imitates that tool: the server listens, and ends after
// one connection, and the client prints a recorded output of the real tool. The names are symbolic
// links in a folder that is the whole PATH. Environment variables make a tool fail.
func TestMain(m *testing.M) {
	if os.Getenv("PEERS_TESTDATA") == "" {
		testmode.Hurry()
		os.Exit(m.Run())
	}
	if err := fake(filepath.Base(os.Args[0]), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tools makes the folder of links, and the PATH, and returns the name of the command rddp.
func tools(t *testing.T, names ...string) (rddp string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range append(names, "rddp") {
		if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder)
	t.Setenv("PEERS_TESTDATA", data)
	return filepath.Join(folder, "rddp")
}

func fake(name string, args []string) error {
	if len(args) > 1 && os.Getenv("PEERS_FAIL") == name {
		return fmt.Errorf("%s fails", name)
	}
	if os.Getenv("PEERS_STALL") == name {
		select {}
	}
	switch name {
	case "taskset":
		if len(args) < 3 || args[0] != "-c" {
			return fmt.Errorf("taskset %q", args)
		}
		tool := args[2]
		if !strings.Contains(tool, "/") {
			tool = filepath.Join(os.Getenv("PATH"), tool)
		}
		return syscall.Exec(tool, args[2:], os.Environ())
	case "rddp":
		return fakePerf(args)
	}
	after := func(flag string) string {
		if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
		return ""
	}
	file := map[string]string{"fi_pingpong": "pingpong.txt", "iperf3": "iperf.json", "fi_rma_bw": "rma-write-client.txt"}[name]
	if name == "ucx_perftest" {
		file = "ucx-put_bw.txt"
	}
	port := after("-p")
	if strings.HasPrefix(name, "fi_") {
		port = after("-P")
	}
	if !slices.Contains(args, "127.0.0.1") || after("-B") != "" {
		if name == "fi_rma_bw" {
			file = "rma-write-server.txt"
		}
		if strings.HasPrefix(name, "fi_") {
			port = after("-B")
		}
		if err := serveOnce(port); err != nil {
			return err
		}
	} else if err := connectTo(port); err != nil {
		return err
	}
	out, err := os.ReadFile(filepath.Join(os.Getenv("PEERS_TESTDATA"), file))
	if err == nil {
		_, err = os.Stdout.Write(out)
	}
	return err
}

func serveOnce(port string) error {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1)) // until the client has ended
	if err == nil {
		return fmt.Errorf("a byte from the client")
	}
	return nil
}

func connectTo(port string) error {
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err == nil {
		err = c.Close()
	}
	return err
}

// fakePerf prints results with rates that identify their series.
func fakePerf(args []string) error {
	after := func(flag string) (value string) {
		if i := slices.Index(args, flag); i >= 0 {
			value = args[i+1]
		}
		return value
	}
	var size int
	fmt.Sscan(after("--size"), &size)
	enc := json.NewEncoder(os.Stdout)
	enc.Encode(map[string]any{"op": "tcp", "size": size, "msgs_per_s": 1000})
	for _, op := range strings.Split(after("--op"), ",") {
		for _, crc := range strings.Split(after("--crc"), ",") {
			for _, post := range strings.Split(after("--post"), ",") {
				rate := 2000.0
				if crc == "off" {
					rate *= 2
				}
				if post == "batch" {
					rate *= 10
				}
				if after("--poll") != "" {
					rate *= 3
				}
				enc.Encode(map[string]any{"op": op, "size": size, "crc": crc, "post": post, "msgs_per_s": rate})
			}
		}
	}
	return nil
}
