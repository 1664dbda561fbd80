package extsock_test

import "github.com/rddp/rddp/extsock"

// The code of docs/features.md. A test in conformance/lab/apps compares the two.

//lint:file-ignore SA4006 preferDDP ignores an error, as the document does

// preferDDP is the shortest way to port a program: an option on each side.
func preferDDP() {
	cfg := &extsock.Config{Startup: extsock.StartupPrefer} // DDP mode if the peer supports it, otherwise plain TCP
	l, err := extsock.Listen("tcp", ":7174", cfg)          // one port serves both kinds of peer
	c, err := extsock.Dial("tcp", "host:7174", cfg)        // c.ConnectionState() reports which it is, and why
	_, _, _ = l, c, err
}

var _ = preferDDP // it needs a host
