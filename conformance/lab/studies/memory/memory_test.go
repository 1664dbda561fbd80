package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestMain is also the program of the processes that a trial starts.
func TestMain(m *testing.M) {
	if harness.IsPart() {
		main()
		return
	}
	testmode.Hurry()
	nopanic.Exit(m.Run())
}

// TestAllBlocksArrive: the sink receives as many bytes as the source sends, and checks them itself.
func TestAllBlocksArrive(t *testing.T) {
	for _, way := range ways {
		for _, size := range []int{1 << 10, 1 << 20} {
			const count = 5
			o, err := trial{Way: way, Size: size, Count: count}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if o.Bytes != count*size {
				t.Errorf("%s: %d bytes, want %d", way, o.Bytes, count*size)
			}
		}
	}
}

// TestParseTrace: events are counted by CPU, those of other protocols are not, and a trace that
// lost events is refused.
func TestParseTrace(t *testing.T) {
	const head = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 4/4   #P:2\n#\n"
	const events = `     sink-123   [001] .....  1.234567: copy0: (0x46c0e0) n=4096
     sink-123   [001] .....  1.234568: copy2: (0x46c0e0) n=100
   source-77    [000] .....  1.234569: sock_send_length: sk address = 1, family = AF_INET protocol = IPPROTO_TCP, length = 512, error = 0, flags = 0x0
   sink-123     [001] .....  1.234570: sock_recv_length: sk address = 1, family = 0x1 protocol = 0x0, length = 512, error = 0, flags = 0x0
`
	got, err := parseTrace(strings.NewReader(head + events))
	if err != nil || got[place{1, eventCopy}] != 4196 || got[place{0, eventSend}] != 512 || got[place{1, eventRecv}] != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for _, broken := range []string{"# entries-in-buffer/entries-written: 4/5   #P:2\n", "sink-1 [001] . 1.0: copy0: (0x1) n=\n", "sink-1 1.0: copy0\n"} {
		if _, err := parseTrace(strings.NewReader(broken)); !errors.Is(err, errTrace) {
			t.Errorf("%q: %v", broken, err)
		}
	}
}

// TestCheck: the sink's check finds each fault.
func TestCheck(t *testing.T) {
	block := newBlock(1024)
	fill(block, 7)
	if err := check(block, 7); err != nil {
		t.Error(err)
	}
	if err := check(block, 8); !errors.Is(err, errBytes) {
		t.Errorf("another number: %v", err)
	}
	block[1023]++
	if err := check(block, 7); !errors.Is(err, errBytes) {
		t.Errorf("a changed byte: %v", err)
	}
}
