/*
 * The credits of the byte stream: two ends, 0 and 1, joined by a reliable FIFO in each
 * direction. Each end has a writer and a reader (the application's, independent of each other)
 * and an engine (receives, and returns credits; never waits for the application).
 * The README says what is checked, and what each of the macros below breaks.
 */

#ifndef N /* receive buffers of each end, so credits of its peer at the start */
#define N 4
#endif
#ifndef R /* reserve: credits that a message of the stream must leave */
#define R 2
#endif
#ifndef T /* threshold: so many freed buffers are worth an UPDATE */
#define T 2
#endif

/* Credits that must be there to send a message of each kind. */
#ifndef DATA_NEEDS
#define DATA_NEEDS (R + 1)
#endif
#ifndef OFFER_NEEDS
#define OFFER_NEEDS (R + 1)
#endif
#ifndef DONE_NEEDS
#define DONE_NEEDS (R + 1)
#endif
#ifndef CANCEL_NEEDS
#define CANCEL_NEEDS (R + 1)
#endif
#ifndef FIN_NEEDS
#define FIN_NEEDS (R + 1)
#endif
#ifndef GRANT_NEEDS
#define GRANT_NEEDS 1
#endif
#ifndef UPDATE_NEEDS
#define UPDATE_NEEDS 1
#endif

#define you (1 - me)

mtype = { NONE, DATA, OFFER, DONE, CANCEL, FIN, GRANT, UPDATE };

chan link[2]   = [N] of { mtype, byte, byte }; /* sent by an end: kind, number of the OFFER, Credits */
chan unread[2] = [N] of { mtype, byte };       /* arrived at an end, waiting for its reader */

byte credits[2] = N; /* messages that an end may still send */
byte owed[2];        /* buffers that an end has freed and not yet said so */
byte offer[2];       /* the OFFER an end's writer waits for; 0: none */
bool granted[2];     /* its GRANT has come */
bool wrote[2];       /* an end's writer has sent its FIN */

/* What only the checks see. */
byte held[2];    /* buffers of an end with a message in them */
byte carried[2]; /* sum of Credits in the messages that an end has sent and that are on their way */
byte target[2];  /* the OFFER for which an end's reader holds its buffer ready; 0: none */
byte used[2];    /* set of the numbers of OFFERs of an end for which a GRANT may still come */

#ifdef GRANT_IN_ORDER
bool waits[2]; /* an end's writer has begun a message and waits for credits */
#define begin waits[me] = true
#define begun waits[me] = false
#define mayGrant (credits[me] >= GRANT_NEEDS && !waits[me])
#else
#define begin skip
#define begun skip
#define mayGrant (credits[me] >= GRANT_NEEDS)
#endif

#ifdef NEVER /* End 1's writer may stay blocked. End 0's may not, for end 1's reader waits for its FIN. */
#define blocked(where) end_##where
#else
#define blocked(where) at_##where
#endif

#ifdef GRANT_UNNUMBERED
#define answers(num) (offer[me] != 0)
#else
#define answers(num) (num == offer[me])
#endif

#ifdef APART
byte control[2]; /* how many of the owed buffers held an UPDATE or a GRANT */
#define counted control[me]++
#define told control[me] = 0
#define due (owed[me] >= T || control[me] >= R)
#else
#define counted skip
#define told skip
#define due (owed[me] >= T)
#endif

/* Every credit of x is somewhere: x has it, or it is on its way to the peer with a message, or in
 * a buffer there, or owed by the peer, or on its way back. */
#ifdef NO_MONITOR
#define conserved(x) skip
#else
#define conserved(x) assert(credits[x] + len(link[x]) + held[1-x] + owed[1-x] + carried[1-x] == N)
#endif

inline send(kind, num, cost) {
	/* Even if everything on its way arrives before anything is freed, there is a buffer for it. */
	assert(len(link[me]) + held[you] < N);
	printf("%d sends %e, Credits %d, keeps %d\n", me, kind, owed[me], credits[me] - cost);
	link[me]!kind,num,owed[me];
	carried[me] = carried[me] + owed[me];
#ifndef OWED_KEPT
	owed[me] = 0; told;
#endif
	credits[me] = credits[me] - cost;
	conserved(me);
	conserved(you)
}

