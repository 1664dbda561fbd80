// Package fault makes faults to order for the programs of rddp run: on the network below the
// device, and at the verbs above it.
//
// [Parse] reads what the user asks for, one or several faults with commas between them:
//
//	WHAT[=VALUE][@WHEN]
//
//	loss=1%               this share of the packets is lost and sent again
//	delay=5ms             each packet travels so long; jitter=1ms adds up to so much at random
//	rate=100M             bits per second
//	cut@1MiB   cut@2s     a connection is reset after so many bytes, or after so long
//	send=STATUS@WHEN      a work request of a send queue completes with this error status
//	receive=STATUS@WHEN   so does a receive
//	register=ERRNO@WHEN   the registration of memory fails
//	qp-error@2s           a queue pair turns to error so long after it has come to RTS
//	event=NAME@2s         the device raises an asynchronous event so long after it was opened
//	seed=7                of everything that is random; without it 1
//
// STATUS, ERRNO and NAME are those of verbs and of Linux without IBV_WC_ and IBV_EVENT_, such as
// RETRY_EXC_ERR, ENOMEM and PORT_ERR. WHEN counts from 1: @3 is the third one, @2% is each with
// this probability, and without WHEN it is each one.
//
// # What is repeatable
//
// What happens to the k-th of something (a completion, a registration, a connection, a packet of a
// connection) depends only on the seed and on k. The order in which a program makes them, and the
// packets in which it sends, may depend on time.
//
// # The network
//
// The packets are made of what passes a connection, 1,400 bytes at most, and cross a link of
// package badlink, in both directions. One that the link has lost goes again after a round trip and
// 10 ms, and those behind it wait, as in TCP. A connection ends when a packet has been lost 15
// times, for at least two minutes. So the device sees what a TCP connection shows of such a link.
// Datagrams of UD queue pairs cross one such link on their way out, and those that are lost stay
// so.
package fault
