package prototest_test

import (
	"bytes"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
)

// TestSegments compares the segments with the output of the codecs.
func TestSegments(t *testing.T) {
	payload := []byte{1, 2, 3}
	request := rdmap.ReadRequest{SinkSTag: 1, SinkTO: 2, Size: 3, SourceSTag: 4, SourceTO: 5}.AppendTo(nil)
	tests := []struct {
		desc      string
		got, want []byte
	}{
		{
			"tagged", prototest.Tagged(prototest.ControlTagged|uint16(rdmap.OpReadResponse), ddp.STag(7), 1<<40, payload),
			append(ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadResponse), STag: 7, TO: 1 << 40}.AppendTo(nil), payload...),
		},
		{
			"untagged", prototest.Untagged(prototest.ControlUntagged|uint16(rdmap.OpSendSE), ddp.QN(2), 3, 4, payload),
			append(ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpSendSE), QN: 2, MSN: 3, MO: 4}.AppendTo(nil), payload...),
		},
		{"Read Request", prototest.ReadRequest(ddp.STag(1), 2, 3, 4, 5), request},
	}
	for _, tt := range tests {
		if !bytes.Equal(tt.got, tt.want) {
			t.Errorf("%s: %x, want %x", tt.desc, tt.got, tt.want)
		}
	}
}

func TestTerminate(t *testing.T) {
	got, err := rdmap.ParseTerminate(prototest.Terminate(0x1101))
	if err != nil || got.Code != 0x1101 || got.M || got.D || got.R || got.HostOrder {
		t.Errorf("Terminate is read as %+v, %v", got, err)
	}
}

func TestUnhex(t *testing.T) {
	if got := prototest.Unhex(" 00 ff\n a b"); !bytes.Equal(got, []byte{0, 0xff, 0xab}) {
		t.Errorf("Unhex = %x", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("Unhex takes what is no hexadecimal digit")
		}
	}()
	prototest.Unhex("0g")
}

// TestPattern: two patterns have no byte in common, and a pattern does not repeat itself within 64
// KiB.
func TestPattern(t *testing.T) {
	a, b := prototest.Pattern(1<<16, byte(3)), prototest.Pattern(1<<16, 4)
	for i := range a {
		if a[i] == b[i] {
			t.Fatalf("byte %d is %d in both", i, a[i])
		}
	}
	for period := 1; period < 1<<15; period++ {
		if bytes.Equal(a[:period], a[period:2*period]) {
			t.Fatalf("the first %d bytes come again", period)
		}
	}
}
