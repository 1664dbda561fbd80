//go:build interop

package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestSupervisedYama runs two programs under rddp run in the guest, as a user without privilege,
// while the kernel's Yama restricts access to the memory of a process: to its ancestors (1), or to
// processes with a capability (2).
func TestSupervisedYama(t *testing.T) {
	const file = "/proc/sys/kernel/yama/ptrace_scope"
	g := Start(t)
	putRddp(t, g)
	g.MustRun(t, "sh", "-c", "chmod 1777 /tmp; grep -q nobody /etc/passwd || echo nobody:x:65534:65534::/:/bin/sh >>/etc/passwd")
	before := strings.TrimSpace(g.MustRun(t, "cat", file).Stdout)
	t.Cleanup(func() { g.MustRun(t, "sh", "-c", "echo "+before+" >"+file) })
	nobody := func(line string) []string {
		return strings.Fields("start-stop-daemon -S -c nobody -p /none -a /usr/bin/rddp -- run --address 127.0.0.1 " + line)
	}
	for _, tt := range []struct {
		scope int
		works bool
	}{{1, true}, {2, false}} {
		t.Run(fmt.Sprint(tt.scope), func(t *testing.T) {
			g.MustRun(t, "sh", "-c", fmt.Sprintf("echo %d >%s", tt.scope, file))
			ctx, cancel := context.WithTimeout(t.Context(), supervisedLimit)
			defer cancel()
			if !tt.works {
				r, err := g.Run(ctx, nobody("ibv_devinfo")...)
				if err != nil || r.Code == 0 || !strings.Contains(r.Stderr, "ptrace_scope") {
					t.Errorf("exit status %d, %v, and no reason:\n%s%s", r.Code, err, r.Stdout, r.Stderr)
				}
				return
			}
			server, err := g.StartProcess(ctx, nobody(fmt.Sprintf("rping -s -a 127.0.0.1 -p %d -C 5 -V", supervisedPort))...)
			if err != nil {
				t.Fatal(err)
			}
			g.AwaitListener(t, joinedPort)
			client, err := g.Run(ctx, nobody(fmt.Sprintf("rping -c -a 127.0.0.1 -p %d -C 5 -V -v", supervisedPort))...)
			if err != nil || client.Code != 0 || strings.Count(client.Stdout, "ping data: rdma-ping-") != 5 {
				server.Kill()
				t.Errorf("exit status %d, %v\n%s%s\n%s", client.Code, err, client.Stdout, client.Stderr, text(server))
			}
			if code, err := server.Wait(); code != 0 || err != nil {
				t.Errorf("the server: exit status %d, %v\n%s", code, err, text(server))
			}
		})
	}
}
