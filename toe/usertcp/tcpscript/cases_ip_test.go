package tcpscript

// wireCases are packets that are damaged, or unusual.
var wireCases = []testCase{
	{name: "wrong checksum", rfc: "RFC 9293 §3.1: dropped", v6: true, script: opened + `
		< . 1(10) badsum
		< R 1(0) badsum
		< F. 1(0) badsum
		silence
		pending 0
	`},
	{name: "wrong checksum of a SYN", rfc: "RFC 9293 §3.1: dropped", v6: true, script: `
		listen
		< S 0(0) win 65535 <mss 1> badsum
		< S 5(0) win 65535 <mss 1000>
		> S. 0(0) ack 6
		< . 6(0) ack 1
		accept
		write 2000
		drain 2000 max 1000
	`},
	{name: "wrong checksum of the IP header", rfc: "RFC 791 §3.1: dropped", script: opened + `
		< . 1(10) badip
		silence
		pending 0
	`},
	{name: "data offset too small", rfc: "RFC 9293 §3.1", v6: true, script: opened + `
		< . 1(10) doff 4
		< . 1(10) doff 1
		< R 1(0) doff 4
		silence
		pending 0
	`},
	{name: "data offset too large", rfc: "RFC 9293 §3.1", v6: true, script: opened + `
		< . 1(10) doff 15
		< . 1(0) doff 6
		< R 1(0) doff 15
		silence
		pending 0
	`},
	{name: "TCP header cut off", rfc: "RFC 9293 §3.1", v6: true, script: opened + `
		< . 1(10) cut 19
		< . 1(10) cut 8
		< . 1(10) cut 1
		< . 1(10) cut 0
		silence
		pending 0
	`},
	{name: "IP length beyond the packet", rfc: "RFC 791 §3.1", v6: true, script: opened + `
		< . 1(10) iplen 1
		< . 1(10) iplen 1000
		silence
		pending 0
	`},
	{name: "IP length before the end of the segment", rfc: "RFC 9293 §3.1: the checksum is wrong then", v6: true, script: opened + `
		< . 1(10) iplen -5
		< . 1(10) iplen -25
		silence
		pending 0
	`},
	{name: "data in fragments", rfc: "RFC 791 §3.2, RFC 8200 §4.5", v6: true, script: opened + `
		< . 1(100) frag 64
		> . 1(0) ack 101
		read 100
	`},
	{name: "TCP header in fragments", rfc: "RFC 791 §3.2 allows it",
		why: "A Stack drops such fragments, because gVisor uses memory that it has given back when it puts them together.", script: opened + `
		< . 1(100) frag 16
		linux: > . 1(0) ack 101
		linux: read 100
		silence
		pending 0
	`},
	{name: "TCP options in fragments", rfc: "RFC 791 §3.2 allows it", why: "as for a TCP header in fragments", script: opened + `
		< . 1(100) <raw 010101010101010101010101> frag 24
		linux: > . 1(0) ack 101
		linux: read 100
		silence
		pending 0
	`},
	{name: "TCP header in fragments over IPv6", rfc: "RFC 7112 §5: the first fragment must have all headers", not4: true, script: opened + `
		< . 1(100) frag 16
		silence
		pending 0
	`},
	{name: "fragments that overlap", rfc: "RFC 5722 §4: the packet is dropped", v6: true, script: opened + `
		< . 1(100) overlap 64
		silence
		pending 0
	`},
	{name: "source route", rfc: "RFC 7126 §4.3: the packet should be dropped",
		why: "gVisor ignores the route, and does not answer along it.", script: opened + `
		< . 1(10) lsrr
		user: > . 1(0) ack 11
		user: read 10
		silence
		pending 0
	`},
	{name: "IP options", rfc: "RFC 791 §3.1, RFC 8200 §4.6", v6: true, script: opened + `
		< . 1(10) ipopts
		> . 1(0) ack 11
		read 10
	`},
	{name: "MSS 1 behind IP options", rfc: "RFC 9293 §3.7.1", why: whyMSS, v6: true, script: `
		listen
		< S 0(0) win 65535 <mss 1> ipopts
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		write 2000
		user: drain 2000 max 536
		linux: drain 2000 max 48
	`},
}

const whyPMTU = `Linux goes down to min_pmtu, which is 552, and then allows fragments. A Stack does not believe in less than 576,
which every host must accept, because tiny segments multiply the work for each byte (RFC 5927 §7).`

// icmpCases are ICMP messages that lie.
var icmpCases = []testCase{
	{name: "packet too big", rfc: "RFC 1191", script: opened + `
		write 7000
		take 7000
		toobig 1300
		< . 1(0) ack 7001
		settle
		write 5000
		drain 5000 max 1260
	`},
	{name: "packet too big over IPv6", rfc: "RFC 8201", not4: true, script: opened + `
		write 7000
		take 7000
		toobig 1300
		< . 1(0) ack 7001
		settle
		write 5000
		drain 5000 max 1240
	`},
	{name: "packet too big over IPv6, MTU 68", rfc: "RFC 8201 §4: less than 1280 is ignored", not4: true, script: opened + `
		write 1400
		> . 1(1400)
		toobig 68
		toobig 0
		toobig 1279
		< . 1(0) ack 1401
		settle
		write 5000
		drain 5000 max 1400
	`},
	{name: "packet too big, MTU 68", rfc: "RFC 5927 §7", why: whyPMTU, script: opened + `
		write 1400
		> . 1(1400)
		toobig 68
		< . 1(0) ack 1401
		settle
		write 5000
		user: drain 5000 max 1400
		linux: drain 5000 max 512
	`},
	{name: "packet too big, MTU 576", rfc: "RFC 1191", script: opened + `
		write 1400
		> . 1(1400)
		toobig 576
		< . 1(0) ack 1401
		settle
		write 5000
		drain 5000 max 536
	`},
	{name: "packet too big, MTU 0", rfc: "RFC 1191 §5: an old router, or a lie", why: whyPMTU, script: opened + `
		write 1400
		> . 1(1400)
		toobig 0
		< . 1(0) ack 1401
		settle
		write 5000
		user: drain 5000 max 1400
		linux: drain 5000 max 512
	`},
	{name: "packet too big about another segment", rfc: "RFC 5927 §4.1: the sequence number must be right", v6: true, script: opened + `
		write 1400
		> . 1(1400)
		toobig 1280 100000
		toobig 1280 -1000
		< . 1(0) ack 1401
		settle
		write 5000
		drain 5000 max 1400
	`},
	{name: "no port in ESTABLISHED", rfc: "RFC 1122 §4.2.3.9: the connection goes on", v6: true, script: opened + `
		write 10
		> . 1(10)
		noport
		< . 1(10) ack 11
		> . 11(0) ack 11
		read 10
	`},
}
