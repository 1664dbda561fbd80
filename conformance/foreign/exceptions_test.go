//go:build foreign

package foreign

import "regexp"

// An exception is a test that passes over TCP and may fail in some columns.
type exception struct {
	suite   string
	test    *regexp.Regexp // the whole name, with the subtest's
	columns []string
	why     string
	// hangs says that the test would not end. It does not run in these columns, and its pattern has no slash.
	hangs bool
	// sometimes says that the test also passes now and then, by its nature. Otherwise an exception whose test passes is an error.
	sometimes bool
}

// All columns in which connections are in DDP mode.
var inDDP = []string{"prefer", "require", "in-band"}

var exceptions = []exception{
	{
		suite: "Go net", test: regexp.MustCompile(`^TestRawConnReadWrite$`), columns: inDDP, hangs: true,
		why: "it reads and writes through SyscallConn, past the FPDUs",
	},
	{
		suite: "Go net", test: regexp.MustCompile(`^TestFileConn(/tcp)?$`), columns: inDDP,
		why: "in DDP mode Conn.File gives errors.ErrUnsupported: the file descriptor is only half of the connection's state",
	},
	{
		suite: "Go net", test: regexp.MustCompile(`^TestFileListener(/tcp)?$`), columns: []string{"require", "in-band"},
		why: "net.FileListener makes a listener of package net, whose connections are no peers for one that requires DDP mode",
	},
}
