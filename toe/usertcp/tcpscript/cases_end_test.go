package tcpscript

import "time"

// closeCases are the ends of connections.
var closeCases = []testCase{
	{name: "FIN", rfc: "RFC 9293 §3.6", v6: true, script: opened + `
		< F. 1(0)
		> . 1(0) ack 2
		read EOF
		write 10
		> . 1(10)
		< . 2(0) ack 11
		close
		> F. 11(0) ack 2
		< . 2(0) ack 12
	`},
	{name: "FIN behind a gap", rfc: "RFC 9293 §3.10.7.4", v6: true, script: opened + `
		< F. 11(10)
		> . 1(0) ack 1
		pending 0
		< . 1(10)
		> . 1(0) ack 22
		read 20
		read EOF
	`},
	{name: "FIN behind the window", rfc: "RFC 9293 §3.10.7.4: ACK, and dropped", script: opened + `
		< F. 200000(0)
		> . 1(0) ack 1
		< F. edge+5(5)
		> . 1(0) ack 1
		< . 1(10)
		> . 1(0) ack 11
		read 10
	`},
	{name: "FIN again", rfc: "RFC 9293 §3.10.7.4: ACK", script: opened + `
		< F. 1(0)
		> . 1(0) ack 2
		< F. 1(0)
		> . 1(0) ack 2
		read EOF
	`},
	{name: "data after FIN", rfc: "RFC 9293 §3.10.7.4: ignored", v6: true, script: opened + `
		< F. 1(0)
		> . 1(0) ack 2
		< . 2(10)
		silence
		read EOF
	`},
	{name: "FIN and no ACK", rfc: "RFC 9293 §3.10.7.4: dropped", script: opened + `
		< F 1(0)
		silence
		< . 1(10)
		> . 1(0) ack 11
		read 10
	`},
	{name: "active close", rfc: "RFC 9293 §3.6", v6: true, script: opened + `
		close
		> F. 1(0) ack 1
		< . 1(0) ack 2
		< F. 1(0) ack 2
		> . 2(0) ack 2
		silence
	`},
	{name: "FIN with the ACK of ours", rfc: "RFC 9293 §3.6", script: opened + `
		close
		> F. 1(0) ack 1
		< F. 1(0) ack 2
		> . 2(0) ack 2
		silence
	`},
	{name: "simultaneous close", rfc: "RFC 9293 §3.6, figure 13", v6: true, script: opened + `
		close
		> F. 1(0) ack 1
		< F. 1(0) ack 1
		> . 2(0) ack 2
		< . 2(0) ack 2
		silence
	`},
	{name: "data after close", rfc: "RFC 9293 §3.6.1: reset, so the peer knows that data is lost", v6: true, script: opened + `
		close
		> F. 1(0) ack 1
		< . 1(0) ack 2
		< . 1(10) ack 2
		eventual * *(0) ack *
	`},
	{name: "data after close of one direction", rfc: "RFC 9293 §3.6", v6: true, script: opened + `
		closewrite
		> F. 1(0) ack 1
		< . 1(0) ack 2
		< . 1(10) ack 2
		> . 2(0) ack 11
		read 10
		< F. 11(0) ack 2
		> . 2(0) ack 12
		read EOF
	`},
	{name: "RST after close of one direction", rfc: "RFC 9293 §3.10.7.4", v6: true, script: opened + `
		closewrite
		> F. 1(0) ack 1
		< . 1(0) ack 2
		< R 1(0)
		read RESET
	`},
	{name: "RST in the window in FIN-WAIT-2", rfc: "RFC 5961 §3.2: challenge ACK", script: opened + `
		closewrite
		> F. 1(0) ack 1
		< . 1(0) ack 2
		< R 5(0)
		> . 2(0) ack 1
		< . 1(10)
		> . 2(0) ack 11
		read 10
	`},
	{name: "SYN in FIN-WAIT-2", rfc: "RFC 5961 §4.2: challenge ACK", script: opened + `
		closewrite
		> F. 1(0) ack 1
		< . 1(0) ack 2
		< S 100(0)
		> . 2(0) ack 1
	`},
	{name: "ACK of more than the FIN", rfc: "RFC 9293 §3.10.7.4: ACK", why: whySilent, script: opened + `
		closewrite
		> F. 1(0) ack 1
		< . 1(10) ack 100 fill
		linux: > . 2(0) ack 1
		silence
		pending 0
		< . 1(10) ack 2
		> . 2(0) ack 11
		read 10
	`},
	{name: "RST in CLOSE-WAIT", rfc: "RFC 9293 §3.10.7.4", script: opened + `
		< F. 1(0)
		> . 1(0) ack 2
		< R 2(0)
		< . 2(0)
		> R 1(0)
	`},
	{name: "abort", rfc: "RFC 9293 §3.10.5", v6: true, script: opened + `
		abort
		> R. 1(0) ack 1
		< . 1(10) ack 1
		> R 1(0)
	`},
	{name: "close with bytes that nobody has read", rfc: "RFC 2525 §2.17: reset", v6: true, script: opened + `
		< . 1(10)
		> . 1(0) ack 11
		close
		> R. 1(0) ack 11
	`},
	{name: "FIN is sent again", rfc: "RFC 6298 §5", script: opened + `
		close
		> F. 1(0) ack 1
		> F. 1(0) ack 1
		< . 1(0) ack 2
		silence
	`},
	{name: "close while the window is closed", rfc: "RFC 9293 §3.8.6.1: what was written still goes out",
		why: "Linux sends the FIN with the bytes.", script: openedClosed + `
		write 100
		close
		user: > . 0(1)
		linux: > . 0(0)
		< . 1(0) ack 1 win 1000
		user: eventual . 1(100)
		user: < . 1(0) ack 101
		user: > F. 101(0)
		linux: eventual F. 1(100)
	`},
	{name: "close while the window stays closed", rfc: "RFC 6429 §4", set: settings{userTimeout: 300 * time.Millisecond}, script: openedClosed + `
		write 100
		close
		vanish
	`},
}

