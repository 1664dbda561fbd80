// Package tcpscript contains only tests. They play the peer of a TCP, segment by segment: scripts
// in the manner of packetdrill inject hostile TCP segments, IP fragments and ICMP messages, and
// state what TCP must answer and what the program above it must see. Each script runs against two
// TCPs, that of toe/usertcp and that of the Linux kernel in a network namespace. Where the two
// differ, the case says why. Without root only the first runs.
//
// # Scripts
//
// The scripts are in testdata. The first line of each names it, its rule and over which versions of
// IP it runs. A line "why" says why the two TCPs differ, and a line "user timeout" sets TCP's.
//
// Then a script has one step in each line, behind a tab. A line that begins with "user:" or
// "linux:" is for one of the two only.
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
// initial sequence number of their sender. In an expected segment * stands for any value, and PSH
// and what is not mentioned may have any value. The file script_test.go has the other steps.
package tcpscript
