package tcpscript

import "time"

const whySilent = `The tap drops the segment before gVisor sees it, so there is no ACK. It would help an honest peer only if its
segments had been overtaken by more than a window, and it would double what a blind attacker sends.`

// dataCases are segments of an established connection.
var dataCases = []testCase{
	{name: "data twice", rfc: "RFC 9293 §3.10.7.4: ACK", v6: true, script: opened + `
		< . 1(10)
		> . 1(0) ack 11
		< . 1(10) fill
		> . 1(0) ack 11
		read 10
		pending 0
	`},
	{name: "partly old data", rfc: "RFC 9293 §3.10.7.4: the segment is trimmed", v6: true, script: opened + `
		< . 1(10)
		> . 1(0) ack 11
		< . 6(10)
		> . 1(0) ack 16
		read 15
		pending 0
	`},
	{name: "gap", rfc: "RFC 9293 §3.10.7.4", v6: true, script: opened + `
		< . 11(10)
		> . 1(0) ack 1
		pending 0
		< . 1(10)
		> . 1(0) ack 21
		read 20
	`},
	{name: "other bytes behind the gap", rfc: "RFC 9293 §3.10.7.4: the first bytes stay", script: opened + `
		< . 11(10)
		> . 1(0) ack 1
		< . 11(10) fill
		> . 1(0) ack 1
		< . 1(10)
		> . 1(0) ack 21
		read 20
	`},
	{name: "data behind the window", rfc: "RFC 9293 §3.10.7.4: ACK, and dropped", v6: true, script: opened + `
		< . edge+1(10)
		> . 1(0) ack 1
		< . 2000000000(10)
		> . 1(0) ack 1
		pending 0
		< . 1(10)
		> . 1(0) ack 11
		read 10
		pending 0
	`},
	{name: "data before the window", rfc: "RFC 9293 §3.10.7.4: ACK, and dropped", script: opened + `
		< . -100(50)
		> . 1(0) ack 1
		< . -2000000000(10)
		> . 1(0) ack 1
		pending 0
	`},
	{name: "data across the end of the window", rfc: "RFC 9293 §3.10.7.4: what is in the window may be kept", script: opened + `
		< . edge-5(10)
		> . 1(0) ack 1
		< . 1(10)
		> . 1(0) ack 11
		read 10
		pending 0
	`},
	{name: "segments of one byte", rfc: "RFC 9293 §3.8.6.2", v6: true, script: opened + `
		feed 300 by 1
		read 300
	`},
	{name: "every second byte", rfc: "RFC 9293 §3.10.7.4", script: opened + `
		< . 2(1)
		> . 1(0) ack 1
		< . 4(1)
		> . 1(0) ack 1
		< . 6(1)
		> . 1(0) ack 1
		pending 0
		< . 1(6)
		> . 1(0) ack 7
		read 6
	`},
	{name: "old ACK", rfc: "RFC 9293 §3.10.7.4: ignored, and the data counts", v6: true, script: opened + `
		write 100
		> . 1(100)
		< . 1(0) ack 101
		< . 1(10) ack 51
		> . 101(0) ack 11
		read 10
	`},
	{name: "very old ACK", rfc: "RFC 5961 §5.2: challenge ACK, and dropped with its data", v6: true, why: whySilent, script: opened + `
		< . 1(10) ack -100000 fill
		linux: > . 1(0) ack 1
		silence
		pending 0
		< . 1(10)
		> . 1(0) ack 11
		read 10
	`},
	{name: "ACK of what was not sent", rfc: "RFC 9293 §3.10.7.4 and RFC 5961 §5.2: ACK, and dropped with its data", v6: true, why: whySilent, script: opened + `
		< . 1(10) ack 5000 fill
		linux: > . 1(0) ack 1
		silence
		pending 0
		< . 1(10) ack 1
		> . 1(0) ack 11
		read 10
		write 10
		> . 1(10)
	`},
	{name: "ACK of half the sequence numbers", rfc: "RFC 5961 §5.2", why: whySilent, script: opened + `
		< . 1(10) ack 2000000000 fill
		linux: > . 1(0) ack 1
		silence
		pending 0
	`},
	{name: "no ACK in ESTABLISHED", rfc: "RFC 9293 §3.10.7.4: dropped", v6: true, script: opened + `
		< - 1(10) fill
		< P 1(10) fill
		silence
		pending 0
	`},
	{name: "urgent data", rfc: "RFC 6093 §6: the urgent byte should stay in the stream",
		why: "Linux takes the urgent byte out of the stream unless the program asks for it with SO_OOBINLINE.", script: opened + `
		< U. 1(10) urg 10
		> . 1(0) ack 11
		user: read 10
		linux: read 9
		pending 0
	`},
	{name: "urgent pointer beyond the data", rfc: "RFC 6093 §6", v6: true, script: opened + `
		< U. 1(10) urg 60000
		> . 1(0) ack 11
		read 10
		< . 11(10)
		> . 1(0) ack 21
		read 10
	`},
	{name: "all other flags", rfc: "RFC 9293 §3.1: reserved bits are ignored", script: opened + `
		< .ECP 1(10)
		> . 1(0) ack 11
		read 10
	`},
	{name: "three duplicate ACKs", rfc: "RFC 5681 §3.2: the segment is sent again at once", v6: true, script: opened + `
		write 7000
		take 7000
		dupacks 3
		> . 1(1400)
		< . 1(0) ack 7001
		write 10
		eventual . 7001(10)
	`},
	{name: "a thousand duplicate ACKs", rfc: "RFC 5681 §3.2", script: opened + `
		write 7000
		take 7000
		dupacks 1000
		eventual . 1(1400)
		< . 1(0) ack 7001
		write 10
		eventual . 7001(10)
	`},
	{name: "ACKs of one byte", rfc: "RFC 5681 §3.1: the congestion window grows with the bytes acknowledged", v6: true, script: opened + `
		write 60000
		take 14000
		acks 100
		flight 13900 15400
	`},
	{name: "an ACK of all that may come", rfc: "RFC 5961 §5.2: what was not sent is not acknowledged", why: whySilent, script: opened + `
		write 60000
		take 14000
		< . 1(0) ack 60001
		linux: > . 14001(0)
		flight 14000 14000
	`},
}

