// Package fault injects faults for the programs of rddp run: on the network below the device, and
// at the verbs above it.
//
// [Parse] parses the user's specification, one or more faults separated by commas:
//
//	WHAT[=VALUE][@WHEN]
//
//	loss=1%               this share of the packets is lost and sent again
//	delay=5ms             each packet is delayed; jitter=1ms adds a random delay up to this
//	rate=100M             bits per second
//	cut@1MiB   cut@2s     a connection is reset after this number of bytes, or after this time
//	send=STATUS@WHEN      a work request of a send queue completes with this error status
//	receive=STATUS@WHEN   so does a receive
//	register=ERRNO@WHEN   the registration of memory fails
//	qp-error@2s           a queue pair enters the error state this long after it has reached RTS
//	event=NAME@2s         the device raises an asynchronous event this long after it was opened
//	legal                 the device does what the specification permits and programs forget: see Liberty
//	legal=NAME            it takes this Liberty; legal=-NAME all others
//	seed=7                of everything that is random; without it 1
//
// STATUS, ERRNO and NAME are the names in verbs and Linux, without IBV_WC_ and IBV_EVENT_, such as
// RETRY_EXC_ERR, ENOMEM and PORT_ERR. WHEN counts from 1: @3 means the third operation, and @2%
// each operation with this probability. Without WHEN, every operation fails.
//
// # Repeatability
//
// The fate of the k-th completion, registration, connection, or packet of a connection depends only
// on the seed and on k. The order of a program's operations, and the division of its data into
// packets, may depend on time.
//
// # The network
//
// The bytes of a connection are divided into packets of at most 1,400 bytes, which cross a link of
// package badlink in both directions. A lost packet is sent again after a round trip and 10 ms, and
// later packets wait for it, as in TCP. A connection ends when a packet has been lost 15 times, for
// at least two minutes. So the device sees the effects that such a link has on a TCP connection.
// Outgoing datagrams of UD queue pairs also cross such a link; lost ones are not sent again.
package fault
