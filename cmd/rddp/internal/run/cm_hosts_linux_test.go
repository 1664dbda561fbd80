//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/run/cm"
)

// TestCMBetweenHosts: a program on another host finds an rdma_cm listener. If its device is joined,
// it also does if a TCP server has a port of the same number.
func TestCMBetweenHosts(t *testing.T) {
	here, there := twoHosts(t)
	for _, tt := range []struct {
		face string
		tcp  bool // a TCP server stays at the port
	}{{supervise, false}, {supervise, true}, {superviseIWARP, false}} {
		t.Run(tt.face+" beside TCP: "+strconv.FormatBool(tt.tcp), func(t *testing.T) {
			var port uint16
			ended := make(chan error, 1)
			var out bytes.Buffer
			here(func() {
				l, err := net.Listen("tcp", ":0")
				if err != nil {
					t.Error(err)
					return
				}
				port = uint16(l.Addr().(*net.TCPAddr).Port)
				if tt.tcp {
					t.Cleanup(func() { l.Close() })
				} else {
					l.Close()
				}
				server := under("rping", "-s", "-p", strconv.Itoa(int(port)), "-C", "3")
				server.Stdout, server.Stderr = &out, &out
				server.Env = append(os.Environ(), addressOfTest+"=10.99.0.1")
				if err := server.Start(); err != nil {
					t.Error(err)
					return
				}
				go func() { ended <- server.Wait() }()
				if err := awaitPorts(ended, cm.Places(port)[0]); err != nil {
					t.Error(err)
				}
			})
			there(func() {
				client := under("rping", "-c", "-a", "10.99.0.1", "-p", strconv.Itoa(int(port)), "-C", "3")
				client.Args[0], client.Env = tt.face, append(os.Environ(), addressOfTest+"=10.99.0.2")
				var out bytes.Buffer
				client.Stdout, client.Stderr = &out, &out
				if err := client.Run(); err != nil {
					t.Errorf("%v\n%s", err, &out)
				}
			})
			if err := <-ended; err != nil {
				t.Errorf("%v\n%s", err, &out)
			}
		})
	}
}
