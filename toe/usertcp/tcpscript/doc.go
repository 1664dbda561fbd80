// Package tcpscript contains only tests. They play the peer of a TCP, segment by segment: scripts
// like those of packetdrill inject hostile TCP segments, IP fragments and ICMP messages, and state
// the answers that TCP must give and the results that the program above it must see. Each script
// runs against two TCPs, that of toe/usertcp and that of the Linux kernel in a network namespace.
// If the two differ, the case says why. Without root only the first runs.
//
// # Scripts
//
// The scripts are in testdata. The first line of each script gives its name, its rule and the
// versions of IP over which it runs. A line "why" says why the two TCPs differ, and a line "user
// timeout" sets TCP's.
//
// Then a script has one step per line, after a tab. A line that begins with "user:" or "linux:" is
// for only one of the two TCPs.
//
//	listen, accept             calls of the program; so are
//	connect, connected [ERROR] a Dial that goes on in the background, and its end
//	write N [ERROR]            writes the next N bytes
//	read N, read ERROR         reads N bytes, which must be the right ones, or fails
//	pending N                  so many bytes can be read
//	closewrite, close, abort
//	< FLAGS SEQ(LEN) ...       injects a segment
//	> FLAGS SEQ(LEN) ...       the next segment of TCP
//	silence                    TCP answers nothing to what came before
//	open OPTIONS               accepts a connection whose SYN has these options
//
// FLAGS are the letters S, F, R, P, U and . for ACK, or - for none. Sequence numbers count from the
// initial sequence number of their sender. In an expected segment * stands for any value. PSH, and
// fields that are not mentioned, may have any value. The file script_test.go has the other steps.
package tcpscript
