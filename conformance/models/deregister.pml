/*
 * Deregister against placement: a Region 0, a window 1 of it, a window 2 of that window, and a Region 3 that may be
 * registered under 0's STag once that is free. Placers find a Region by its STag and copy into its memory, while
 * it and its windows are deregistered, by several at a time, and windows are made. The README says what is checked,
 * and what each macro breaks.
 */

#ifndef PLACERS
#define PLACERS 1
#endif

#define ALL 4
#define none 255

/* Domain */
byte table[3] = none; /* by STag: the Region */
bool stands[ALL];     /* it is registered, and nobody has begun to deregister it */
bool settled[3];      /* whether there is such a window, and with it whether there will be */

/* Region.mu, as sync.RWMutex is: who waits to write keeps new readers out. */
byte reading[ALL];
bool writing[ALL];
bool gone[ALL];

/* Region.windows: those of 0 and of 1, so one each. */
bool busy[2]; /* windows.mu */
bool has[2];  /* the window is in the list */

/* What only the checks see. */
bool over[ALL]; /* a Deregister of it has returned */

/* A copy into a Region's memory, or out of it. It is part of the memory of all that it is a window of. */
inline copies(r) {
	assert(!over[r] && (r == 3 || !over[0]) && (r != 2 || !over[1]))
}

inline readLock(r) { atomic { !writing[r] -> reading[r]++ } }
inline readUnlock(r) { reading[r]-- }
inline writeLock(r) {
	atomic { !writing[r] -> writing[r] = true };
	reading[r] == 0
}
inline writeUnlock(r) { writing[r] = false }
inline lock(r) { atomic { !busy[r] -> busy[r] = true } }
inline unlock(r) { busy[r] = false }

inline lookup(s) {
	d_step {
		r = table[s];
		assert(table[0] == 3 || !stands[3])
	}
}

/* Receiver.putTagged and tryTagged; Sender.Next to Release for the source of a Read Response. */
inline place(s) {
	lookup(s);
	if
	:: r == none
	:: else ->
#ifndef NO_LOCK
		readLock(r);
#endif
#ifdef NO_GONE /* Being in the table is thought to be enough. */
		copies(r); copies(r);
#else
		if
		:: gone[r]
		:: else -> copies(r); copies(r)
		fi;
#endif
#ifndef NO_LOCK
		readUnlock(r)
#endif
	fi
}

/* response.parse, and later response.message or Sender.Next: of a Read or Atomic Request. */
inline answer(s) {
	lookup(s);
	if
	:: r == none
	:: else ->
		readLock(r); /* Domain.Check */
		if
		:: gone[r] -> readUnlock(r)
		:: else ->
#ifndef CHECK_HOLDS
			readUnlock(r);
#endif
			readLock(r); /* Region.hold, when the answer is the next message */
#ifdef NO_RECHECK
			copies(r); copies(r);
#else
			if
			:: gone[r]
			:: else -> copies(r); copies(r)
			fi;
#endif
#ifdef CHECK_HOLDS
			readUnlock(r);
#endif
			readUnlock(r)
		fi
	fi
}

proctype placer() {
	byte r;

	if
	:: place(0)
	:: place(1)
	:: place(2)
	:: answer(0)
	:: answer(1)
	fi
}

/* Domain.remove */
inline remove(r, s) {
	d_step {
		stands[r] = false;
		if
#ifdef REMOVE_ANY
		:: true -> table[s] = none
#else
		:: table[s] == r -> table[s] = none
#endif
		:: else
		fi
	}
}

/* Region.Deregister as far as it is about the Region itself. */
inline end(r, s) {
	remove(r, s);
#ifdef NO_WAIT
	gone[r] = true
#else
	writeLock(r);
	gone[r] = true;
#ifndef KEEP_LOCK
	writeUnlock(r)
#endif
#endif
}

inline mayUnlock(r) {
#ifdef KEEP_LOCK
	writeUnlock(r)
#else
	skip
#endif
}

#ifdef ONCE /* Who finds that another deregisters it is content. */
#define begun(r) (!stands[r])
#else
#define begun(r) false
#endif

inline unlink(r) { d_step { !busy[r] -> has[r] = false } }
inline list(r, listed) { d_step { !busy[r] -> listed = has[r] } }

inline deregister2() {
	if
	:: begun(2)
	:: else ->
#ifdef UNLINK_FIRST
		unlink(1);
#endif
		end(2, 2);
		mayUnlock(2);
#ifndef UNLINK_FIRST
		unlink(1)
#endif
	fi;
	over[2] = true
}

inline windowsOf1() {
	list(1, listed1);
	if
	:: listed1 -> deregister2()
	:: else
	fi
}

inline deregister1() {
	if
	:: begun(1)
	:: else ->
#ifdef UNLINK_FIRST
		unlink(0);
#endif
#ifdef WINDOWS_FIRST
		windowsOf1();
		end(1, 1);
		mayUnlock(1);
#else
		end(1, 1);
		windowsOf1();
		mayUnlock(1);
#endif
#ifndef UNLINK_FIRST
		unlink(0)
#endif
	fi;
	over[1] = true
}

inline windowsOf0() {
	list(0, listed0);
	if
	:: listed0 -> deregister1()
	:: else
	fi
}

/* The application, twice for the same Region: its Deregister and the connection's Close; or the peer's Invalidate. */
proctype owner(byte r) {
	bool listed0, listed1;

	if
	:: r == 0 ->
		if
		:: begun(0)
		:: else ->
#ifdef KEEP_WINDOWS
			end(0, 0)
#else
#ifdef WINDOWS_FIRST
			windowsOf0();
			end(0, 0);
			mayUnlock(0)
#else
			end(0, 0);
			windowsOf0();
			mayUnlock(0)
#endif
#endif
		fi;
		over[0] = true
	:: r == 1 -> settled[1]; /* Only what is made can be deregistered. */
		if
		:: table[1] != none || gone[1] || over[1] -> deregister1()
		:: else
		fi
	:: r == 2 -> settled[2];
		if
		:: table[2] != none || gone[2] || over[2] -> deregister2()
		:: else
		fi
	fi
}

/* Region.Window of Region r: the window has the next number. Its STag may be guessed as soon as it is in the table. */
inline window(r) {
#ifdef LOOK_FIRST /* gone is looked at before windows.mu is taken */
	readLock(r); refused = gone[r]; readUnlock(r);
	lock(r);
#else
	lock(r);
	readLock(r); refused = gone[r]; readUnlock(r);
#endif
	if
	:: refused
	:: else ->
		d_step { table[r+1] = r + 1; stands[r+1] = true; settled[r+1] = true } /* Domain.enter */
#ifdef LIST_LATE
		unlock(r);
		lock(r);
#endif
		has[r] = true
	fi;
	unlock(r)
}

proctype maker() {
	bool refused;

	window(0);
	if
	:: !refused -> window(1)
	:: else
	fi;
	d_step { settled[1] = true; settled[2] = true }
}

/* Domain.Register, which happens to draw the STag of 0 again. */
proctype another() {
	d_step { table[0] == none -> table[0] = 3; stands[3] = true }
}

init {
	byte i = 0;

	atomic {
		table[0] = 0; stands[0] = true;
		do
		:: i < PLACERS -> run placer(); i++
		:: else -> break
		od;
		run maker();
		run owner(0);
#ifndef ONE_OWNER
		run owner(0);
#endif
		run owner(1);
#ifdef THREE
		run owner(2);
#endif
#ifdef REUSE
		run another()
#endif
	}
}
