package ping

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// networks are the kinds of TCP that the tests use. A nil Backend is the kernel's.
var networks = []struct {
	name    string
	address string
	backend func() toe.Backend
}{
	{"loopback", "127.0.0.1:0", func() toe.Backend { return nil }},
	{"simulator", "server:0", func() toe.Backend { return simtoe.New(simtoe.Config{Seed: 7, Split: true}) }},
}

// serve starts a server for the test. It returns its address, and a function that waits for the end
// of Serve and returns its error.
func serve(ctx context.Context, t *testing.T, address string, cfg *Config) (addr string, end func() error) {
	t.Helper()
	s, err := Listen(address, cfg)
	if err != nil {
		t.Fatalf("Listen(%q) = %v", address, err)
	}
	result := make(chan error, 1)
	go func() { result <- s.Serve(ctx) }()
	return s.Addr().String(), func() error {
		select {
		case err := <-result:
			return err
		case <-prototest.TimeLimit(t).Done():
			s.Close()
			return errors.New("Serve does not return")
		}
	}
}

// exchange runs a server for one connection, and a client against it.
func exchange(t *testing.T, address string, server, client *Config) (sum Summary, clientErr, serverErr error) {
	t.Helper()
	addr, end := serve(t.Context(), t, address, server)
	sum, clientErr = Client(t.Context(), addr, client)
	return sum, clientErr, end()
}

func TestPing(t *testing.T) {
	const count = 3
	for _, network := range networks {
		for _, size := range []int{1, 16, 64, 1000, 65536, 1 << 20} {
			for _, noCRC := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/crc=%t", network.name, size, !noCRC), func(t *testing.T) {
					socket := extsock.Config{Backend: network.backend(), NoCRC: noCRC}
					sum, clientErr, serverErr := exchange(t, network.address,
						&Config{Socket: socket, Timeout: time.Minute},
						&Config{Socket: socket, Size: size, Count: count, Validate: true, Timeout: time.Minute})
					if clientErr != nil || serverErr != nil {
						t.Errorf("client: %v, server: %v", clientErr, serverErr)
					}
					if sum.Pings != count || sum.Size != size || sum.Min <= 0 && network.name == "loopback" || sum.Max < sum.Avg() || sum.Avg() < sum.Min {
						t.Errorf("summary %+v, want %d pings of %d bytes with min <= avg <= max", sum, count, size)
					}
				})
			}
		}
	}
}

// Every ping of a long series gets its answers, however its messages are batched.
func TestPingLargeInARow(t *testing.T) {
	for _, network := range networks {
		t.Run(network.name, func(t *testing.T) {
			const count = 12
			socket := extsock.Config{Backend: network.backend()}
			cfg := &Config{Socket: socket, Timeout: time.Minute}
			sum, clientErr, serverErr := exchange(t, network.address, cfg,
				&Config{Socket: socket, Timeout: cfg.Timeout, Size: 1 << 20, Count: count, Validate: true})
			if sum.Pings != count || clientErr != nil || serverErr != nil {
				t.Errorf("%d pings, client: %v, server: %v", sum.Pings, clientErr, serverErr)
			}
		})
	}
}

// The client's first FPDU is the RTR, of length 0, and of the kind that both ends support and the
// server prefers. The pings follow.
func TestPingPeerToPeer(t *testing.T) {
	tests := []struct {
		kinds string
		want  byte // RDMAP opcode
	}{
		{"", opWrite},
		{"send", opSend},
		{"write", opWrite},
		{"read", opReadRequest},
		{"send,write,read", opWrite},
	}
	for _, network := range networks {
		for _, tt := range tests {
			t.Run(network.name+"/"+tt.kinds, func(t *testing.T) {
				rtr, err := ParseRTR(tt.kinds)
				if err != nil {
					t.Fatal(err)
				}
				seen := new(taps)
				socket := extsock.Config{Backend: network.backend(), PeerToPeer: true, RTR: rtr, Tap: seen.tap}
				server := &Config{Socket: extsock.Config{Backend: socket.Backend}} // accepts every kind
				sum, clientErr, serverErr := exchange(t, network.address, server, &Config{Socket: socket, Count: 2, Validate: true})
				if sum.Pings != 2 || clientErr != nil || serverErr != nil {
					t.Fatalf("%d pings, client: %v, server: %v", sum.Pings, clientErr, serverErr)
				}
				fpdus := (&dissector{t: t, crc: true}).cut(seen.sent[0])[1:]
				if op := fpdus[0][3] & 0x0f; op != tt.want {
					t.Errorf("the first FPDU has opcode %d, want %d", op, tt.want)
				}
				if n, want := payloadLen(fpdus[0]), map[byte]int{opReadRequest: 28}[tt.want]; n != want {
					t.Errorf("the first FPDU has %d bytes of payload, want %d", n, want)
				}
				if op, n := fpdus[1][3]&0x0f, payloadLen(fpdus[1]); tt.want != opReadRequest && (op != opSend || n != messageLen) {
					t.Errorf("the second FPDU has opcode %d and %d bytes of payload, want the offer of the source", op, n)
				}
			})
		}
	}
}

