package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

// An authority signs certificates, and writes them to files in a folder.
type authority struct {
	dir, name string
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newAuthority makes an authority, and writes its certificate to NAME.pem.
func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{dir: dir, name: name, key: newKey(t), cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(dir, name+".pem"), "CERTIFICATE", der)
	return a
}

// issue writes FILE.pem and FILE.key: a certificate for host that is valid until the given time.
func (a *authority) issue(t *testing.T, file, host string, until time.Time) {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: until.Add(-time.Hour), NotAfter: until, DNSNames: []string{host},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(a.dir, file+".pem"), "CERTIFICATE", der)
	writePEM(t, filepath.Join(a.dir, file+".key"), "PRIVATE KEY", secret)
}

func writePEM(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A tlsPair is a command that listens and one that connects to it.
type tlsPair struct {
	name string
	// ADDR is replaced by the server's address, DIR by a folder with the file f, and ECHO by the
	// address of an echo service.
	server, client string
	again          bool // the client connects several times, so each end may report the error more than once
	tries          bool // the client tries the server before its first connection, so the server may report the error twice
}

var tlsPairs = []tlsPair{
	{name: "ping", server: "ping -P --listen 127.0.0.1:0", client: "ping -f -c 1 ADDR"},
	{name: "cp", server: "serve --listen 127.0.0.1:0 DIR", client: "cp rddp://ADDR/f DIR/got"},
	{name: "perf", server: "perf --listen 127.0.0.1:0", client: "perf ADDR --no-gate --op echo,write --size 64 --rounds 1 --time 1ms"},
	{name: "spec", server: "spec --peer --listen 127.0.0.1:0", client: "spec --section 5041 ADDR", again: true},
	{name: "spec, the peer dials", server: "spec --listen 127.0.0.1:0 --section 5041", client: "spec --peer ADDR", again: true},
	{name: "proxy", server: "proxy -l rddp://127.0.0.1:0 -t ECHO", client: "proxy -l 127.0.0.1:0 -t rddp://ADDR", tries: true},
}

// startTLS starts the server of a pair. It returns its address, its output so far, and the pin that
// it has printed.
func startTLS(t *testing.T, p tlsPair, flags, dir string) (address, pin string, errs *listening) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	errs = newListening()
	ended := make(chan int, 1)
	name, rest, _ := strings.Cut(p.server, " ")
	if strings.Contains(rest, "ECHO") {
		rest = strings.ReplaceAll(rest, "ECHO", tcptest.Serve(t, tcptest.Echo))
	}
	line := strings.Fields(strings.ReplaceAll("rddp "+name+" "+flags+" "+rest, "DIR", dir))
	go func() { ended <- run(ctx, line, new(strings.Builder), errs, commands()) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	prototest.Wait(t, "the server's address", func() bool {
		select {
		case status := <-ended:
			ended <- status
			t.Fatalf("%q has ended with status %d: %v", line, status, errs)
		default:
		}
		said := errs.String() // read once, because the pin precedes the address, and both may arrive between two reads
		_, pin, _ = strings.Cut(said, "--tls-pin ")
		pin, _, _ = strings.Cut(pin, `"`)
		_, address, _ = strings.Cut(said, " address=")
		_, address, _ = strings.Cut(address, "127.0.0.1:")
		address, _, _ = strings.Cut(address, "\n")
		return address != ""
	})
	return "127.0.0.1:" + address, pin, errs
}

// runTLS runs the client of a pair.
func runTLS(t *testing.T, p tlsPair, flags, address, pin, dir string) (status int, stderr string) {
	t.Helper()
	if p.name == "proxy" {
		return runEntrance(t, p, strings.NewReplacer("PIN", pin).Replace(flags), address, dir)
	}
	name, rest, _ := strings.Cut(p.client, " ")
	line := strings.NewReplacer("ADDR", address, "DIR", dir, "PIN", pin).Replace(name + " " + flags + " " + rest)
	status, stdout, stderr := runs(t, commands(), strings.Fields(line)...)
	if strings.Contains(stdout, "  FAIL  ") {
		t.Errorf("the client says of a peer that TLS does not fit:\n%s", stdout)
	}
	return status, stderr
}

// runEntrance sends a word through a proxy. The status is exitFailure if it does not come back.
func runEntrance(t *testing.T, p tlsPair, flags, address, dir string) (status int, stderr string) {
	t.Helper()
	p.server = strings.ReplaceAll(p.client, "ADDR", address)
	entrance, _, errs := startTLS(t, p, flags, dir)
	said := errs.String()
	if echoes(t, entrance) == nil {
		return exitOK, ""
	}
	prototest.Wait(t, "the entrance's reason", func() bool { return len(errs.String()) > len(said) })
	return exitFailure, strings.TrimPrefix(errs.String(), said)
}

// tlsFiles makes the certificates that tlsCases name, in a folder.
func tlsFiles(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	ours, other := newAuthority(t, dir, "ours"), newAuthority(t, dir, "other")
	ours.issue(t, "here", "here", time.Now().Add(time.Hour))
	ours.issue(t, "old", "here", time.Now().Add(-time.Minute))
	other.issue(t, "stranger", "here", time.Now().Add(time.Hour))
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const (
	here     = "--tls-cert DIR/here.pem --tls-key DIR/here.key"
	old      = "--tls-cert DIR/old.pem --tls-key DIR/old.key"
	stranger = "--tls-cert DIR/stranger.pem --tls-key DIR/stranger.key"
	trust    = "--tls-ca DIR/ours.pem --tls-server-name here"
	refuses  = "the peer refuses this end's certificate"
	unknown  = "this end refuses the peer's certificate: x509: certificate signed by unknown authority"
)

var tlsCases = []struct {
	desc               string
	server, client     string // flags
	inServer, inClient string // the expected messages; "" if there is no error
}{
	{"no TLS", "", "", "", ""},
	{"certificates of an authority", here, trust, "", ""},
	{"certificates at both ends", here + " --tls-client-ca DIR/ours.pem", trust + " " + here, "", ""},
	{"a pin", "--tls-self", "--tls-pin PIN", "", ""},
	{"wrong authority", stranger, trust, refuses, unknown},
	{"expired", old, trust, refuses, "this end refuses the peer's certificate: x509: certificate has expired"},
	{"wrong name", here, "--tls-ca DIR/ours.pem --tls-server-name there", refuses, "x509: certificate is valid for here, not there"},
	{"wrong pin", "--tls-self", "--tls-pin sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", refuses, "the peer has another key than the pin says"},
	{"a pin, and a wrong authority", "--tls-self", "--tls-pin PIN " + trust, refuses, "this end refuses the peer's certificate: x509: "},
	{"no client certificate", here + " --tls-client-ca DIR/ours.pem", trust, "requires a certificate of the peer", "the peer requires a certificate of this end"},
	{"client of a wrong authority", here + " --tls-client-ca DIR/ours.pem", trust + " " + stranger, unknown, refuses},
	{"client with a wrong pin", here + " --tls-pin sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", trust + " " + here, "the peer has another key than the pin says", refuses},
	{"plain to TLS", "--tls-self", "", "this end speaks TLS, and the peer does not", "the peer speaks TLS, and this end does not"},
	{"TLS to plain", "", trust, "the peer speaks TLS, and this end does not", "this end speaks TLS, and the peer"},
}

// TestTLS: for each command, the valid TLS configurations work, and for each invalid one both ends
// report the reason in one line.
func TestTLS(t *testing.T) {
	dir := tlsFiles(t)
	for _, tt := range tlsCases {
		for _, p := range tlsPairs {
			t.Run(tt.desc+"/"+p.name, func(t *testing.T) {
				address, pin, errs := startTLS(t, p, tt.server, dir)
				status, stderr := runTLS(t, p, tt.client, address, pin, dir)
				if tt.inClient == "" {
					if status != exitOK || stderr != "" {
						t.Errorf("client: status %d, %s", status, stderr)
					}
					return
				}
				line, rest, _ := strings.Cut(stderr, "\n")
				if status == exitOK && !p.again || !strings.Contains(line, tt.inClient) || strings.Count(rest, "\n") > 1 && !p.again {
					t.Fatalf("client: status %d, want %q in the first line of\n%s", status, tt.inClient, stderr)
				}
				prototest.Wait(t, "what the server says", func() bool { return strings.Contains(errs.String(), tt.inServer) })
				_, server, _ := strings.Cut(errs.String(), address+"\n")
				if n := strings.Count(server, "\n"); n != 1 && !p.again && (n != 2 || !p.tries) {
					t.Errorf("the server says more than one line:\n%s", server)
				}
				t.Logf("client: %s\nserver: %s", line, server)
			})
		}
	}
}

// TestTLSReload: long-running servers and clients use the current files. While a file cannot be
// loaded, they use its previous version.
func TestTLSReload(t *testing.T) {
	for _, p := range tlsPairs {
		if p.name == "ping" || p.name == "proxy" {
			t.Run(p.name, func(t *testing.T) { reloadTLS(t, p) })
		}
	}
}

func reloadTLS(t *testing.T, p tlsPair) {
	dir := t.TempDir()
	ours, next := newAuthority(t, dir, "ours"), newAuthority(t, dir, "next")
	ours.issue(t, "server", "here", time.Now().Add(time.Hour))
	ours.issue(t, "client", "here", time.Now().Add(time.Hour))
	address, _, errs := startTLS(t, p, "--tls-cert DIR/server.pem --tls-key DIR/server.key --tls-client-ca DIR/ours.pem", dir)
	check := func(when, ca string, want int) {
		t.Helper()
		status, stderr := runTLS(t, p, "--tls-cert DIR/client.pem --tls-key DIR/client.key --tls-ca DIR/"+ca+".pem --tls-server-name here", address, "", dir)
		if status != want {
			t.Errorf("%s: status %d, want %d: %s", when, status, want, stderr)
		}
	}
	check("at the beginning", "ours", exitOK)
	next.issue(t, "server", "here", time.Now().Add(time.Hour))
	check("with a new certificate, the old authority", "ours", exitFailure)
	check("with a new certificate, its authority", "next", exitOK)
	// At once, or a connection of before could still find the file empty, which is another version
	half := filepath.Join(dir, "half")
	if err := errors.Join(os.WriteFile(half, []byte("half"), 0o600), os.Rename(half, filepath.Join(dir, "server.key"))); err != nil {
		t.Fatal(err)
	}
	check("with half a key", "next", exitOK)
	if n := strings.Count(errs.String(), "the certificates of before remain in use: "); n != 1 {
		t.Errorf("the server says it %d times:\n%s", n, errs)
	}
	next.issue(t, "client", "here", time.Now().Add(time.Hour))
	check("a client that the authority does not know", "next", exitFailure)
}

// TestEntranceReloads: a running entrance trusts the authorities that are in its file when a client
// connects.
func TestEntranceReloads(t *testing.T) {
	dir := t.TempDir()
	ours, next := newAuthority(t, dir, "ours"), newAuthority(t, dir, "next")
	pair := tlsPairs[slices.IndexFunc(tlsPairs, func(p tlsPair) bool { return p.name == "proxy" })]
	trust := func(name string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name+".pem"))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "trusted.pem"), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	trust("ours")
	ours.issue(t, "server", "here", time.Now().Add(time.Hour))
	exit, _, _ := startTLS(t, pair, "--tls-cert DIR/server.pem --tls-key DIR/server.key", dir)
	pair.server = strings.ReplaceAll(pair.client, "ADDR", exit)
	entrance, _, _ := startTLS(t, pair, "--tls-ca DIR/trusted.pem --tls-server-name here", dir)
	check := func(when string, want bool) {
		t.Helper()
		if err := echoes(t, entrance); (err == nil) != want {
			t.Errorf("%s: %v", when, err)
		}
	}
	check("at the beginning", true)
	next.issue(t, "server", "here", time.Now().Add(time.Hour))
	check("with a server of the next authority", false)
	trust("next")
	check("with the next authority", true)
}

