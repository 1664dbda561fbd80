/*
 * Close against post: a queue pair and its driver while programs post, the connection ends in any way, and a
 * request is canceled. Each section under QP.mu is one step. The README says what is checked, and what each
 * macro breaks.
 */

#ifndef SENDS /* programs that post a Send */
#define SENDS 1
#endif
#ifndef READS /* and an RDMA Read */
#define READS 0
#endif
#define W (SENDS + READS)

mtype = { NOTHING, END, TIMEOUT, LOST }; /* why receiving is over */
mtype = { RTS, CLOSING, TERMINATING, ERROR, CLOSED };
mtype = { QUEUED, GIVEN, HANDED, SKIPPED };

/* The world: a good peer takes and answers everything, and the program closes when all is complete. Else TCP may be
 * jammed for good, or break, and events is how much comes at most: answers, Terminates, faults, a FIN. */
bool good;
bool jammed;
byte events;

/* rdmap.QP */
mtype state;
bool peerClosed;
byte head, sent, next, tail;
bool isRead[W];
mtype progress[W];
bool done[W];
bool sink[W];      /* it is registered, as far as the queue pair knows */
bool completed[W]; /* the Completion is out */
byte given;        /* requests given out and not reported by Sent */
bool terminate;    /* the Terminate is to be sent */
bool givenTerminate;

/* ddp.Region of a Read's sink */
bool gone[W];
bool discards[W];
bool copying[W];

/* driver.Driver */
bool token;
bool left;        /* the batch holds what TCP has not taken */
byte batched;     /* requests in it */
bool flushed, failed, killed, readEnded;
bool deadline;    /* receive will not wait much longer */
bool streamClosed;
byte halves = 2;

#ifdef RECV
bool posted, inQueue, filled, queueClosed, filling; /* one receive: in the recvQueue, in the ddp.Queue */
byte accepted2, completions2;
#endif

/* What only the checks see. */
byte accepted[W];
byte completions[W];
bool refers[W]; /* the batch refers to the payload, or to the header in the request's entry */
bool wire[W];   /* TCP has the message */
byte undone;    /* accepted, without Completion */

#define isUp (state == RTS || state == CLOSING)
#define receives (isUp && !peerClosed)
#define closing (state != RTS)
#define asked1(p) (wire[p] && isRead[p])
#if SENDS + READS == 3
#define asked (asked1(0) || asked1(1) || asked1(2))
#else
#if SENDS + READS == 2
#define asked (asked1(0) || asked1(1))
#else
#define asked asked1(0)
#endif
#endif

#include "close_qp.pml"

/* --- driver: the way out --- */

#ifdef NO_ABORT_DUE
#define abortDue false
#else
#define abortDue (killed && state != ERROR && state != CLOSED)
#endif
#define isDrained (given == 0 && !givenTerminate && !terminate && (!isUp || next == tail))
#define finDue (closing && !flushed && (failed || isDrained))
#define hasOutput ((state == TERMINATING && terminate) || (isUp && next < tail))

inline wanted() {
	if
	:: isUp -> pass() /* HasOutput and Drained do. */
	:: else
	fi;
	want = finDue || abortDue || (!failed && hasOutput)
}

inline fill() {
	d_step {
		do
		:: failed -> break
		:: !failed && state == TERMINATING && terminate -> terminate = false; givenTerminate = true; left = true
		:: !failed && isUp ->
			pass();
			if
			:: next < tail -> progress[next] = GIVEN; refers[next] = true; next++; given++; batched++; left = true
			:: else -> break
			fi
		:: else -> break
		od
	}
}

inline reset() {
	d_step {
		left = false; batched = 0;
		i = 0;
		do
		:: i < W -> refers[i] = false; i++
		:: else -> break
		od;
		i = 0
	}
}

inline half() {
	d_step { halves--; last = (halves == 0) };
	if
	:: last -> d_step { streamClosed = true; last = false }; abort()
	:: else
	fi
}

inline fin() {
	if
	:: abortDue -> abort()
	:: else
	fi;
	d_step { wanted(); want = false };
	if
	:: finDue ->
#ifndef NO_DEADLINE
		deadline = true;
#endif
		flushed = true;
		half()
	:: else
	fi
}

inline lose() {
	d_step { failed = true; deadline = true };
#ifndef NOBODY_LEFT
	if
	:: readEnded -> killed = true
	:: else
	fi
#else
	skip
#endif
}

#define locals byte i = 0; bool settles = false

/* To look and to take the token are two steps in the code; who looks earlier finds at worst nothing to do. Who takes it
 * goes on while the holder writes: in the code that is so as soon as TCP does not take all at once. */
inline transmit() {
	d_step {
		wanted();
		if
		:: want && !token -> token = true
		:: else /* The holder looks again. */
		fi;
		want = false
	}
}

active proctype holder() {
	locals;
	byte n = 0;
	bool want = false, last = false;

end:	do
	:: token -> /* drain, finish */
		if
		:: !left -> fill()
		:: else
		fi;
		if
		:: !left ->
			fin();
			token = false;
#ifndef NO_RELOOK
			transmit()
#endif
		:: left && !streamClosed && !jammed ->
			d_step { /* TCP takes it all, and the batch is empty. */
				i = 0;
				do
				:: i < W -> wire[i] = wire[i] || refers[i]; refers[i] = false; i++
				:: else -> break
				od;
				i = 0;
				left = false; n = batched; batched = 0
			};
			sentAll(n)
		:: left && (streamClosed || (!good && !jammed)) -> reset(); lose()
		fi
	od
}

