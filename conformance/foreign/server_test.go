//go:build foreign

package foreign

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A server is a program of Debian's that the tests of a suite connect to, through a relay. It
// listens at a Unix socket only, so no other program has its port.
type server struct {
	files map[string]string // of its folder
	// commands returns the command lines: those that make the server's data, and last the server.
	commands func(folder, socket string) [][]string
	// env returns what tells the tests the relay's port. It may write files into the server's
	// folder.
	env func(folder, port string) ([]string, error)
}

// mariadb is a MariaDB server with the database gotest. Its data need not survive it.
var mariadb = &server{
	files: map[string]string{"init.sql": "CREATE DATABASE IF NOT EXISTS gotest;\n"},
	commands: func(folder, socket string) [][]string {
		data := "--datadir=" + folder + "/data"
		return [][]string{
			{
				"/usr/bin/mariadb-install-db", "--no-defaults", data,
				"--auth-root-authentication-method=normal", "--skip-test-db",
			},
			{
				"/usr/sbin/mariadbd", "--no-defaults", data, "--socket=" + socket, "--skip-networking",
				"--pid-file=" + folder + "/pid", "--init-file=" + folder + "/init.sql",
				"--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0",
				"--max-allowed-packet=64M", // TestLongData writes up to 32 MiB, also compressed
			},
		}
	},
	env: func(_, port string) ([]string, error) { return []string{"MYSQL_TEST_ADDR=127.0.0.1:" + port}, nil },
}

// redis is a Redis server. The tests find its port in the environment, and the specs of Ginkgo in a
// file. With such a file they take the server for one of Redis Enterprise, and do not first look
// for the servers of clusters, rings and sentinels, at ports of their own.
var redis = &server{
	commands: func(folder, socket string) [][]string {
		return [][]string{{
			"/usr/bin/redis-server", "--port", "0", "--unixsocket", socket, "--dir", folder, "--save", "",
			"--enable-debug-command", "yes",
		}}
	},
	env: func(folder, port string) ([]string, error) {
		name := filepath.Join(folder, "endpoints.json")
		endpoints := fmt.Sprintf(`{"one": {"raw_endpoints": [{"dns_name": "127.0.0.1", "port": %s}]}}`, port)
		env := []string{
			"REDIS_VERSION=7.0", // of Debian 12; a test that needs a newer one skips itself
			"REDIS_PORT=" + port, "RE_CLUSTER=true", "REDIS_ENDPOINTS_CONFIG_PATH=" + name,
		}
		return env, os.WriteFile(name, []byte(endpoints), 0o644)
	},
}

// A service is a server that runs.
type service struct {
	*server
	folder string
}

func (s *service) socket() string { return filepath.Join(s.folder, "socket") }

// start starts the server, which runs until t ends. Its output goes to the file log.
func (s *server) start(t *testing.T, log string) (*service, error) {
	running := &service{server: s, folder: t.TempDir()}
	for name, text := range s.files {
		if err := os.WriteFile(filepath.Join(running.folder, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	attr, err := unprivileged(running.folder)
	if err != nil {
		return nil, err
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	lines := s.commands(running.folder, running.socket())
	for i, line := range lines {
		cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
		cmd.Dir, cmd.SysProcAttr = running.folder, attr
		cmd.Stdout, cmd.Stderr = out, out
		if i == len(lines)-1 {
			err = await(t, cmd, running.socket())
		} else {
			err = cmd.Run()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w, see %s", line[0], err, log)
		}
	}
	return running, nil
}

// await starts the server and waits until it answers at its socket.
func await(t *testing.T, cmd *exec.Cmd, socket string) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ctx, ended := context.WithCancelCause(context.Background())
	go func() {
		err := cmd.Wait()
		ended(errors.Join(errors.New("the server has ended"), err))
	}()
	t.Cleanup(func() { <-ctx.Done() }) // the end of t.Context has ended it
	prototest.Wait(t, "the server at its socket", func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
		}
		return err == nil || ctx.Err() != nil
	})
	return context.Cause(ctx)
}

// unprivileged returns how a server starts that has the folder: not as root, and not beyond the end
// of this process.
func unprivileged(folder string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		return attr, nil
	}
	id, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(id.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(id.Gid)
	if err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	// The folder above that of t.TempDir is root's alone.
	return attr, errors.Join(os.Chown(folder, uid, gid), os.Chmod(filepath.Dir(folder), 0o711))
}
