/* The two kinds of credit of rsockets: how many data messages the peer takes, and where it has space.
 *
 * Each end has a receive buffer of two halves with H units each. A half is lent to the peer by a
 * descriptor, which an RDMA Write puts into the peer's next slot of two, and a word CRED behind it. CRED
 * also says how many data messages have been taken. The names are those of
 * internal/conn/bytestream/rsockets. See README.md for what is modeled, and for the macros. */

#ifndef C
#define C 4 /* data messages that an end takes before it has stated a new limit */
#endif
#ifndef H
#define H 1
#endif
#ifndef SPARE
#define SPARE 1 /* credits that a sender leaves */
#endif
#ifndef T
#define T (C / 2) /* so many messages taken are stated */
#endif
#ifndef WORDS
#define WORDS 7 /* words without data that wait for an end */
#endif

#define peer (1 - me)

mtype = { DATA, CRED, SHUT, DISC };
mtype = { OPEN, ENDED, GONE };

chan link[2] = [C + WORDS + 2] of { mtype, byte };

/* The way out. */
byte avail[2] = C;   /* data messages up to the limit */
byte space[4];       /* what the peer has lent and is not used: two for each end, the oldest first */
byte look[2] = 1;    /* the slot that the peer fills next: the header has filled the first */
bool writing[2];     /* a Write is under way */
mtype own[2] = OPEN;

/* The way in. */
byte unread[2];
byte room[2] = H;    /* granted, and not arrived */
byte left[2] = H;    /* of the half that the peer writes to */
byte taken[2];       /* data messages since the limit was stated */
byte put[2] = 1;     /* the peer's slot that this end fills next */
bool late[2];        /* the program does not read */
mtype heard[2] = OPEN;

byte slots[4];       /* two for each end; 0: empty */
byte words[2];       /* words without data on their way to an end */

inline tell(kind, n) {
	words[peer]++;
	assert(words[peer] <= WORDS || own[peer] == GONE);
	link[peer]!kind, n
}

#ifdef EARLY_GRANT
#define grantDue (unread[me] + room[me] <= H + 1)
#else
#define grantDue (unread[me] + room[me] <= H)
#endif

/* state tells the peer what it may send, if that is due. */
inline state() {
	do
	:: grantDue || taken[me] >= T ->
		if
		:: grantDue ->
			room[me] = room[me] + H;
			assert(unread[me] + room[me] <= 2 * H);
			assert(slots[peer * 2 + put[me]] == 0);
			slots[peer * 2 + put[me]] = H;
#ifndef ONE_SLOT
			put[me] = 1 - put[me]
#endif
		:: else
		fi;
		tell(CRED, taken[me]);
		taken[me] = 0
	:: else -> break
	od;
	skip
}

inline lend(n) {
	if
	:: space[me * 2] == 0 -> space[me * 2] = n
	:: else -> assert(space[me * 2 + 1] == 0); space[me * 2 + 1] = n
	fi
}

inline takeDescriptor() {
	if
	:: slots[me * 2 + look[me]] > 0 ->
		lend(slots[me * 2 + look[me]]);
#ifndef KEEP_SLOT
		slots[me * 2 + look[me]] = 0;
#endif
#ifndef ONE_SLOT
		look[me] = 1 - look[me]
#endif
	:: else
	fi
}

#define mayWrite (space[me * 2] > 0 && avail[me] > SPARE)

inline send(n) {
	avail[me]--;
	link[peer]!DATA, n;
	space[me * 2] = space[me * 2] - n;
	if
	:: space[me * 2] == 0 -> space[me * 2] = space[me * 2 + 1]; space[me * 2 + 1] = 0
	:: else
	fi;
	writing[me] = false
}

inline receive() {
	link[me]?kind, n;
	if
	:: kind == DATA ->
		assert(heard[me] == OPEN && n <= left[me] && n <= room[me] && taken[me] < C);
		unread[me] = unread[me] + n;
		room[me] = room[me] - n;
		left[me] = left[me] - n;
		if
		:: left[me] == 0 -> left[me] = H
		:: else
		fi;
		taken[me]++;
		state()
	:: kind == CRED ->
		words[me]--;
		avail[me] = avail[me] + n;
		assert(avail[me] <= C);
		takeDescriptor()
	:: kind == SHUT -> words[me]--; heard[me] = ENDED
	:: kind == DISC -> words[me]--; heard[me] = GONE
	fi;
	kind = DATA;
	n = 0
}

proctype end(byte me) {
	mtype kind = DATA;
	byte n;

	d_step { state() };
	do
	/* the writer */
#ifdef ONE_WAY
	:: d_step { me == 0 && own[me] == OPEN && !writing[me] && heard[me] != GONE -> writing[me] = true }
#else
	:: d_step { own[me] == OPEN && !writing[me] && heard[me] != GONE -> writing[me] = true }
#endif
	:: d_step { writing[me] && mayWrite -> send(1) }
#ifdef LONG
	:: d_step { writing[me] && mayWrite && space[me * 2] > 1 -> n = space[me * 2]; send(n); n = 0 }
#endif
	:: d_step { writing[me] && heard[me] == GONE -> writing[me] = false /* EPIPE */ }
	:: d_step {
		own[me] == OPEN && !writing[me] ->
		if
		:: heard[me] == OPEN -> own[me] = ENDED; tell(SHUT, 0)
		:: else -> own[me] = GONE; tell(DISC, 0)
		fi
	   }
	/* the reader */
#ifdef ONLY_ARRIVALS
	:: d_step { !late[me] && unread[me] > 0 -> unread[me] = 0 }
#else
	:: d_step { !late[me] && unread[me] > 0 -> unread[me] = 0; state() }
#endif
#ifdef LONG
	:: d_step { !late[me] && unread[me] > 1 -> unread[me]--; state() }
#endif
#ifdef LATE
	:: d_step { me == 0 && !late[me] && own[me] == OPEN -> late[me] = true }
	:: d_step { late[me] && own[me] != OPEN -> late[me] = false }
#endif
	/* whichever waits receives */
	:: d_step { len(link[me]) > 0 && !late[me] && unread[me] == 0 && heard[me] == OPEN -> receive() }
#ifndef READER_RECEIVES
	:: d_step { len(link[me]) > 0 && writing[me] && !mayWrite -> receive() }
#endif
	:: own[me] != OPEN && heard[me] != OPEN && unread[me] == 0 -> break
	od;
	own[me] = GONE
}

init {
	atomic {
		space[0] = H;
		space[2] = H;
		run end(0);
		run end(1)
	}
}
