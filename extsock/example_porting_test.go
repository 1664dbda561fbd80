package extsock_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rddp/rddp/extsock"
)

// The code of PORTING.md. A test in conformance/lab/apps compares the two.

// sendBack sends back what comes.
func sendBack(c net.Conn) {
	defer c.Close()
	io.Copy(c, c)
}

// serve gives each connection to f.
func serve(l net.Listener, f func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // l was closed
		}
		go f(c)
	}
}

// ask sends a question and prints the answer, which is as long.
func ask(c net.Conn, question string) {
	if _, err := io.WriteString(c, question); err != nil {
		log.Fatal(err)
	}
	answer := make([]byte, len(question))
	if _, err := io.ReadFull(c, answer); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", answer)
}

// An echo service as it is before it is ported.
func ExampleDial_echo() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go serve(l, sendBack)

	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ask(c, "is anybody there?")
	// Output: is anybody there?
}

// The same over DDP: two calls have another name.
func ExampleDial_echo_step1() {
	cfg := &extsock.Config{Startup: extsock.StartupRequire}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go serve(l, sendBack)

	c, err := extsock.Dial("tcp", l.Addr().String(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ask(c, "is anybody there?")
	if c.ConnectionState().DDPMode {
		fmt.Println("in DDP mode")
	}
	// Output:
	// is anybody there?
	// in DDP mode
}

// The same where the protocol itself says when: both ends switch behind a line that they agree on.
func ExampleDial_echo_step1InBand() {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go serve(l, func(c net.Conn) {
		hello := make([]byte, 9)
		if _, err := io.ReadFull(c, hello); err == nil && string(hello) == "START DDP" {
			if err := c.(*extsock.Conn).EnableDDP(context.Background(), nil); err != nil {
				return
			}
		}
		sendBack(c)
	})

	c, err := extsock.Dial("tcp", l.Addr().String(), nil) // plain TCP so far
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "START DDP"); err != nil {
		log.Fatal(err)
	}
	if err := c.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 1); err != nil { // as EnableDDP
		log.Fatal(err)
	}
	ask(c, "is anybody there?")
	// Output: is anybody there?
}

// The same with messages: what one Write sends one Read gets.
func ExampleDial_echo_step2() {
	cfg := &extsock.Config{Startup: extsock.StartupRequire, Messages: true, RecvSize: 4096}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go serve(l, func(c net.Conn) {
		defer c.Close()
		message := make([]byte, 4096)
		for {
			n, err := c.Read(message) // one message, whole
			if err != nil {
				return
			}
			if _, err := c.Write(message[:n]); err != nil {
				return
			}
		}
	})

	c, err := extsock.Dial("tcp", l.Addr().String(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, question := range []string{"is anybody there?", "who?"} {
		if _, err := io.WriteString(c, question); err != nil {
			log.Fatal(err)
		}
	}
	answer := make([]byte, 4096)
	for range 2 {
		n, err := c.Read(answer)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", answer[:n])
	}
	// Output:
	// is anybody there?
	// who?
}

const (
	ringSlots = 4
	slotSize  = 1 << 10
)

// echoByRing serves a client that writes its questions into one ring of memory and reads the
// answers from another. Only a slot's number and a length go by message: 1 byte and 2 bytes.
func echoByRing(nc net.Conn) {
	c := nc.(*extsock.Conn)
	defer c.Close()
	questions, answers := make([]byte, ringSlots*slotSize), make([]byte, ringSlots*slotSize)
	q, err := c.Register(questions, extsock.RemoteWrite)
	if err != nil {
		return
	}
	a, err := c.Register(answers, extsock.RemoteRead)
	if err != nil {
		return
	}
	if _, err := c.Write(a.Handle().AppendTo(q.Handle().AppendTo(nil))); err != nil {
		return
	}
	for note := make([]byte, 3); ; {
		if _, err := io.ReadFull(c, note); err != nil {
			return // Close takes the memory back from the peer
		}
		at, n := int(note[0])*slotSize, int(note[1])<<8|int(note[2])
		if at >= len(questions) || n > slotSize {
			return
		}
		copy(answers[at:], questions[at:at+n]) // the question is there: it came before the note
		if _, err := c.Write(note); err != nil {
			return
		}
	}
}

// The same with one-sided operations: the bytes go straight from memory to memory.
func ExampleDial_echo_step3() {
	cfg := &extsock.Config{Startup: extsock.StartupRequire}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go serve(l, echoByRing)

	c, err := extsock.Dial("tcp", l.Addr().String(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	handles := make([]byte, 32)
	if _, err := io.ReadFull(c, handles); err != nil {
		log.Fatal(err)
	}
	q, handles, err := extsock.ParseHandle(handles)
	if err != nil {
		log.Fatal(err)
	}
	a, _, err := extsock.ParseHandle(handles)
	if err != nil {
		log.Fatal(err)
	}
	questions, answers := c.Remote(q), c.Remote(a)
	for i, question := range []string{"is anybody there?", "who?"} {
		slot := i % ringSlots
		at, n := int64(slot*slotSize), len(question)
		if _, err := questions.WriteAt([]byte(question), at); err != nil { // RDMA Write
			log.Fatal(err)
		}
		note := []byte{byte(slot), byte(n >> 8), byte(n)}
		if _, err := c.Write(note); err != nil { // behind it, so it tells that the question is there
			log.Fatal(err)
		}
		if _, err := io.ReadFull(c, note); err != nil {
			log.Fatal(err)
		}
		answer := make([]byte, n)
		if _, err := answers.ReadAt(answer, at); err != nil { // RDMA Read
			log.Fatal(err)
		}
		fmt.Printf("%s\n", answer)
	}
	// Output:
	// is anybody there?
	// who?
}

// An HTTP server and its client, with the handlers they always had.
func ExampleListen_http() {
	cfg := &extsock.Config{Startup: extsock.StartupRequire}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello from ", r.URL.Path)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		log.Fatal(err)
	}
	go server.Serve(l)

	client := &http.Client{Transport: &http.Transport{
		DialContext: (&extsock.Dialer{Config: cfg}).DialContext,
	}}
	resp, err := client.Get("http://" + l.Addr().String() + "/over/ddp")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s\n", resp.Status, body)

	client.CloseIdleConnections()
	if err := server.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: 200 OK: hello from /over/ddp
}

// The echo service of step 1 over TLS.
func ExampleConfig_tls() {
	serverTLS, clientTLS := certificates()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire, TLS: serverTLS})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go serve(l, sendBack)

	c, err := extsock.Dial("tcp", l.Addr().String(), &extsock.Config{Startup: extsock.StartupRequire, TLS: clientTLS})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ask(c, "who can listen to us?")
	// Output: who can listen to us?
}

// A server that asks its clients for a certificate, and tells them who they are.
func ExampleConn_ConnectionState_tls() {
	serverTLS, clientTLS := certificates()
	serverTLS.ClientAuth, serverTLS.ClientCAs = tls.RequireAndVerifyClientCert, clientTLS.RootCAs
	clientTLS.Certificates = serverTLS.Certificates
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire, TLS: serverTLS})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go serve(l, func(nc net.Conn) {
		defer nc.Close()
		c := nc.(*extsock.Conn)
		if err := c.Handshake(context.Background()); err != nil {
			return
		}
		client := c.ConnectionState().TLS.PeerCertificates[0]
		fmt.Fprintf(c, "you are %s\n", client.Subject.CommonName)
	})

	c, err := extsock.Dial("tcp", l.Addr().String(), &extsock.Config{Startup: extsock.StartupRequire, TLS: clientTLS})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	io.Copy(os.Stdout, c)
	// Output: you are somebody
}