inline free() {
	held[me]--;
	owed[me]++;
	conserved(you)
}

/* The writer decides what to send before it knows whether it may: a write that waits for credits
 * can't turn into another. It goes on without limit, and may end at any time: so wherever one end
 * is stuck for ever, there is also a run in which all others have ended. To begin a message is
 * progress; to wait for one is not. */
proctype writer(byte me) {
	byte n;
	bool patient; /* this write has no deadline */

progress_begins:
	do
	:: begin;
blocked(data):	d_step { credits[me] >= DATA_NEEDS -> begun; send(DATA, 0, 1) }
#ifndef NO_OFFER
	:: begin;
blocked(offer):	d_step { credits[me] >= OFFER_NEEDS -> begun;
			n = 1; /* A number that no GRANT on its way can bear. */
			do
			:: used[me] & (1 << n) -> n++
			:: else -> break
			od;
			used[me] = used[me] | (1 << n);
			offer[me] = n;
			send(OFFER, n, 1)
		};
		if
		:: patient = true
#ifndef NO_CANCEL
		:: patient = false
#endif
		fi;
blocked(granted):	if
		:: d_step { granted[me] -> assert(target[you] == n); granted[me] = false; offer[me] = 0; patient = false };
			/* The RDMA Write: at any time from the GRANT to the DONE. */
			d_step { credits[me] >= DONE_NEEDS -> assert(target[you] == n); n = 0; send(DONE, 0, 1) }
		:: d_step { !patient -> granted[me] = false; offer[me] = 0; n = 0 };
blocked(cancel):		d_step { credits[me] >= CANCEL_NEEDS -> send(CANCEL, 0, 1) }
		fi
#endif
	:: begin;
blocked(fin):	d_step { credits[me] >= FIN_NEEDS -> begun; wrote[me] = true; send(FIN, 0, 1) };
		break
	od
}

proctype reader(byte me) {
	byte n;

	do
	:: d_step { unread[me]?DATA,_ -> printf("%d reads DATA\n", me); free() }
	:: d_step { unread[me]?OFFER,n -> printf("%d reads OFFER\n", me); target[me] = n; free() };
		if
		:: d_step { mayGrant -> send(GRANT, n, 1); n = 0 };
			if
			:: d_step { unread[me]?DONE,_ -> target[me] = 0; free() }
			:: d_step { unread[me]?CANCEL,_ -> target[me] = 0; free() }
			fi
		:: d_step { unread[me]?CANCEL,_ -> target[me] = 0; used[you] = used[you] & ~(1 << n); n = 0; free() }
		fi
	:: d_step { unread[me]?FIN,_ -> free() };
		break
#ifdef LATE /* End 0 may put off reading until it has written everything. */
	:: me == 0 && !wrote[me] -> wrote[me]
#endif
	od
}

proctype engine(byte me) {
	mtype kind = NONE;
	byte num, c;

end_idle:
	do
	:: d_step { link[you]?kind,num,c ->
			carried[you] = carried[you] - c;
			credits[me] = credits[me] + c;
			held[me]++;
			if
			:: kind == UPDATE -> counted; free()
			:: kind == GRANT -> counted;
				if
				:: answers(num) -> granted[me] = true
				:: else /* It crossed our CANCEL. */
				fi;
				used[me] = used[me] & ~(1 << num);
				free()
			:: else -> unread[me]!kind,num
			fi;
			conserved(me);
			conserved(you);
#ifdef NEVER
			assert(held[me] <= N - R);
#endif
			kind = NONE; num = 0; c = 0
		}
#ifdef UPDATE_FREE
	:: d_step { due -> send(UPDATE, 0, 0) }
#else
	:: d_step { due && credits[me] >= UPDATE_NEEDS -> send(UPDATE, 0, 1) }
#endif
	od
}

init {
	atomic {
		run engine(0); run engine(1);
		run writer(0); run writer(1);
#ifndef NEVER /* End 0 never reads. */
		run reader(0);
#endif
		run reader(1)
	}
}