// payloadLen returns the length of an FPDU's DDP payload, in octets.
func payloadLen(fpdu []byte) int {
	n := int(binary.BigEndian.Uint16(fpdu))
	if fpdu[2]&0x80 != 0 {
		return n - 14
	}
	return n - 18
}

func TestPingVariants(t *testing.T) {
	tests := []struct {
		desc    string
		socket  extsock.Config
		request string // flags, revision, length and private data of the client's, in hex
	}{
		{"nothing asked", extsock.Config{}, "50020004 00010001"},
		{"revision 1", extsock.Config{Revision: 1}, "40010000"},
		{"revision 2 without the enhanced header", extsock.Config{NoEnhanced: true}, "40020000"},
		{"markers", extsock.Config{Markers: true}, "d0020004 00010001"},
		{"markers, no CRC", extsock.Config{Markers: true, NoCRC: true}, "90020004 00010001"},
		{"deeper IRD and ORD", extsock.Config{IRD: 8, ORD: 9}, "50020004 00080009"},
		{"private data", extsock.Config{PrivateData: []byte{1, 2, 3}}, "50020007 00010001 010203"},
	}
	for _, network := range networks {
		for _, tt := range tests {
			t.Run(network.name+"/"+tt.desc, func(t *testing.T) {
				seen := new(taps)
				tt.socket.Backend, tt.socket.Tap = network.backend(), seen.tap
				sum, clientErr, serverErr := exchange(t, network.address,
					&Config{Socket: tt.socket}, &Config{Socket: tt.socket, Size: 5000, Count: 2, Validate: true})
				if sum.Pings != 2 || clientErr != nil || serverErr != nil {
					t.Fatalf("%d pings, client: %v, server: %v", sum.Pings, clientErr, serverErr)
				}
				want := strings.ReplaceAll(tt.request, " ", "")
				if got := hex.EncodeToString(seen.sent[0][16:][:len(want)/2]); got != want {
					t.Errorf("the client's Request says %s, want %s", got, want)
				}
			})
		}
	}
}

// Until the first answer of a connection arrives, the client sends nudges, RDMA Writes of length 0.
// It sends none if that answer comes in time, and none for later answers.
func TestNudge(t *testing.T) {
	tests := []struct {
		first, later time.Duration // the server's delays: after startup, and between pings
		want         int           // nudges
	}{
		{0, 0, 0},
		{nudgeAfter / 2, 0, 0},
		{nudgeAfter * 3 / 2, 0, 1},
		{nudgeAfter * 7 / 2, 0, 3},
		{0, 4 * nudgeAfter, 0},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			seen := new(taps)
			socket := extsock.Config{Backend: simtoe.New(simtoe.Config{}), Tap: seen.tap}
			l, err := extsock.Listen("tcp", "server:1", (&Config{Socket: socket}).socket())
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() {
				defer l.Close()
				conn, err := acceptConn(l)
				if err != nil {
					served <- err
					return
				}
				s, err := newSession(conn, &Config{Verbose: true, Out: sleeper(tt.later)})
				if err == nil {
					err = s.start(t.Context(), conn.EnableDDP)
				}
				time.Sleep(tt.first) // in a bubble
				if err == nil {
					err = (&answerer{session: s}).run(t.Context())
				}
				served <- errors.Join(err, conn.Close())
			}()
			sum, err := Client(t.Context(), "server:1", &Config{Socket: socket, Count: 3, Validate: true})
			if e := <-served; sum.Pings != 3 || err != nil || e != nil {
				t.Fatalf("%d pings, client: %v, server: %v", sum.Pings, err, e)
			}
			nudges := 0
			for _, f := range (&dissector{t: t, crc: true}).cut(seen.sent[0])[1:] {
				if f[3]&0x0f == opWrite && payloadLen(f) == 0 {
					nudges++
				}
			}
			if nudges != tt.want {
				t.Errorf("first answer after %v, later ones after %v: %d nudges, want %d", tt.first, tt.later, nudges, tt.want)
			}
		})
	}
}