// echoes sends a word through an entrance, and returns an error if it does not come back.
func echoes(t *testing.T, entrance string) error {
	t.Helper()
	c, err := net.Dial("tcp", entrance)
	if err != nil {
		return err // the entrance may reset the connection before Dial returns
	}
	defer c.Close()
	c.SetDeadline(prototest.Deadline(t))
	_, _ = c.Write([]byte("word")) // the Read fails too
	_, err = io.ReadFull(c, make([]byte, 4))
	return err
}

// TestListenBeyond: no command listens where other hosts can connect, unless it has TLS or the user
// allows it.
func TestListenBeyond(t *testing.T) {
	dir := t.TempDir()
	for _, line := range []string{
		"ping --listen 0.0.0.0", "ping --listen ::", "ping --listen 192.0.2.1",
		"perf --listen 0.0.0.0", "perf --listen ::", "perf --listen 192.0.2.1",
		"proxy -l rddp://:0 -t 127.0.0.1:1", "proxy -l rddp://192.0.2.1:0 -t 127.0.0.1:1",
		"spec --peer --listen :0", "spec --listen 0.0.0.0:0", "spec --listen 192.0.2.1:0",
		"serve --listen :7174 " + dir, "serve --listen 0.0.0.0:0 " + dir, "serve --listen 192.0.2.1:0 " + dir, "serve --listen [2001:db8::1]:0 " + dir,
	} {
		// If the command listens nevertheless, the interrupt ends it.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var errs strings.Builder
		status := run(ctx, strings.Fields("rddp "+line), new(strings.Builder), &errs, commands())
		if status != exitUsage || !strings.Contains(errs.String(), "other hosts could connect without TLS: give --tls-self") {
			t.Errorf("rddp %s: status %d, stderr %q", line, status, &errs)
		}
		for _, flag := range []string{"--insecure", "--tls-self"} {
			name, rest, _ := strings.Cut(line, " ")
			var errs strings.Builder
			run(ctx, strings.Fields("rddp "+name+" "+flag+" "+rest), new(strings.Builder), &errs, commands())
			if text := errs.String(); strings.Contains(text, "other hosts") || strings.Contains(text, "--help") {
				t.Errorf("rddp %s with %s: %s", line, flag, text)
			}
		}
	}
}