// timeWaitCases hit a connection in TIME-WAIT.
var timeWaitCases = []testCase{
	{name: "FIN in TIME-WAIT", rfc: "RFC 9293 §3.10.7.4: ACK", v6: true, script: opened + `
		close
		> F. 1(0) ack 1
		< F. 1(0) ack 2
		> . 2(0) ack 2
		< F. 1(0) ack 2
		> . 2(0) ack 2
	`},
	{name: "RST in TIME-WAIT", rfc: "RFC 1337 §3: the RST should be ignored", v6: true,
		why: "Linux obeys the RST (tcp_rfc1337 is off), so an old segment then gets a RST.", script: opened + `
		close
		> F. 1(0) ack 1
		< F. 1(0) ack 2
		> . 2(0) ack 2
		< R 2(0)
		< F. 1(0) ack 2
		user: > . 2(0) ack 2
		linux: > R 2(0)
	`},
	{name: "old data in TIME-WAIT", rfc: "RFC 9293 §3.10.7.4: ACK", script: opened + `
		< . 1(10)
		> . 1(0) ack 11
		read 10
		close
		> F. 1(0) ack 11
		< F. 11(0) ack 2
		> . 2(0) ack 12
		< . 1(10) ack 1
		> . 2(0) ack 12
	`},
	{name: "new SYN in TIME-WAIT", rfc: "RFC 6191 §2, RFC 9293 §3.6.1: a higher number begins a connection", v6: true, script: opened + `
		close
		> F. 1(0) ack 1
		< F. 1(0) ack 2
		> . 2(0) ack 2
		again 100000
		< S 0(0) win 65535 <mss 1460>
		> S. 0(0) ack 1
		< . 1(0) ack 1
		accept
		< . 1(10)
		> . 1(0) ack 11
	`},
	{name: "old SYN in TIME-WAIT", rfc: "RFC 9293 §3.10.7.4: ACK", why: "gVisor drops it without an ACK.", script: opened + `
		close
		> F. 1(0) ack 1
		< F. 1(0) ack 2
		> . 2(0) ack 2
		< S -100(0) win 65535 <mss 1460>
		linux: > . 2(0) ack 2
		silence
	`},
}