// A sleeper is a server's output for ping data. From the second ping on, a Write takes this long.
type sleeper time.Duration

func (s sleeper) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte("rdma-ping-0:")) {
		time.Sleep(time.Duration(s)) // in a bubble
	}
	return len(p), nil
}

func TestVerbose(t *testing.T) {
	backend := simtoe.New(simtoe.Config{})
	var clientOut, serverOut bytes.Buffer
	_, clientErr, serverErr := exchange(t, "server:0",
		&Config{Socket: extsock.Config{Backend: backend}, Verbose: true, Out: &serverOut},
		&Config{Socket: extsock.Config{Backend: backend}, Verbose: true, Out: &clientOut, Count: 2, Size: 20})
	if clientErr != nil || serverErr != nil {
		t.Errorf("client: %v, server: %v", clientErr, serverErr)
	}
	// The format is that of rping.
	if got, want := clientOut.String(), "ping data: rdma-ping-0: ABCDEF\nping data: rdma-ping-1: BCDEFG\n"; got != want {
		t.Errorf("client printed %q, want %q", got, want)
	}
	if got, want := serverOut.String(), "server ping data: rdma-ping-0: ABCDEF\nserver ping data: rdma-ping-1: BCDEFG\n"; got != want {
		t.Errorf("server printed %q, want %q", got, want)
	}
}

func TestPersistent(t *testing.T) {
	for _, network := range networks {
		t.Run(network.name, func(t *testing.T) {
			socket := extsock.Config{Backend: network.backend()}
			ctx, cancel := context.WithCancel(t.Context())
			addr, end := serve(ctx, t, network.address, &Config{Socket: socket, Persistent: true})
			var clients sync.WaitGroup
			for range 4 {
				clients.Go(func() {
					for range 2 {
						sum, err := Client(ctx, addr, &Config{Socket: socket, Count: 5, Validate: true})
						if sum.Pings != 5 || err != nil {
							t.Errorf("%d pings, %v", sum.Pings, err)
						}
					}
				})
			}
			clients.Wait()
			cancel()
			if err := end(); err != nil {
				t.Errorf("Serve = %v after its context was done, want nil", err)
			}
		})
	}
}

// A connection that does not speak MPA does not end a server for one connection.
func TestServerOutlivesStrangers(t *testing.T) {
	backend := simtoe.New(simtoe.Config{})
	failed := make(chan error, 1)
	cfg := &Config{Socket: extsock.Config{Backend: backend}}
	server := *cfg
	server.Failed = func(_ net.Addr, err error) { failed <- err }
	addr, end := serve(t.Context(), t, "server:0", &server)
	stranger, err := backend.Dial(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, extsock.ErrNotMPA) {
		t.Errorf("the stranger's error is %v, want ErrNotMPA", err)
	}
	client := *cfg
	client.Count = 1
	if sum, err := Client(t.Context(), addr, &client); sum.Pings != 1 || err != nil {
		t.Errorf("%d pings, %v", sum.Pings, err)
	}
	if err := end(); err != nil {
		t.Errorf("Serve = %v, want nil", err)
	}
}

func TestParseRTR(t *testing.T) {
	tests := []struct {
		list string
		want mpa.RTR
	}{
		{"", 0},
		{"send", mpa.RTRSend},
		{"write,read", mpa.RTRWrite | mpa.RTRRead},
		{"read, write ,send", mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead},
	}
	for _, tt := range tests {
		if got, err := ParseRTR(tt.list); got != tt.want || err != nil {
			t.Errorf("ParseRTR(%q) = %v, %v, want %v", tt.list, got, err, tt.want)
		}
	}
	if _, err := ParseRTR("write,swap"); err == nil || !strings.Contains(err.Error(), `"swap"`) {
		t.Errorf("ParseRTR(write,swap) gives the error %v, want one that names swap", err)
	}
}

func TestConfigCheck(t *testing.T) {
	for _, cfg := range []*Config{{Size: -1}, {Size: MaxSize + 1}, {Count: -1}, {Timeout: -1}} {
		if _, err := Client(t.Context(), "127.0.0.1:1", cfg); err == nil || errors.As(err, new(*Error)) {
			t.Errorf("Client(%+v) = %v, want an error from before it connects", cfg, err)
		}
		if s, err := Listen("127.0.0.1:0", cfg); err == nil {
			s.Close()
			t.Errorf("Listen(%+v) succeeds", cfg)
		}
	}
}

// acceptConn is l.Accept with the result's concrete type.
func acceptConn(l net.Listener) (*extsock.Conn, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return c.(*extsock.Conn), nil
}
