package main

import (
	"crypto/tls"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/examples/kvcache"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit)) }

func TestRun(t *testing.T) {
	ctx := prototest.TimeLimit(t)
	cfg, err := newConfig(false)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(ctx, &out, cfg); err != nil {
		t.Fatal(err)
	}
	want := "alice has set green, and bob reads green\n" +
		"alice has set blue, and bob reads blue\n" +
		"the server has stopped, the next one has set red, and bob reads red\n" +
		"a client without TLS is refused\n"
	if got := out.String(); got != want {
		t.Errorf("run prints %q, want %q", got, want)
	}
}

// TestCertificates: a client without the server's certificate cannot read the table, and a client
// does not trust a server with another certificate.
func TestCertificates(t *testing.T) {
	ctx := prototest.TimeLimit(t)
	ours, err := newTLS()
	if err != nil {
		t.Fatal(err)
	}
	other, err := newTLS()
	if err != nil {
		t.Fatal(err)
	}
	server, err := kvcache.NewServer(1, &extsock.Config{TLS: ours})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go server.Serve(l)
	for desc, config := range map[string]*tls.Config{
		"another server's":    other,
		"no certificate":      {RootCAs: ours.RootCAs},
		"a foreign one":       {RootCAs: ours.RootCAs, Certificates: other.Certificates},
		"no trust in servers": {Certificates: ours.Certificates},
	} {
		if c, err := kvcache.Dial(ctx, l.Addr().String(), &extsock.Config{TLS: config}); err == nil {
			t.Errorf("%s: the client is connected", desc)
			c.Close()
		}
	}
}
