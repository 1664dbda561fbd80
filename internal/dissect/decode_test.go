package dissect

import (
	"encoding/json"
	"strings"
	"testing"
)

// vectors are one FPDU of each kind, with CRC, and their JSON and text.
var vectors = []struct {
	desc, fpdu, json, text string
}{
	{
		"RDMA Write", writeEight,
		`"op":"rdma-write","crc":"good","ulpdu_len":22,"last":true,"payload_len":8,"stag":305419777,"to":"0x1000"`,
		"rdma-write stag 0x12345601 to 0x1000, 8 bytes last [ulpdu 22 crc good]",
	},
	{
		"Send", sendHello,
		`"op":"send","crc":"good","ulpdu_len":23,"last":true,"payload_len":5,"qn":0,"msn":1,"mo":0`,
		"send qn 0 msn 1 mo 0, 5 bytes last [ulpdu 23 crc good]",
	},
	{
		"Read Request", "002e4141000000000000000100000001000000000a0b0c01000000000000200000000008123456010000000000001000c9a32bfd",
		`"op":"rdma-read-request","crc":"good","ulpdu_len":46,"last":true,"payload_len":28,"qn":1,"msn":1,"mo":0,` +
			`"sink_stag":168496129,"sink_to":"0x2000","read_size":8,"source_stag":305419777,"source_to":"0x1000"`,
		"rdma-read-request qn 1 msn 1 mo 0, 28 bytes last: 8 bytes from stag 0x12345601 to 0x1000 into stag 0x0A0B0C01 to 0x2000 [ulpdu 46 crc good]",
	},
	{
		"Read Response", "0016c1420a0b0c01000000000000200001020304050607087374d93c",
		`"op":"rdma-read-response","crc":"good","ulpdu_len":22,"last":true,"payload_len":8,"stag":168496129,"to":"0x2000"`,
		"rdma-read-response stag 0x0A0B0C01 to 0x2000, 8 bytes last [ulpdu 22 crc good]",
	},
	{
		"Terminate about a Tagged segment", terminateBadSTag,
		`"op":"terminate","crc":"good","ulpdu_len":38,"last":true,"payload_len":20,"qn":2,"msn":1,"mo":0,` +
			`"terminate":"DDP tagged buffer error: invalid STag","layer":1,"error_type":1,"error_code":0,` +
			`"terminate_hex":"1100c0000016c140deadbe000000000000001000"`,
		"terminate qn 2 msn 1 mo 0, 20 bytes last: DDP tagged buffer error: invalid STag (0x1/0x1/0x00) [ulpdu 38 crc good]",
	},
	{
		"Terminate without headers", "0016414700000000000000020000000100000000200200007fe42585",
		`"op":"terminate","crc":"good","ulpdu_len":22,"last":true,"payload_len":4,"qn":2,"msn":1,"mo":0,` +
			`"terminate":"MPA error: MPA CRC error","layer":2,"error_type":0,"error_code":2,"terminate_hex":"20020000"`,
		"terminate qn 2 msn 1 mo 0, 4 bytes last: MPA error: MPA CRC error (0x2/0x0/0x02) [ulpdu 22 crc good]",
	},
	{
		"Atomic Request", "0046414a0000000000000001000000030000000000000002cafe00021234560100000000000010000000000000001111ffffffffffffffff000000000000002affffffffffffffff853b9fa6",
		`"op":"atomic-request","crc":"good","ulpdu_len":70,"last":true,"payload_len":52,"qn":1,"msn":3,"mo":0,` +
			`"atomic_op":2,"request_id":3405643778,"remote_stag":305419777,"remote_to":"0x1000","data":"0x1111",` +
			`"mask":"0xffffffffffffffff","compare":"0x2a","compare_mask":"0xffffffffffffffff"`,
		"atomic-request qn 1 msn 3 mo 0, 52 bytes last: CmpSwap id 3405643778 stag 0x12345601 to 0x1000 data 0x1111 " +
			"mask 0xffffffffffffffff compare 0x2a mask 0xffffffffffffffff [ulpdu 70 crc good]",
	},
	{
		"Atomic Response", "001e414b00000000000000030000000100000000cafe0001000000000000002933a0f539",
		`"op":"atomic-response","crc":"good","ulpdu_len":30,"last":true,"payload_len":12,"qn":3,"msn":1,"mo":0,` +
			`"original_request_id":3405643777,"original":"0x29"`,
		"atomic-response qn 3 msn 1 mo 0, 12 bytes last: id 3405643777 original 0x29 [ulpdu 30 crc good]",
	},
	{
		"Immediate Data", "001a4148000000000000000000000002000000001122334455667788553696c6",
		`"op":"immediate","crc":"good","ulpdu_len":26,"last":true,"payload_len":8,"qn":0,"msn":2,"mo":0,"immediate":"1122334455667788"`,
		"immediate qn 0 msn 2 mo 0, 8 bytes last: 11 22 33 44 55 66 77 88 [ulpdu 26 crc good]",
	},
	{
		"Immediate Data with Solicited Event", "001a4149000000000000000000000003000000001122334455667788adc570d8",
		`"op":"immediate-se","crc":"good","ulpdu_len":26,"last":true,"payload_len":8,"qn":0,"msn":3,"mo":0,"immediate":"1122334455667788"`,
		"immediate-se qn 0 msn 3 mo 0, 8 bytes last: 11 22 33 44 55 66 77 88 [ulpdu 26 crc good]",
	},
	{
		"Send with Invalidate", "001741441234560100000000000000020000000068656c6c6f000000ad865c2d",
		`"op":"send-invalidate","crc":"good","ulpdu_len":23,"last":true,"payload_len":5,"qn":0,"msn":2,"mo":0,"invalidate_stag":305419777`,
		"send-invalidate qn 0 msn 2 mo 0 invalidates stag 0x12345601, 5 bytes last [ulpdu 23 crc good]",
	},
	{
		"Send with Solicited Event and Invalidate", "001741461234560100000000000000030000000068656c6c6f000000f229e741",
		`"op":"send-se-invalidate","crc":"good","ulpdu_len":23,"last":true,"payload_len":5,"qn":0,"msn":3,"mo":0,"invalidate_stag":305419777`,
		"send-se-invalidate qn 0 msn 3 mo 0 invalidates stag 0x12345601, 5 bytes last [ulpdu 23 crc good]",
	},
	{
		"empty RDMA Write", "000ec140000000000000000000000000a30572ab",
		`"op":"rdma-write","crc":"good","ulpdu_len":14,"last":true,"payload_len":0,"stag":0,"to":"0x0"`,
		"rdma-write stag 0x00000000 to 0x0, 0 bytes last [ulpdu 14 crc good]",
	},
	{
		"no FPDU: ULPDU of one byte", "0001ff003afdc54e",
		`"crc":"good","ulpdu_len":1,"last":false,"payload_len":0,"error":"`,
		"fpdu, 0 bytes [ulpdu 1 crc good] (error: ",
	},
	{
		"ULPDU of no bytes", "00000000c74b6748",
		`"crc":"good","ulpdu_len":0,"last":false,"payload_len":0,"error":"`,
		"fpdu, 0 bytes [ulpdu 0 crc good] (error: ",
	},
}

func TestReadVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.desc, func(t *testing.T) {
			s := newScript(t)
			s.send(0, helloRequest)
			s.send(1, helloReply)
			s.send(0, v.fpdu)
			records := s.read()
			if len(records) != 3 {
				t.Fatalf("%d records, want 3: %v", len(records), records)
			}
			b, err := json.Marshal(records[2])
			if err != nil {
				t.Fatal(err)
			}
			want := `{"t":0.000004,"src":"10.0.0.1:40000","dst":"10.0.0.2:7174","kind":"fpdu",` + v.json
			if got := string(b); strings.TrimSuffix(got, "}") != want && (!strings.HasSuffix(want, `"`) || !strings.HasPrefix(got, want)) {
				t.Errorf("JSON is\n%s, want\n%s}", got, want)
			}
			text := "0.000004 10.0.0.1:40000 > 10.0.0.2:7174 " + v.text
			if got := records[2].String(); got != text && (!strings.HasSuffix(text, "error: ") || !strings.HasPrefix(got, text)) {
				t.Errorf("text is\n%s, want\n%s", got, text)
			}
			var back Record
			if err := json.Unmarshal(b, &back); err != nil {
				t.Fatalf("reading the JSON back: %v", err)
			}
			if again, _ := json.Marshal(back); string(again) != string(b) {
				t.Errorf("JSON read back is\n%s, want\n%s", again, b)
			}
		})
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ desc, ulpdu, op, want string }{
		{"DDP version", "42430000000000000000000000010000000068656c6c6f", "", "DDP version 2, want 1"},
		{"RDMAP version", "41030000000000000000000000010000000068656c6c6f", "send", "RDMAP version 0, want 1"},
		{"opcode", "414c0000000000000000000000010000000068656c6c6f", "opcode-0xc", "unknown RDMAP opcode 0xc"},
		{"tagged Send", "c143123456010000000000001000", "send", "send in a segment of the wrong buffer model"},
		{"untagged Write", "414000000000000000000000000100000000", "rdma-write", "rdma-write in a segment of the wrong buffer model"},
		{"short header", "4143000000000000", "", "a ULPDU of 8 bytes is shorter than its DDP header"},
		{"short Read Request", "41410000000000000001000000010000000000", "rdma-read-request", "Read Request"},
		{"long Read Request", "414100000000000000010000000100000000" + strings.Repeat("00", 29), "rdma-read-request", "1 bytes after the RDMAP header"},
		{"short Immediate Data", "41480000000000000000000000010000000001", "immediate", "1 bytes of Immediate Data, want 8"},
		{"short Terminate", "41470000000000000002000000010000000001", "terminate", "Terminate"},
	} {
		s := newScript(t)
		s.send(0, helloRequest)
		s.send(1, helloReply)
		s.sendOctets(0, markStream(0, false, unhex(tt.ulpdu), unhex(sendHelloULPDU)))
		records := s.read()
		if len(records) != 4 || records[2].Kind != KindFPDU {
			t.Errorf("%s: records %q", tt.desc, ops(records))
			continue
		}
		if r := records[2]; r.Op != tt.op || !strings.Contains(r.Error, tt.want) || r.CRC != CRCGood {
			t.Errorf("%s: op %q, crc %s, error %q; want op %q and %q in the error", tt.desc, r.Op, r.CRC, r.Error, tt.op, tt.want)
		}
		if r := records[3]; r.Op != "send" || r.Error != "" {
			t.Errorf("%s: the FPDU behind it is %v", tt.desc, r)
		}
	}
}