// windowCases are windows that close, shrink or are silly.
var windowCases = []testCase{
	{name: "window 0", rfc: "RFC 9293 §3.8.6.1: probes, until the window opens", v6: true,
		why: "A probe of gVisor is the byte before the window, which the peer has; one of Linux has no byte.", script: openedClosed + `
		write 100
		user: > . 0(1)
		linux: > . 0(0)
		< . 1(0) ack 1
		user: > . 0(1)
		linux: > . 0(0)
		< . 1(0) ack 1 win 1000
		eventual . 1(100)
	`},
	{name: "window 0, and no answer to probes", rfc: "RFC 9293 §3.8.6.1", why: "as for window 0", script: openedClosed + `
		write 100
		user: > . 0(1)
		linux: > . 0(0)
		user: > . 0(1)
		linux: > . 0(0)
		< . 1(0) ack 1 win 1000
		eventual . 1(100)
	`},
	{name: "window 0 and a deadline", rfc: "RFC 6429 §4: the program decides", script: openedClosed + `
		write 20000000 DEADLINE
		< . 1(0) ack 1 win 65535
		drain 100000 max 1400
	`},
	{name: "window 0 for ever", rfc: "RFC 6429 §4: the program's time-out ends it", v6: true,
		set: settings{userTimeout: 300 * time.Millisecond}, script: openedClosed + `
		write 100
		starve TIMEOUT
	`},
	{name: "no answer for ever", rfc: "RFC 9293 §3.8.3: the program's time-out ends it",
		set: settings{userTimeout: 300 * time.Millisecond}, script: opened + `
		write 100
		> . 1(100)
		read TIMEOUT
	`},
	{name: "window that shrinks", rfc: "RFC 9293 §3.8.6: a sender must bear it", v6: true, script: `
		listen
		< S 0(0) win 65535 <mss 1400>
		> S. 0(0) ack 1
		< . 1(0) ack 1 win 9800
		accept
		write 30000
		take 9800
		< . 1(0) ack 1 win 100
		silence
		< . 1(0) ack 9801 win 65535
		drain 20200 max 1400
	`},
	{name: "window that shrinks to 0", rfc: "RFC 9293 §3.8.6", script: opened + `
		write 5000
		take 5000
		< . 1(0) ack 1 win 0
		silence
		< . 1(0) ack 5001 win 65535
		write 10
		eventual . 5001(10)
	`},
	{name: "window of 10 bytes", rfc: "RFC 9293 §3.8.6.2.1: after a time the sender uses it", script: `
		listen
		< S 0(0) win 65535 <mss 1400>
		> S. 0(0) ack 1
		< . 1(0) ack 1 win 10
		accept
		write 100
		> . 1(10)
		< . 1(0) ack 11 win 1000
		take 90
	`},
	{name: "ACK with window 0 and data", rfc: "RFC 9293 §3.8.6.1", script: opened + `
		< . 1(10) ack 1 win 0
		> . 1(0) ack 11
		read 10
		< . 11(0) ack 1 win 1000
		settle
		write 10
		> . 1(10)
	`},
	{name: "receiver that does not read", rfc: "RFC 9293 §3.8.6.2.2: no silly window", script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		feed 30000 by 1460
		pending 30000
		read 30000
	`},
}
