package tcpscript

const whyDSACK = "Linux reports bytes that came twice with DSACK (RFC 2883), gVisor does not."

// sackCases are selective acknowledgements that lie. After each lie the connection must still work.
var sackCases = []testCase{
	{name: "SACK beyond what was sent", rfc: "RFC 2018 §5", v6: true, script: openedSACK + `
		write 4000
		take 4000
		< . 1(0) ack 1 <sb 4001:5001>
		< . 1(0) ack 1 <sb 3001:9001>
		< . 1(0) ack 1 <sb 2000000000:2000001000>
		< . 1(0) ack 4001
		write 10
		eventual . 4001(10)
	`},
	{name: "SACK below what was acknowledged", rfc: "RFC 2883 §4: a duplicate", script: openedSACK + `
		write 4000
		take 4000
		< . 1(0) ack 2001 <sb 1:1001>
		< . 1(0) ack 2001 <sb -5000:-4000>
		< . 1(0) ack 2001 <sb -100:100>
		< . 1(0) ack 4001
		write 10
		eventual . 4001(10)
	`},
	{name: "SACK blocks that overlap", rfc: "RFC 2018 §3", script: openedSACK + `
		write 4000
		take 4000
		< . 1(0) ack 1 <sb 1001:3001,sb 2001:4001,sb 1001:4001>
		< . 1(0) ack 1 <sb 1501:1502,sb 1001:2001>
		< . 1(0) ack 4001
		write 10
		eventual . 4001(10)
	`},
	{name: "inverted SACK blocks", rfc: "RFC 2018 §3", v6: true, script: openedSACK + `
		write 4000
		take 4000
		< . 1(0) ack 1 <sb 3001:2001>
		< . 1(0) ack 1 <sb 4001:1>
		< . 1(0) ack 1 <sb 2001:2001>
		< . 1(0) ack 1 <sb 2002:2001>
		< . 1(0) ack 4001
		write 10
		eventual . 4001(10)
	`},
	{name: "SACK across all sequence numbers", rfc: "RFC 2018 §3", script: openedSACK + `
		write 4000
		take 4000
		< . 1(0) ack 1 <sb -2000000000:2000000000>
		< . 1(0) ack 1 <sb 2:1>
		< . 1(0) ack 4001
		write 10
		eventual . 4001(10)
	`},
	{name: "receiver that reneges", rfc: "RFC 2018 §8: what has SACK but no ACK is sent again", v6: true, script: openedSACK + `
		write 4000
		take 4000
		< . 1(0) ack 1 <sb 1001:4001>
		eventual . 1(*)
		< . 1(0) ack 1001
		eventual . 1001(*)
		< . 1(0) ack 4001
		write 10
		eventual . 4001(10)
	`},
	{name: "SACK of everything, ACK of nothing", rfc: "RFC 2018 §8", script: openedSACK + `
		write 4000
		take 4000
		< . 1(0) ack 1 <sb 1:4001>
		eventual . 1(*)
		< . 1(0) ack 4001
		write 10
		eventual . 4001(10)
	`},
	{name: "a thousand SACKs at random", rfc: "RFC 2018; CVE-2019-11477 to 11479", v6: true, script: openedSACK + `
		write 9000
		take 9000
		sacks 1000
		< . 1(0) ack 9001
		write 10
		eventual . 9001(10)
	`},
	{name: "SACK of every second byte", rfc: "RFC 2018; CVE-2019-11477", script: openedSACK + `
		write 4000
		take 4000
		< . 1(0) ack 1 <sb 2:3,sb 4:5,sb 6:7,sb 8:9>
		< . 1(0) ack 1 <sb 10:11,sb 12:13,sb 14:15,sb 16:17>
		< . 1(0) ack 2
		< . 1(0) ack 3 <sb 1002:1003,sb 2002:2003,sb 3002:3003>
		< . 1(0) ack 4001
		write 10
		eventual . 4001(10)
	`},
	{name: "duplicate SACK", rfc: "RFC 2883 §4", script: openedSACK + `
		write 4000
		take 4000
		< . 1(0) ack 4001 <sb 1:1001>
		< . 1(0) ack 4001 <sb 1:1001>
		< . 1(0) ack 4001 <sb 4000:4001,sb 1:4001>
		write 10
		eventual . 4001(10)
	`},
	{name: "SACK without agreement", rfc: "RFC 2018 §2: ignored", script: opened + `
		write 4200
		take 4200
		< . 1(0) ack 1 <sb 1401:4201>
		< . 1(0) ack 4201
		write 10
		eventual . 4201(10)
	`},
	{name: "malformed SACK options", rfc: "RFC 9293 §3.1", script: openedSACK + `
		write 4000
		take 4000
		< . 1(0) ack 1 <raw 01010509000000010000000300000000>
		< . 1(0) ack 1 <raw 05020101>
		< . 1(0) ack 1 <raw 05000101>
		< . 1(0) ack 1 <raw 0505010101010101>
		< . 1(0) ack 1 <raw 01010522>
		< . 1(0) ack 4001
		write 10
		eventual . 4001(10)
	`},
	{name: "SACK blocks of TCP", rfc: "RFC 2018 §4: the first block is the last one that came", v6: true, why: whyDSACK, script: openedSACK + `
		< . 101(100)
		> . 1(0) ack 1 <sb 101:201>
		< . 301(100)
		> . 1(0) ack 1 <sb 301:401 101:201>
		< . 301(100)
		user: > . 1(0) ack 1 <sb 301:401 101:201>
		linux: > . 1(0) ack 1 <sb 301:401 301:401 101:201>
		< . 1(100)
		> . 1(0) ack 201 <sb 301:401>
		< . 201(100)
		> . 1(0) ack 401 <!sb>
		read 400
	`},
}

