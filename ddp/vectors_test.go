package ddp

import (
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// vectors are whole DDP Segments: header, then payload. They were made by an independent encoder
// and decoded again by Wireshark. Those with the L bit are the only segment of their message.
var vectors = []struct {
	desc     string
	hex      string
	tagged   TaggedHeader   // if the T bit is set
	untagged UntaggedHeader // if not
}{
	{
		desc: "V1 RDMA Write, 8 bytes",
		hex: "c140123456010000000000001000" +
			"0102030405060708",
		tagged: TaggedHeader{Last: true, RsvdULP: 0x40, STag: 0x12345601, TO: 0x1000},
	},
	{
		desc: "V2 Send, 5 bytes (\"hello\"), MSN 1",
		hex: "414300000000000000000000000100000000" +
			"68656c6c6f",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x43, MSN: 1},
	},
	{
		desc: "V3 RDMA Read Request, 8 bytes, MSN 1",
		hex: "414100000000000000010000000100000000" +
			"0a0b0c01000000000000200000000008123456010000000000001000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x41, QN: 1, MSN: 1},
	},
	{
		desc: "V4 RDMA Read Response, 8 bytes",
		hex: "c1420a0b0c010000000000002000" +
			"0102030405060708",
		tagged: TaggedHeader{Last: true, RsvdULP: 0x42, STag: 0x0A0B0C01, TO: 0x2000},
	},
	{
		desc: "V5 Terminate: DDP tagged / Invalid STag",
		hex: "414700000000000000020000000100000000" +
			"1100c0000016c140deadbe000000000000001000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc: "V6 Terminate: DDP tagged / base or bounds",
		hex: "414700000000000000020000000100000000" +
			"1101c0000016c1401234560100000000000010f9",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc: "V7 Terminate: RDMAP remote protection / Invalid STag (Read Request)",
		hex: "414700000000000000020000000100000000" +
			"0100e000002e4141000000000000000100000001000000000a0b0c01000000000000200000000008deadbe000000000000001000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc: "V8 Terminate: RDMAP remote protection / base or bounds (Read Request)",
		hex: "414700000000000000020000000100000000" +
			"0101e000002e4141000000000000000100000001000000000a0b0c010000000000002000000000101234560100000000000010f9",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc: "V9 Terminate: RDMAP local catastrophic, no headers",
		hex: "414700000000000000020000000100000000" +
			"00000000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc: "V10 Atomic Request FetchAdd +1, MSN 2 on QN 1",
		hex: "414a00000000000000010000000200000000" +
			"00000000cafe0001123456010000000000001000000000000000000100000000000000000000000000000000ffffffffffffffff",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x4A, QN: 1, MSN: 2},
	},
	{
		desc: "V11 Atomic Response, original value 41",
		hex: "414b00000000000000030000000100000000" +
			"cafe00010000000000000029",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x4B, QN: 3, MSN: 1},
	},
	{
		desc: "V12 Atomic Request CmpSwap 42 -> 0x1111, MSN 3 on QN 1",
		hex: "414a00000000000000010000000300000000" +
			"00000002cafe00021234560100000000000010000000000000001111ffffffffffffffff000000000000002affffffffffffffff",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x4A, QN: 1, MSN: 3},
	},
	{
		desc: "V13 Immediate Data, MSN 2 on QN 0",
		hex: "414800000000000000000000000200000000" +
			"1122334455667788",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x48, MSN: 2},
	},
	{
		desc: "V14 Immediate Data with SE, MSN 3 on QN 0",
		hex: "414900000000000000000000000300000000" +
			"1122334455667788",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x49, MSN: 3},
	},
	{
		desc: "V15 Send with Invalidate, 5 bytes, MSN 2",
		hex: "414412345601000000000000000200000000" +
			"68656c6c6f",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x44, RsvdULP32: 0x12345601, MSN: 2},
	},
	{
		desc: "V16 zero-length RDMA Write (RTR)",
		hex: "c140000000000000000000000000" +
			"",
		tagged: TaggedHeader{Last: true, RsvdULP: 0x40, STag: 0x00000000, TO: 0x0},
	},
	{
		desc: "V17 zero-length RDMA Read Request, MSN 1",
		hex: "414100000000000000010000000100000000" +
			"00000000000000000000000000000000000000000000000000000000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x41, QN: 1, MSN: 1},
	},
	{
		desc: "V18 zero-length RDMA Read Response",
		hex: "c142000000000000000000000000" +
			"",
		tagged: TaggedHeader{Last: true, RsvdULP: 0x42, STag: 0x00000000, TO: 0x0},
	},
	{
		desc: "V19 zero-length Send, MSN 1",
		hex: "414300000000000000000000000100000000" +
			"",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x43, MSN: 1},
	},
	{
		desc: "V20 Terminate: DDP untagged / message too long (9-octet Send, 8-octet buffer)",
		hex: "414700000000000000020000000100000000" +
			"1205c000001b414300000000000000000000000100000000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc: "V21 Terminate: DDP untagged / no buffer available (Send, MSN 1)",
		hex: "414700000000000000020000000100000000" +
			"1202c0000017414300000000000000000000000100000000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc: "V22 Terminate: RDMAP remote operation / STag cannot be Invalidated (unknown STag)",
		hex: "414700000000000000020000000100000000" +
			"0209c00000174144deadbe00000000000000000200000000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc: "V23 Terminate: RDMAP remote operation / Unexpected OpCode (0xC, 18-octet ULPDU)",
		hex: "414700000000000000020000000100000000" +
			"0206c0000012414c00000000000000000000000100000000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc: "V24 Terminate: RDMAP remote operation / 0x07 for a misaligned FetchAdd (TO 0x1004, MSN 2)",
		hex: "414700000000000000020000000100000000" +
			"0207c0000046414a00000000000000010000000200000000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc: "V25 Terminate: MPA CRC error, no headers",
		hex: "414700000000000000020000000100000000" +
			"20020000",
		untagged: UntaggedHeader{Last: true, RsvdULP: 0x47, QN: 2, MSN: 1},
	},
	{
		desc:   "tagged, not the last segment",
		hex:    "81ff0102030405060708090a0b0c" + "00",
		tagged: TaggedHeader{RsvdULP: 0xFF, STag: 0x01020304, TO: 0x05060708090A0B0C},
	},
	{
		desc:     "untagged, not the last segment, every field different",
		hex:      "01ff0102030405060708090a0b0c0d0e0f10" + "00",
		untagged: UntaggedHeader{RsvdULP: 0xFF, RsvdULP32: 0x01020304, QN: 0x05060708, MSN: 0x090A0B0C, MO: 0x0D0E0F10},
	},
}

var unhex = prototest.Unhex