inline kill() {
	d_step { failed = true; killed = true; streamClosed = true };
#ifdef NO_TOKEN
	abort();
#endif
	transmit()
}

/* --- the programs --- */

#ifdef READ_AFTER_FIN
#define LATE_READ false
#else
#define LATE_READ peerClosed
#endif

inline push(read) {
	if
	:: state == RTS && !(read && LATE_READ) ->
		mine = tail; tail++;
		isRead[mine] = read; sink[mine] = read; progress[mine] = QUEUED;
		accepted[mine]++; undone++
	:: else
	fi
}

proctype poster(bool read) {
	bool want = false;
	byte mine;

#ifdef SPLIT /* The state is looked at before, not with mu held. */
	if
	:: state == RTS -> d_step { mine = tail; tail++; isRead[mine] = read; sink[mine] = read; progress[mine] = QUEUED; accepted[mine]++; undone++ }
	:: else
	fi;
#else
	d_step { push(read) };
#endif
	mine = 0;
	transmit()
}

#ifdef RECV
proctype receivePoster() {
	bool mine;

	d_step {
		if
		:: isUp && !peerClosed -> posted = true; accepted2++; undone++; mine = true
		:: else
		fi
	};
	if
	:: mine -> d_step {
			if
			:: !queueClosed -> inQueue = true
			:: else
			fi
		}
	:: else
	fi
}
#endif

#ifdef CANCEL
#include "close_cancel.pml"
#endif

/* Conn.Close */
proctype closer() {
	locals;
	bool want = false;

#ifdef POLITE
	undone == 0;
#else
	if
	:: good -> (undone == 0)
	:: !good
	fi;
#endif
	d_step {
		if
		:: state == RTS -> state = CLOSING; moveOn()
		:: else
		fi
	};
	settle();
	transmit();
	if
	:: flushed
	:: !good && !flushed -> kill() /* the close timeout */
	fi
}

/* --- driver: the way in --- */

proctype receiver() {
	locals;
	bool want = false, last = false;
	byte p = W;
	mtype why = NOTHING;
	bool over;

	do
	:: over -> break
	:: !over && !good && events > 0 -> events--; why = END; over = true
	:: !over && !good && events > 0 -> events--; terminated(); over = true
	:: !over && !good && events > 0 -> events--; fail(); over = true
#ifdef RECV
	:: !over && (events > 0 || good) && (inQueue && !filled || events > 0 && !good) -> /* a Send */
		if
		:: events > 0 -> events--
		:: else
		fi;
		d_step {
			if
			:: inQueue && !filled -> filling = true
			:: else
			fi
		};
		if
		:: filling -> d_step { filling = false; filled = inQueue };
			d_step { last = filled; inQueue = inQueue && !filled; filled = false }; /* Deliver */
			if
			:: last ->
				d_step {
					last = false;
#ifdef NO_RECEIVES
					completeReceive(); posted = false
#else
					if
					:: receives && posted -> posted = false; completeReceive()
					:: else
					fi
#endif
				}
			:: else
			fi
		:: else -> fail(); over = true
		fi
#endif
	:: !over && (events > 0 || good) && asked -> /* the answer to a Read */
		d_step {
			p = 0;
			do
			:: !(wire[p] && isRead[p]) -> p++
			:: else -> break
			od;
			wire[p] = false;
			if :: events > 0 -> events-- :: else fi;
			if
			:: gone[p] -> over = true
			:: !gone[p] && !discards[p] -> copying[p] = true
			:: else
			fi
		};
		if
		:: over -> fail()
		:: else ->
			copying[p] = false;
			last = receives; /* Handle */
			if
			:: last ->
				d_step { /* handleReadResponse */
					last = false;
					i = head;
					do
					:: i < next && !(isRead[i] && !done[i]) -> i++
					:: else -> break
					od;
					if
					:: i == next || i != p -> over = true
					:: else -> gone[i] = true; sink[i] = false; done[i] = true; retire()
					fi;
					i = 0
				};
				if
				:: over -> fail()
				:: else
				fi
			:: else -> over = true
			fi
		fi;
		if
		:: closing && state != CLOSING -> over = true
		:: else
		fi;
		p = W;
		transmit()
	:: !over && streamClosed -> why = LOST; over = true
	:: !over && deadline -> why = TIMEOUT; over = true
	:: !over && !good && events > 0 -> events--; why = LOST; over = true
	od;
	over = false;
	if
	:: closing -> /* linger */
		if
		:: why == END -> peerCloses()
		:: why == NOTHING -> deadline = true
		:: else
		fi;
		transmit();
		if
		:: flushed
		:: !good && !flushed -> kill()
		fi
	:: else -> /* ended */
		if
		:: why == END -> peerCloses()
		:: else -> kill()
		fi
	fi;
	readEnded = true;
#ifndef NOBODY_LOOKS
	if
	:: failed -> kill()
	:: else
	fi;
#endif
	transmit();
	half()
}

init {
	byte k = 0;

	atomic {
		state = RTS;
#ifdef GOOD
		good = true;
#endif
#ifdef JAMMED
		jammed = true;
#endif
#ifdef EVENTS
		events = EVENTS;
#endif
		do
		:: k < SENDS -> run poster(false); k++
		:: else -> break
		od;
		do
		:: k < W -> run poster(true); k++
		:: else -> break
		od;
		k = 0;
#ifdef CANCEL
		run canceller();
#endif
#ifdef RECV
		run receivePoster();
#endif
		run receiver();
		run closer()
	};
	_nr_pr == 2; /* all programs and receive are over */
	timeout; /* and the holder too */
	assert(undone == 0 && !token && !left && flushed && halves == 0)
}