func TestStartupRecords(t *testing.T) {
	const key = "4d50412049442052 6571204672616d65"
	for _, tt := range []struct{ frame, json, text string }{
		{
			key + "c0010005 68656c6c6f",
			`"rev":1,"want_markers":true,"want_crc":true,"reject":false,"private_data":"68656c6c6f"}`,
			`mpa-request rev 1 crc markers, private data "hello"`,
		},
		{
			key + "50020006 c010c008 6869",
			`"rev":2,"want_markers":false,"want_crc":true,"reject":false,"private_data":"6869",` +
				`"ird":16,"ord":8,"peer_to_peer":true,"rtr_send":true,"rtr_write":true,"rtr_read":true}`,
			`mpa-request rev 2 crc ird 16 ord 8 peer-to-peer rtr send write read, private data "hi"`,
		},
		{
			key + "10020004 00048004",
			`"rev":2,"want_markers":false,"want_crc":false,"reject":false,"private_data":"",` +
				`"ird":4,"ord":4,"peer_to_peer":false,`,
			`mpa-request rev 2 ird 4 ord 4`,
		},
	} {
		s := newScript(t)
		s.send(0, tt.frame)
		records := s.read()
		if len(records) != 2 {
			t.Fatalf("records %q", ops(records))
		}
		b, _ := json.Marshal(records[0])
		if !strings.Contains(string(b), `"kind":"mpa-request",`+tt.json) {
			t.Errorf("JSON of %s is\n%s, want\n%s", tt.frame, b, tt.json)
		}
		if got := records[0].String(); !strings.HasSuffix(got, " "+tt.text) {
			t.Errorf("text of %s is\n%s, want\n%s", tt.frame, got, tt.text)
		}
	}
	s := newScript(t)
	s.send(0, helloRequest)
	s.send(1, helloReplyRejects)
	if got, want := s.read()[1].String(), `mpa-reply rev 1 REJECTED crc, private data "no"`; !strings.HasSuffix(got, want) {
		t.Errorf("text of a reject is %s, want %s", got, want)
	}
}
