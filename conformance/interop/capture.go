//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Capture records the TCP packets on an interface of the guest until stop is called. stop writes
// them to the pcap file. "eth0" carries the traffic between siw and the host, "lo" the traffic
// inside the guest.
func (g *Guest) Capture(t testing.TB, iface, file string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	p, err := g.StartProcess(ctx, "tcpdump", "-Z", "root", "-i", iface, "-s", "0", "-B", "32768", "-U", "--immediate-mode", "-w", "-", "tcp")
	if err != nil {
		t.Fatal(err)
	}
	if said, ok := awaitText(p, "listening on"); !ok {
		_, err := p.Wait()
		t.Fatalf("tcpdump does not start: %s%v", said, err)
	}
	pcap := make(chan []byte)
	sentinel := make(chan struct{})
	go func() { pcap <- readUntilSentinel(p.Stdout, sentinel) }()
	return func() {
		t.Helper()
		// A connection attempt to port 9 in the capture shows that the capture contains everything
		// before it.
		to := GuestIP
		if iface == "eth0" {
			to = HostIP
		}
		if _, err := g.run(commandLimit, "nc", "-w", "1", to, "9"); err != nil {
			t.Error(err)
		}
		select {
		case <-sentinel:
		case <-time.After(commandLimit):
			t.Errorf("the capture on %s does not come to its end", iface)
		}
		p.Signal(syscall.SIGTERM)
		b := <-pcap
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Error(err)
		}
	}
}

// awaitText waits until a process has written text to its standard error. It returns false if the
// process ended before.
func awaitText(p *Process, text string) (said string, ok bool) {
	b := make([]byte, 512)
	for !strings.Contains(said, text) {
		n, err := p.Stderr.Read(b)
		if err != nil {
			return said, false
		}
		said += string(b[:n])
	}
	return said, true
}

// These are lengths in a pcap file, and the position of TCP's destination port in an Ethernet frame
// with IPv4.
const (
	pcapHeader   = 24
	recordHeader = 16
	tcpDestPort  = 14 + 20 + 2
	discardPort  = 9
)

// readUntilSentinel reads a pcap stream to its end and returns everything before the first packet
// to port 9. It closes found at that packet.
func readUntilSentinel(r io.Reader, found chan<- struct{}) []byte {
	head := make([]byte, pcapHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil
	}
	var file bytes.Buffer
	file.Write(head)
	done := false
	for {
		record := make([]byte, recordHeader)
		if _, err := io.ReadFull(r, record); err != nil {
			return file.Bytes()
		}
		packet := make([]byte, binary.LittleEndian.Uint32(record[8:]))
		if _, err := io.ReadFull(r, packet); err != nil {
			return file.Bytes()
		}
		if len(packet) >= tcpDestPort+2 && binary.BigEndian.Uint16(packet[tcpDestPort:]) == discardPort && !done {
			done = true
			close(found)
		}
		if !done {
			file.Write(record)
			file.Write(packet)
		}
	}
}