// stampCases are timestamps that lie.
var stampCases = []testCase{
	{name: "old timestamp", rfc: "RFC 7323 §5.3: ACK, and dropped (PAWS)", v6: true, why: whySilent, script: openedStamps + `
		< . 1(10) ack 1 <ts 1000>
		> . 1(0) ack 11 <ts>
		< . 11(10) ack 1 <ts 998> fill
		linux: > . 1(0) ack 11
		silence
		pending 10
		< . 11(10) ack 1 <ts 1001>
		> . 1(0) ack 21
		read 20
	`},
	{name: "very old timestamp", rfc: "RFC 7323 §5.3", why: whySilent, script: openedStamps + `
		< . 1(10) ack 1 <ts 3000000000> fill
		linux: > . 1(0) ack 1
		silence
		pending 0
	`},
	{name: "old timestamp in an ACK", rfc: "RFC 7323 §5.3", why: whySilent, script: openedStamps + `
		< . 1(10) ack 1 <ts 2000>
		> . 1(0) ack 11 <ts>
		write 100
		> . 1(100)
		< . 11(0) ack 101 <ts 1000>
		linux: > . 101(0) ack 11
		eventual . 1(100)
		< . 11(0) ack 101 <ts 2000>
		silence
	`},
	{name: "timestamps that wrap", rfc: "RFC 7323 §5.3: modulo 2^32", script: `
		listen
		< S 0(0) win 65535 <mss 1460,ts 4294967290>
		> S. 0(0) ack 1 <ts>
		< . 1(10) ack 1 <ts 4294967295>
		> . 1(0) ack 11
		< . 11(10) ack 1 <ts 3>
		> . 1(0) ack 21
		accept
		read 20
	`},
	{name: "no timestamp after agreement", rfc: "RFC 7323 §3.2: the segment should be dropped",
		why: "Linux takes it.", script: openedStamps + `
		< . 1(10) ack 1 <none>
		linux: > . 1(0) ack 11 <ts>
		linux: read 10
		silence
		pending 0
	`},
	{name: "timestamp without agreement", rfc: "RFC 7323 §3.2: ignored", script: opened + `
		< . 1(10) ack 1 <ts 5>
		> . 1(0) ack 11 <!ts>
		< . 11(10) ack 1 <ts 1>
		> . 1(0) ack 21 <!ts>
		read 20
	`},
	{name: "echo of the future", rfc: "RFC 7323 §4.1: the time-out stays sane", v6: true,
		why: "gVisor believes the echo. Its time-out may become 120 s, to the disadvantage of the liar alone.", script: openedStamps + `
		write 10
		> . 1(10)
		< . 1(0) ack 11 <ts 1000+100000>
		write 10
		> . 11(10)
		linux: > . 11(10)
		< . 1(0) ack 21 <ts 1000+2000000000>
		write 10
		> . 21(10)
		linux: > . 21(10)
		< . 1(0) ack 31
		silence
	`},
	{name: "RST with an old timestamp", rfc: "RFC 7323 §5.2: PAWS does not apply to a RST", script: openedStamps + `
		< R. 1(0) ack 1 <ts 3000000000>
		read RESET
	`},
	{name: "timestamp 0", rfc: "RFC 7323 §3.2", script: `
		listen
		< S 0(0) win 65535 <mss 1460,ts 0>
		> S. 0(0) ack 1 <ts>
		< . 1(10) ack 1 <ts 0>
		> . 1(0) ack 11 <ts>
		accept
		read 10
	`},
	{name: "malformed timestamps", rfc: "RFC 7323 §3.2: as no timestamp", why: "Linux takes a segment without.", script: openedStamps + `
		< . 1(10) ack 1 <raw 0101080a0000>
		linux: > . 1(0) ack 11
		< . 1(10) ack 1 <raw 080900000000000000000000>
		linux: > . 1(0) ack 11
		linux: read 10
		silence
		pending 0
	`},
}
