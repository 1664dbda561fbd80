package tcpscript

const whyMSS = `Linux goes down to tcp_min_snd_mss, which is 48. A Stack does not go below 536 bytes, which every host must accept
(RFC 9293 §3.7.1), because tiny segments multiply the work for each byte (CVE-2019-11477 to 11479).`

// mssCases are SYNs with options that lie about the size of segments, or that are malformed.
var mssCases = []testCase{
	{name: "no MSS", rfc: "RFC 9293 §3.7.1: without the option the MSS is 536", script: `
		listen
		< S 0(0) win 65535
		> S. 0(0) ack 1 <mss>
		< . 1(0) ack 1
		accept
		write 2000
		drain 2000 max 536
	`},
	{name: "no MSS over IPv6", rfc: "RFC 9293 §3.7.1: without the option the MSS is 1220", not4: true,
		why: "gVisor takes 536 for both families.", script: `
		listen
		< S 0(0) win 65535
		> S. 0(0) ack 1 <mss>
		< . 1(0) ack 1
		accept
		write 2000
		user: drain 2000 max 536
		linux: drain 2000 max 1220
	`},
	{name: "MSS 0", rfc: "RFC 9293 §3.7.1", script: `
		listen
		< S 0(0) win 65535 <mss 0>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		write 2000
		drain 2000 max 536
	`},
	{name: "MSS 1", rfc: "RFC 9293 §3.7.1", why: whyMSS, v6: true, script: `
		listen
		< S 0(0) win 65535 <mss 1>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		write 2000
		user: drain 2000 max 536
		linux: drain 2000 max 48
	`},
	{name: "MSS 48 with all options", rfc: "RFC 6691 §2: options count", why: whyMSS, v6: true, script: `
		listen
		< S 0(0) win 65535 <mss 48,sackOK,ts 1000>
		> S. 0(0) ack 1 <sackOK,ts>
		< . 1(0) ack 1 <ts 1000>
		accept
		write 2000
		# A Stack leaves room for SACK blocks, too: 40 bytes of options.
		user: drain 2000 max 496
		linux: drain 2000 max 36
	`},
	{name: "MSS 535", rfc: "RFC 9293 §3.7.1", why: whyMSS, script: `
		listen
		< S 0(0) win 65535 <mss 535>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		write 2000
		user: drain 2000 max 536
		linux: drain 2000 max 535
	`},
	{name: "MSS 536", rfc: "RFC 9293 §3.7.1", v6: true, script: `
		listen
		< S 0(0) win 65535 <mss 536>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		write 2000
		drain 2000 max 536
	`},
	{name: "MSS 65535", rfc: "RFC 9293 §3.7.1: a segment fits the MTU", script: `
		listen
		< S 0(0) win 65535 <mss 65535>
		> S. 0(0) ack 1 <mss 1460>
		< . 1(0) ack 1
		accept
		write 5000
		drain 5000 max 1460
	`},
	{name: "MSS of wrong length", rfc: "RFC 9293 §3.1: unknown options are ignored", script: `
		listen
		< S 0(0) win 65535 <raw 02030100>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		write 2000
		drain 2000 max 536
	`},
	{name: "MSS beyond the options", rfc: "RFC 9293 §3.1", script: `
		listen
		< S 0(0) win 65535 <raw 01010204>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		write 2000
		drain 2000 max 536
	`},
	{name: "options of length 0 and 1", rfc: "RFC 9293 §3.1", script: `
		listen
		< S 0(0) win 65535 <raw 0300fe01>
		> S. 0(0) ack 1 <!ws>
		< . 1(0) ack 1 <raw fd000501>
		accept
		< . 1(10) ack 1 <raw 08000000>
		> . 1(0) ack 11
		read 10
	`},
	{name: "40 bytes of options", rfc: "RFC 9293 §3.1", v6: true, script: `
		listen
		< S 0(0) win 65535 <raw 01010101010101010101010101010101010101010101010101010101010101010101010102040218>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		write 2000
		drain 2000 max 536
	`},
	{name: "window scale 15", rfc: "RFC 7323 §2.3: more than 14 means 14", script: `
		listen
		< S 0(0) win 65535 <mss 1460,ws 15>
		> S. 0(0) ack 1 <ws>
		< . 1(0) ack 1 win 1
		accept
		write 30000
		drain 29200 max 1460
		write 30000
		take 1000
		flight 1000 16384
	`},
	{name: "MSS 1 in a SYN in fragments", rfc: "RFC 9293 §3.7.1", why: whyMSS, v6: true, script: `
		listen
		< S 0(100) win 65535 <mss 1> frag 24
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		write 2000
		user: drain 2000 max 536
		linux: drain 2000 max 48
	`},
}

