//go:build foreign

package foreign

import "regexp"

// An exception is a test that passes over TCP and may fail in some columns.
type exception struct {
	suites  []string
	test    *regexp.Regexp // the whole name, with the subtest's
	columns []string
	why     string
	// hangs says that the test would not end. It does not run in these columns, and its pattern has
	// no slash.
	hangs bool
	// sometimes says that the test also passes now and then, by its nature. Otherwise an exception
	// whose test passes is an error.
	sometimes bool
}

// All columns in which connections are in DDP mode.
var inDDP = []string{"prefer", "require", "in-band"}

var goNetRows = []string{"Go net", "Go net -race"}

var exceptions = []exception{
	{
		suites: goNetRows, test: regexp.MustCompile(`^TestRawConnReadWrite(/TCP|/Deadline)?$`), columns: inDDP,
		why: "it first writes through SyscallConn, which in DDP mode is ErrMode: the bytes would be in no FPDU",
	},
	{
		suites: goNetRows, test: regexp.MustCompile(`^TestFileConn(/tcp)?$`), columns: inDDP,
		why: "in DDP mode Conn.File gives errors.ErrUnsupported: the file descriptor is only half of the connection's state",
	},
	{
		suites: goNetRows, test: regexp.MustCompile(`^TestFileListener(/tcp)?$`), columns: []string{"require", "in-band"},
		why: "net.FileListener makes a listener of package net, whose connections are no peers for one that requires DDP mode",
	},
	{
		suites: goNetRows, test: regexp.MustCompile(`^TestDialerDualStackFDLeak$`), columns: inDDP, sometimes: true,
		why: "it counts file descriptors right after Close; in DDP mode Close returns before the end of the stream is done, also in the tests before this one",
	},
	{
		suites: []string{"net/http", "net/http -short"}, test: regexp.MustCompile(`^TestLinuxSendfile$`), columns: []string{"require", "in-band"}, hangs: true,
		why: "its server is another process, with a listener of net.FileListener, as above; that process stays if the test fails",
	},
	{
		suites: []string{"nats-server/test"}, test: regexp.MustCompile(`^TestGoServerShutdownWithClients$`), columns: inDDP,
		why: "it leaves 50 connections open and counts goroutines; in DDP mode a connection has one until its Close",
	},
	{
		suites: []string{"nats-server/test"}, test: regexp.MustCompile(`^TestRouteForwardsMsgFromClients$`), columns: inDDP, sometimes: true,
		why: "its Accept waits for one second, which is also how long the server waits before it dials again; startup comes on top of that",
	},
}