// TestTLSUsage: inconsistent flags are usage errors.
func TestTLSUsage(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"ping --listen 127.0.0.1 --tls-cert x", "--tls-cert and --tls-key go together"},
		{"ping h --tls-key x", "--tls-cert and --tls-key go together"},
		{"ping --listen 127.0.0.1 --tls-self --tls-cert x --tls-key x", "give either --tls-self or --tls-cert"},
		{"ping --listen 127.0.0.1 --tls-ca x", "--tls-ca: this end is the TLS server"},
		{"ping --listen 127.0.0.1 --tls-server-name x", "--tls-server-name: this end is the TLS server"},
		{"ping --listen 127.0.0.1 --tls-client-ca x", "--tls-client-ca and --tls-pin need --tls-cert or --tls-self"},
		{"ping h --tls-self", "--tls-self: this end is the TLS client"},
		{"ping h --insecure", "--insecure: this end is the TLS client"},
		{"ping h --tls-cert x --tls-key x", "which say what server to trust"},
		{"cp --tls-pin x rddp://h/f .", `--tls-pin: "x" is not a pin: sha256//`},
		{"cp --tls-pin= rddp://h/f .", `--tls-pin: "" is not a pin: sha256//`},
		{"cp --tls-ca= rddp://h/f .", "--tls-ca is empty"},
		{"top --tls-server-name= 127.0.0.1:1", "--tls-server-name is empty"},
		{"serve --tls-self --tls-client-ca= .", "--tls-client-ca is empty"},
		{"perf --listen 127.0.0.1 --tls-cert= --tls-key=", "--tls-cert is empty"},
		{"proxy -l 127.0.0.1:0 -t rddp://h --tls-ca=", "--tls-ca is empty"},
	} {
		// If the command starts nevertheless, the interrupt ends it.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var stdout, stderr strings.Builder
		status := run(ctx, strings.Fields("rddp "+tt.line), &stdout, &stderr, commands())
		if status != exitUsage || stdout.Len() > 0 || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("rddp %s: status %d, stdout %q, stderr %q, want %q", tt.line, status, &stdout, &stderr, tt.want)
		}
	}
}

// TestListenDefault: without an address, a command listens at loopback.
func TestListenDefault(t *testing.T) {
	if _, help, _ := runs(t, commands(), "serve", "--help"); !strings.Contains(help, `(default: "127.0.0.1:7174")`) {
		t.Errorf("rddp serve --help says\n%s", help)
	}
}