// handshakeCases are a connection's beginning where TCP listens.
var handshakeCases = []testCase{
	{name: "handshake", rfc: "RFC 9293 §3.5", v6: true, script: opened + `
		< . 1(10)
		> . 1(0) ack 11
		read 10
		write 10
		> . 1(10) ack 11
	`},
	{name: "SYN with FIN", rfc: "RFC 9293 §3.10.7.2 does not forbid it",
		why: "Linux drops a SYN with FIN. gVisor takes it as a SYN.", script: `
		listen
		< SF 0(0) win 65535 <mss 1460>
		user: > S. 0(0) ack 1
		linux: < S 0(0) win 65535 <mss 1460>
		linux: > S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		silence
	`},
	{name: "SYN with RST", rfc: "RFC 9293 §3.10.7.2: a RST is ignored", v6: true, script: `
		listen
		< SR 0(0) win 65535 <mss 1460>
		< S 5(0) win 65535 <mss 1460>
		> S. 0(0) ack 6
	`},
	{name: "SYN with data", rfc: "RFC 9293 §3.10.7.2: data may come again after the handshake", script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		< . 1(10)
		> . 1(0) ack 11
		read 10
	`},
	{name: "no flags, and FIN, where TCP listens", rfc: "RFC 9293 §3.10.7.2: they are dropped", script: `
		listen
		< - 0(0) win 65535
		< F 0(0)
		< - 0(10)
		< S 0(0) <mss 1460>
		> S. 0(0) ack 1
	`},
	{name: "ACK where TCP listens", rfc: "RFC 9293 §3.10.7.2: reset", v6: true, script: `
		listen
		< . 5(0) ack 777
		> R 777(0)
		< S 0(0) <mss 1460>
		> S. 0(0) ack 1
	`},
	{name: "SYN-ACK where TCP listens", rfc: "RFC 9293 §3.10.7.2: reset", script: `
		listen
		< S. 0(0) ack 777
		> R 777(0)
		< S 0(0) <mss 1460>
		> S. 0(0) ack 1
	`},
	{name: "closed port", rfc: "RFC 9293 §3.10.7.1", v6: true, script: `
		< S 0(5)
		> R. 0(0) ack 6
		< R 7(0)
		< . 9(0) ack 777
		> R 777(0)
	`},
	{name: "wrong ACK in SYN-RECEIVED", rfc: "RFC 9293 §3.10.7.4: reset, and the connection goes on", v6: true, script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< . 1(0) ack 5000
		> R 5000(0)
		< . 1(0) ack 0
		> R 0(0)
		< . 1(0) ack 1
		accept
		silence
	`},
	{name: "out of window in SYN-RECEIVED", rfc: "RFC 9293 §3.10.7.4: ACK", script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< . 200000(0) ack 1
		> . 1(0) ack 1
		< . 1(0) ack 1
		accept
		silence
	`},
	{name: "RST in SYN-RECEIVED", rfc: "RFC 9293 §3.10.7.4: back to LISTEN", v6: true, script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< R 1(0)
		< . 1(0) ack 1
		> R 1(0)
	`},
	{name: "RST out of window in SYN-RECEIVED", rfc: "RFC 5961 §3.2: ignored", v6: true, script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< R 0(0)
		< R 100000(0)
		< . 1(0) ack 1
		accept
		silence
	`},
	{name: "RST in the window in SYN-RECEIVED", rfc: "RFC 5961 §3.2 a challenge ACK",
		why: "gVisor obeys the RST, so a blind attacker can end a handshake, but no connection.", script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< R 100(0)
		linux: > . 1(0) ack 1
		< . 1(0) ack 1
		user: > R 1(0)
		linux: accept
		linux: silence
	`},
	{name: "SYN again in SYN-RECEIVED", rfc: "RFC 9293 §3.10.7.4",
		why: "The RFC wants an ACK of a segment outside of the window, and gVisor sends it. Linux repeats its SYN-ACK.", script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< S 0(0) win 65535 <mss 1460>
		user: > . 1(0) ack 1
		linux: > S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		silence
	`},
	{name: "another SYN in SYN-RECEIVED", rfc: "RFC 9293 §3.10.7.4: a passive OPEN returns to LISTEN", script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< S 100(0) win 65535 <mss 1460>
		> R. *(0) ack 101
		again 1000
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		silence
	`},
	{name: "SYN-ACK is sent again", rfc: "RFC 6298 §5", script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		silence
	`},
	{name: "data and FIN with the last ACK", rfc: "RFC 9293 §3.10.7.4", v6: true, script: `
		listen
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< F. 1(10) ack 1
		> . 1(0) ack 12
		accept
		read 10
		read EOF
	`},
	{name: "window 0 in the SYN", rfc: "RFC 9293 §3.8.6.1", script: `
		listen
		< S 0(0) win 0 <mss 1460>
		> S. 0(0) ack 1
		< . 1(0) ack 1 win 1000
		accept
		write 100
		> . 1(100)
	`},
}

// dialCases are a connection's beginning where TCP dials.
var dialCases = []testCase{
	{name: "dial", rfc: "RFC 9293 §3.5", v6: true, script: `
		connect
		> S 0(0) ack * <mss,sackOK,ts,ws>
		< S. 0(0) ack 1 win 65535 <mss 1460>
		> . 1(0) ack 1 <!ts>
		connected
		write 10
		> . 1(10)
	`},
	{name: "dial, MSS 1", rfc: "RFC 9293 §3.7.1", why: whyMSS, v6: true, script: `
		connect
		> S 0(0)
		< S. 0(0) ack 1 win 65535 <mss 1>
		> . 1(0) ack 1
		connected
		write 2000
		user: drain 2000 max 536
		linux: drain 2000 max 48
	`},
	{name: "wrong ACK in SYN-SENT", rfc: "RFC 9293 §3.10.7.3: reset, and the connection goes on", v6: true, script: `
		connect
		> S 0(0)
		< S. 0(0) ack 500 win 65535
		> R 500(0)
		eventual S 0(0)
		< S. 0(0) ack 1 <mss 1460>
		> . 1(0) ack 1
		connected
	`},
	{name: "RST in SYN-SENT", rfc: "RFC 9293 §3.10.7.3", v6: true, script: `
		connect
		> S 0(0)
		< R. 0(0) ack 1
		connected REFUSED
	`},
	{name: "wrong RST in SYN-SENT", rfc: "RFC 9293 §3.10.7.3: without the right ACK it is ignored", script: `
		connect
		> S 0(0)
		< R 0(0)
		< R. 0(0) ack 2
		< R. 0(0) ack 0
		< S. 0(0) ack 1 win 65535 <mss 1460>
		> . 1(0) ack 1
		connected
	`},
	{name: "data and FIN in SYN-SENT", rfc: "RFC 9293 §3.10.7.3: they are dropped", script: `
		connect
		> S 0(0)
		< . 1(10) ack 1
		< F. 1(0) ack 1
		< S. 0(0) ack 1 win 65535 <mss 1460>
		> . 1(0) ack 1
		connected
		pending 0
	`},
	{name: "simultaneous open", rfc: "RFC 9293 §3.5, figure 8", v6: true, script: `
		connect
		> S 0(0)
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		connected
		write 10
		> . 1(10) ack 1
	`},
	{name: "SYN-ACK again", rfc: "RFC 5961 §4.2: ACK", v6: true, script: `
		connect
		> S 0(0)
		< S. 0(0) ack 1 win 65535 <mss 1460>
		> . 1(0) ack 1
		connected
		< S. 0(0) ack 1
		> . 1(0) ack 1
		write 10
		> . 1(10)
	`},
	{name: "nobody at the port", rfc: "RFC 1122 §4.2.3.9", v6: true, script: `
		connect
		> S 0(0)
		noport
		connected REFUSED
	`},
	{name: "ICMP about another SYN", rfc: "RFC 5927 §4.1: the sequence number must be right", script: `
		connect
		> S 0(0)
		noport 100000
		noport -5
		< S. 0(0) ack 1 win 65535 <mss 1460>
		> . 1(0) ack 1
		connected
	`},
}

// resetCases are RSTs and SYNs that hit a connection.
var resetCases = []testCase{
	{name: "RST with the next number", rfc: "RFC 5961 §3.2", v6: true, script: opened + `
		< R 1(0)
		read RESET
	`},
	{name: "RST in the window", rfc: "RFC 5961 §3.2: challenge ACK", v6: true, script: opened + `
		< R 2(0)
		> . 1(0) ack 1
		< . 1(10)
		> . 1(0) ack 11
		read 10
	`},
	{name: "RST before the window", rfc: "RFC 5961 §3.2: dropped", v6: true, script: opened + `
		< R 0(0)
		< R -1000(0)
		silence
	`},
	{name: "RST behind the window", rfc: "RFC 5961 §3.2: dropped", script: opened + `
		< R 200000(0)
		< R 2000000000(0)
		silence
	`},
	{name: "RST with data", rfc: "RFC 9293 §3.5.2", script: opened + `
		< R 1(5)
		read RESET
	`},
	{name: "RST with a wrong ACK", rfc: "RFC 5961 §3.2: only the sequence number counts", script: opened + `
		< R. 1(0) ack 5000
		read RESET
	`},
	{name: "SYN in ESTABLISHED", rfc: "RFC 5961 §4.2: challenge ACK", v6: true, script: opened + `
		< S 100(0)
		> . 1(0) ack 1
		< . 1(10)
		> . 1(0) ack 11
		read 10
	`},
	{name: "first SYN in ESTABLISHED", rfc: "RFC 5961 §4.2: challenge ACK", script: opened + `
		< S 0(0) <mss 1460>
		> . 1(0) ack 1
		< . 1(10)
		> . 1(0) ack 11
	`},
	{name: "SYN with data behind the window", rfc: "RFC 5961 §4.2: challenge ACK, whatever the number", script: opened + `
		< S 2000000000(10)
		> . 1(0) ack 1
		pending 0
	`},
}