// certificates returns the configuration of a server with a new certificate, and that of clients
// which trust it.
func certificates() (server, client *tls.Config) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		Subject: pkix.Name{CommonName: "somebody"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		log.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		log.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, &tls.Config{RootCAs: trusted}
}

// One Region for all clients of a server. Each of them may use the same Handle.
func ExampleConfig_domain() {
	domain := new(extsock.Domain)
	table := []byte("one table for all clients")
	r, err := domain.Register(table, extsock.RemoteRead, 0) // 0: for every connection of the Domain
	if err != nil {
		log.Fatal(err)
	}
	defer r.Deregister()
	handle := extsock.Handle{STag: r.STag(), TO: r.TO(), Len: uint32(r.Len())}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire, Domain: domain})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go serve(l, func(c net.Conn) {
		defer c.Close()
		if _, err := c.Write(handle.AppendTo(nil)); err != nil {
			return
		}
		io.Copy(io.Discard, c) // until the client closes
	})

	for range 2 {
		c, err := extsock.Dial("tcp", l.Addr().String(), &extsock.Config{Startup: extsock.StartupRequire})
		if err != nil {
			log.Fatal(err)
		}
		b := make([]byte, 16)
		if _, err := io.ReadFull(c, b); err != nil {
			log.Fatal(err)
		}
		h, _, err := extsock.ParseHandle(b)
		if err != nil {
			log.Fatal(err)
		}
		p := make([]byte, h.Len)
		if _, err := c.Remote(h).ReadAt(p, 0); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", p)
		c.Close()
	}
	// Output:
	// one table for all clients
	// one table for all clients
}

// lendUntil lends memory to a client until ctx is done, and takes it back in order.
func lendUntil(ctx context.Context, c *extsock.Conn) {
	defer c.Close() // takes the memory back
	r, err := c.Register([]byte("one-sided"), extsock.RemoteRead)
	if err != nil {
		return
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() {
		c.SetReadDeadline(time.Now().Add(10 * time.Second)) // for a client that does not close
		c.CloseWrite()                                      // the client reads io.EOF
	})()
	io.Copy(io.Discard, c) // until the client has closed
}

// A server stops, and no Read of its client fails.
func ExampleConn_CloseWrite() {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stopped := make(chan struct{})
	go serve(l, func(c net.Conn) { lendUntil(ctx, c.(*extsock.Conn)); close(stopped) })

	c, err := extsock.Dial("tcp", l.Addr().String(), &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		log.Fatal(err)
	}
	b := make([]byte, 16)
	if _, err := io.ReadFull(c, b); err != nil {
		log.Fatal(err)
	}
	h, _, err := extsock.ParseHandle(b)
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, c) // until the server's io.EOF
	}()
	p, reads := make([]byte, h.Len), 0
	for goOn := true; goOn; reads++ {
		if _, err := c.Remote(h).ReadAt(p, 0); err != nil {
			log.Fatal(err)
		}
		if reads == 100 {
			l.Close()
			stop() // in the middle of the Reads
		}
		select {
		case <-ended:
			goOn = false
		default:
		}
	}
	c.Close() // no Read is under way
	<-stopped
	fmt.Printf("%s, without an error: %t\n", p, reads > 100)
	// Output: one-sided, without an error: true
}
