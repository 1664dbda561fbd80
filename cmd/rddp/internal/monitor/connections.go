package monitor

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/stats"
	"github.com/rddp/rddp/internal/tlshandshake"
)

const connectionsPath = "/connections"

// A Process is the first line of /connections. Bytes are those of FPDUs, with all headers.
type Process struct {
	Kind           string    `json:"kind"` // "process"
	Time           time.Time `json:"time"` // of the snapshot
	Command        string    `json:"command"`
	Started        time.Time `json:"started"`
	Open           uint64    `json:"open"`
	Connections    uint64    `json:"connections"` // all connections in DDP mode so far, including Open
	Failures       uint64    `json:"failures"`
	SentBytes      uint64    `json:"sent_bytes"`
	ReceivedBytes  uint64    `json:"received_bytes"`
	MemoryReserved int64     `json:"memory_reserved_bytes"`
	MemoryLimit    int64     `json:"memory_limit_bytes"`
}

// A Connection is a line of /connections for one connection in DDP mode.
type Connection struct {
	Kind             string    `json:"kind"` // "connection"
	Time             time.Time `json:"time"` // the same as in the Process
	Number           uint64    `json:"number"`
	Since            time.Time `json:"since"`
	Local            string    `json:"local"`
	Peer             string    `json:"peer"`
	Role             string    `json:"role"` // in MPA startup: "initiator" or "responder"
	Mode             string    `json:"mode"` // of Read and Write: "stream" or "messages"
	SentBytes        uint64    `json:"sent_bytes"`
	ReceivedBytes    uint64    `json:"received_bytes"`
	SentMessages     uint64    `json:"sent_messages"` // RDMA Messages of all kinds
	ReceivedMessages uint64    `json:"received_messages"`
	CreditStalls     uint64    `json:"credit_stalls"`
}

const (
	kindProcess    = "process"
	kindConnection = "connection"
)

// writeConnections writes the lines of /connections. It stops at an error of w, because the client
// has gone.
func writeConnections(w io.Writer, command string, started time.Time) {
	now := time.Now()
	total := extsock.TotalStats()
	buffered := bufio.NewWriter(w)
	defer buffered.Flush()
	lines := json.NewEncoder(buffered)
	err := lines.Encode(Process{
		Kind: kindProcess, Time: now, Command: command, Started: started,
		Open: total.Open, Connections: total.Connections, Failures: total.Failures,
		SentBytes: total.Sent.Octets, ReceivedBytes: total.Received.Octets,
		MemoryReserved: total.MemoryReserved, MemoryLimit: total.MemoryLimit,
	})
	for c := range extsock.Connections() {
		if err != nil {
			return
		}
		err = lines.Encode(lineOf(now, &c))
	}
}

func lineOf(now time.Time, c *stats.Connection) Connection {
	l := Connection{
		Kind: kindConnection, Time: now, Number: c.Number, Since: c.Since, Local: text(c.Local), Peer: text(c.Remote),
		Role: "responder", Mode: "messages",
		SentBytes: c.Sent.Octets, ReceivedBytes: c.Received.Octets,
		SentMessages: messages(&c.Sent), ReceivedMessages: messages(&c.Received), CreditStalls: c.CreditStalls,
	}
	if c.Initiator {
		l.Role = "initiator"
	}
	if c.ByteStream {
		l.Mode = "stream"
	}
	return l
}

func text(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

func messages(t *stats.Traffic) uint64 {
	return t.Sends + t.Writes + t.ReadRequests + t.ReadResponses + t.AtomicRequests + t.AtomicResponses + t.ImmediateData + t.Terminates
}

// A Snapshot is the content of /connections at one moment.
type Snapshot struct {
	Process     Process
	Connections []Connection
}

// Limits of what a server may send.
const (
	maxLine        = 64 << 10 // bytes
	maxConnections = 1 << 20
)

// ErrNotMonitor means that the answer does not come from the --metrics address of a command.
var ErrNotMonitor = errors.New("this is not the --metrics address of an rddp command")

// parse parses the output of writeConnections.
func parse(r io.Reader) (*Snapshot, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	s := &Snapshot{}
	if lines.Scan() {
		if err := json.Unmarshal(lines.Bytes(), &s.Process); err != nil || s.Process.Kind != kindProcess {
			return nil, ErrNotMonitor
		}
	}
	for lines.Scan() {
		var c Connection
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil || c.Kind != kindConnection || len(s.Connections) == maxConnections {
			return nil, ErrNotMonitor
		}
		s.Connections = append(s.Connections, c)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, ErrNotMonitor
	case err != nil:
		return nil, err
	case s.Process.Kind == "":
		return nil, ErrNotMonitor
	}
	return s, nil
}

// A Client queries the --metrics address of a command.
type Client struct {
	address string
	http    http.Client
	scheme  string
}

// NewClient returns a client for the command at the TCP address. A nil config means no TLS. timeout
// bounds each request.
func NewClient(address string, config *tls.Config, timeout time.Duration) *Client {
	scheme := "http"
	if config != nil {
		scheme = "https"
		if config.ServerName == "" {
			config = config.Clone()
			config.ServerName = tlshandshake.NameAt(address)
		}
	}
	return &Client{address: address, scheme: scheme, http: http.Client{
		Timeout: timeout, Transport: &http.Transport{TLSClientConfig: config},
		// The command does not redirect. A server that does could choose what this client connects
		// to.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the connection to the command.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get returns the current Snapshot of the command.
func (c *Client) Get(ctx context.Context) (*Snapshot, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, (&url.URL{Scheme: c.scheme, Host: c.address, Path: connectionsPath}).String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.plain(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(answer.Body, 200)) // only for the message
		if strings.Contains(string(b), "HTTPS") {
			return nil, c.speaksTLS()
		}
		return nil, fmt.Errorf("%s answers %.60q: %w", c.address, answer.Status, ErrNotMonitor)
	}
	s, err := parse(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.address, c.plain(ctx, err))
	}
	return s, nil
}

func (c *Client) speaksTLS() error {
	return fmt.Errorf("%s speaks TLS: give --tls-pin, --tls-ca or --tls-server-name", c.address)
}

// plain returns the cause of a failed request.
func (c *Client) plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	var timeout net.Error
	switch op := (*net.OpError)(nil); {
	case tlshandshake.Words(err) != "":
		err = tlshandshake.Brief(err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s does not answer within %v", c.address, c.http.Timeout)
	case strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`): // a TLS alert
		return c.speaksTLS()
	case strings.Contains(err.Error(), "malformed HTTP response"), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: %w", c.address, ErrNotMonitor)
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return fmt.Errorf("%s speaks no TLS", c.address)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("connecting to %s: %w", c.address, op.Err)
	case op != nil:
		return fmt.Errorf("asking %s: %w", c.address, op.Err)
	}
	return err
}
