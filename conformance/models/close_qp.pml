/* The queue pair of close.pml, which includes this file. */

/* --- rdmap, under QP.mu --- */

inline complete(p) { /* sendEntry.complete */
	if
	:: !completed[p] ->
		completed[p] = true;
		completions[p]++;
		undone--;
		assert(completions[p] == 1);
		assert(isRead[p] || !refers[p]); /* the payload of a Send is the program's again */
		assert(!copying[p])              /* and the sink of a Read */
	:: else
	fi
}

inline retire() {
	do
#ifdef NOT_GIVEN
	:: head < tail && done[head] && !sink[head] ->
#else
#ifdef NO_SINK
	:: head < tail && done[head] && progress[head] != GIVEN ->
#else
	:: head < tail && done[head] && progress[head] != GIVEN && !sink[head] ->
#endif
#endif
		complete(head);
		assert(!refers[head]);
		head++;
		if :: sent < head -> sent = head :: else fi;
		if :: next < head -> next = head :: else fi
	:: else -> break
	od
}

inline pass() { /* sendQueue.isEmpty */
	do
	:: next < tail && done[next] -> progress[next] = SKIPPED; next++
	:: else -> break
	od
}

inline flushAll() {
	i = head;
	do
	:: i < tail -> done[i] = true; i++
	:: else -> break
	od
}

inline flushWaiting(alsoQueued) { /* those that await a response, and for Fail those not given out */
	i = head;
	do
	:: i < tail ->
		if
		:: isRead[i] || (alsoQueued && progress[i] == QUEUED) -> done[i] = true
		:: else
		fi;
		i++
	:: else -> break
	od
}

inline endLocked(s) {
	state = s;
	terminate = false; givenTerminate = false; given = 0;
	flushAll();
	do /* letGo */
	:: sent < next ->
		if :: progress[sent] == GIVEN -> progress[sent] = HANDED :: else fi;
		sent++
	:: else -> break
	od;
	settles = true
}

inline moveOn() {
	if
	:: isUp -> pass()
	:: else
	fi;
	if
	:: given == 0 && !givenTerminate && !terminate && (!isUp || next == tail) ->
		if
		:: state == CLOSING -> endLocked(CLOSED)
		:: state == TERMINATING && peerClosed -> state = ERROR
		:: else
		fi
	:: else
	fi
}

/* The rest of settleLocked, which lets go of mu while it waits. */
inline settle() {
	do
	:: settles ->
		d_step {
			i = head;
			do
			:: i < tail && !(done[i] && sink[i]) -> i++
			:: else -> break
			od;
#ifdef NO_SINK
			i = tail;
#endif
			if
			:: i == tail -> settles = false; i = 0; retire()
			:: else
			fi
		};
		if
		:: settles ->
			d_step { !copying[i] -> gone[i] = true }; /* Region.Deregister */
			d_step { sink[i] = false; i = 0 }
#ifdef RECV
		:: else ->
#ifndef NO_FLUSH
			d_step { !filling -> inQueue = false; filled = false; queueClosed = true }; /* Queue.Flush */
#endif
			d_step {
				if
				:: posted -> posted = false; completeReceive()
				:: else
				fi
			};
#else
		:: else
#endif
		fi
	:: else -> break
	od;
	skip
}

#ifdef RECV
inline completeReceive() { completions2++; undone--; assert(completions2 == 1); assert(!filling) }
#endif

inline sentAll(n) { /* Sent */
	d_step {
		do
		:: n > 0 && given > 0 ->
			do
			:: progress[sent] == SKIPPED -> sent++
			:: else -> break
			od;
			progress[sent] = HANDED;
			if
			:: !isRead[sent] -> done[sent] = true
			:: else
			fi;
			sent++; given--; n--
		:: else -> break
		od;
		n = 0;
		givenTerminate = false;
		retire();
		moveOn()
	};
	settle()
}

inline abort() {
	d_step {
		if
		:: state != CLOSED -> endLocked(ERROR)
		:: else
		fi
	};
	settle()
}

inline fail() {
	d_step {
		if
		:: state == TERMINATING || state == ERROR
		:: isUp -> state = TERMINATING; terminate = true; flushWaiting(true); settles = true
		:: else -> endLocked(ERROR)
		fi
	};
	settle()
}

inline terminated() {
	d_step {
		if
		:: receives -> state = TERMINATING; flushAll(); settles = true
		:: else
		fi
	};
	settle()
}

inline peerCloses() {
	d_step {
		peerClosed = true;
#ifndef FIN_KEEPS
		if
		:: isUp -> flushWaiting(false); settles = true
		:: else
		fi
#endif
	};
	settle();
	d_step { moveOn() };
	settle()
}
