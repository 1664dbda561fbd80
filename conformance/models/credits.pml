/*
 * The credits of the byte stream: two ends, 0 and 1, joined by a reliable FIFO in each
 * direction. Each end has a writer and a reader (the program's, independent of each other)
 * and an engine (receives, and posts what is due; never waits for the program).
 * The README says what is checked, and what each of the macros below breaks.
 */

#ifndef N /* receive buffers of end 0, so credits of end 1 at the start */
#define N 4
#endif
#ifndef M /* the same of the other */
#define M N
#endif
#if M > N
#define most M
#else
#define most N
#endif
#ifndef R /* reserve: credits that a message of the stream must leave */
#define R 2
#endif
#define buffers(x) (x -> M : N)
#ifdef SHRINK /* An end may keep back up to so many credits, and hand them out again later: its window shrinks and grows. */
#define window(x) (buffers(x) - kept[x])
#define step atomic /* in which there may be a choice */
#else
#define window(x) buffers(x)
#define step d_step
#endif
#ifdef T /* threshold: so many freed buffers are worth an UPDATE */
#define threshold(x) T
#else
#ifdef OLD_THRESHOLD /* It does not shrink with the window. */
#define threshold(x) (buffers(x) / 2)
#else
#define threshold(x) (window(x) / 2)
#endif
#endif

/* Credits that must be there to send a message of each kind. It takes one of them; with 0 it takes none,
 * and has a buffer of its own. */
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
#define CANCEL_NEEDS 0
#endif
#ifndef FIN_NEEDS
#define FIN_NEEDS 0
#endif
#ifndef GRANT_NEEDS
#define GRANT_NEEDS 1
#endif
#ifndef UPDATE_NEEDS
#define UPDATE_NEEDS 1
#endif

#ifdef PENDING
#define maxPending PENDING
#else
#define maxPending 1
#endif

#define you (1 - me)

/* LAST is DATA with the FIN flag, FIN that flag without data, REFUSAL a GRANT of nothing. READ and RESPONSE are an RDMA
 * Read: they use no credit and carry none. */
mtype = { NONE, DATA, LAST, OFFER, DONE, CANCEL, FIN, GRANT, REFUSAL, UPDATE, READ, RESPONSE };

#ifdef REMOTE
#define apiece 4 /* messages on their way, one of each kind, that use no credit */
#else
#define apiece 2
#endif
chan link[2] = [most + apiece] of { mtype, byte }; /* sent by an end: kind, Credits */

byte credits[2]; /* messages that an end may still send */
byte owed[2];    /* buffers that an end has freed and not yet said so */
byte owedControl[2]; /* of them, those that held an UPDATE, GRANT or REFUSAL */
#ifdef SHRINK
byte kept[2];    /* credits that an end keeps back */
#endif
#ifdef REMOTE
bool asked[2];   /* an end's READ is out, and its RESPONSE has not come */
bool reply[2];   /* an end has a RESPONSE to send */
#endif

/* An end's writer. */
byte pending[2];  /* so many DATA have been begun and not sent, at most PENDING; their credits are taken */
bool open[2];     /* an OFFER is out, and no DONE or CANCEL sent */
mtype answer[2];  /* its GRANT or REFUSAL, once that has come */
mtype closing[2]; /* the DONE or CANCEL that is to be sent */
byte off[2];      /* 1, 2: no OFFERs any more; 1: an answer may come that crosses the CANCEL */
bool closed[2];   /* nothing more will be written */
bool fin[2];      /* and the peer has been told */

/* An end's reader. */
byte unread[2];   /* DATA */
bool offered[2];  /* an OFFER, behind them */
bool granted[2];  /* there is memory that the peer may write to */
bool refused[2];  /* or that was refused */
mtype toGrant[2]; /* the answer that is to be sent */
bool eof[2];      /* the FIN has come */

/* What only the checks see. */
byte carried[2]; /* sum of Credits in the messages that an end has sent and that are on their way */
byte extra[2];   /* of those messages, the ones that use no credit */
bool placed[2];  /* bytes lie in memory granted by the peer, and it has not got the DONE */

#ifdef NEVER /* End 0 never reads. */
#define LAZY
#endif
#ifdef NOBODY /* Nobody reads. */
#define LAZY
#endif
/* A writer may wait for a reader that does not read: but only in a Write, not to tell that it has ended. */
#ifdef LAZY
#define blocked(where) end_##where
#else
#define blocked(where) at_##where
#endif

#ifdef OVERTAKES /* The next Write does not wait for the DONE of one whose time was over. */
#define mayBegin (!open[me] || off[me] > 0)
#else
#define mayBegin (!open[me])
#endif

#ifdef AGAIN /* OFFERs go on after a CANCEL. */
#define mayOffer true
#define firstAnswer skip
#else
#define firstAnswer assert(toGrant[me] == NONE)
#define mayOffer (off[me] == 0)
#endif

#ifdef TOGETHER /* UPDATEs and GRANTs are not counted apart. */
#define due (owed[me] >= threshold(me))
#else
#define due (owed[me] >= threshold(me) || owedControl[me] >= R)
#endif

/* The rule for memory: there is some for every message within the credits, so the engine takes whatever comes. */
#ifdef MEMORY /* Instead: once so many messages are unread, the next one of any kind waits, and what is behind it. */
#define comes (nempty(link[you]) && unread[me] < MEMORY)
#else
#ifdef DATA_WAITS /* Instead: only DATA waits, and what is behind it. */
#define comes (nempty(link[you]) && !(link[you]?[DATA,_] && unread[me] >= DATA_WAITS))
#else
#define comes nempty(link[you])
#endif
#endif

/* Every credit of x is somewhere: x has it, or the DATA it has begun, or it is on its way to the peer with a
 * message, or in a buffer there, or owed or kept back by the peer, or on its way back. */
#ifdef NO_MONITOR
#define conserved(x) skip
#else
#define conserved(x) assert(credits[x] + pending[x] + len(link[x]) - extra[x] + unread[1-x] + offered[1-x] + owed[1-x] + carried[1-x] == window(1-x))
#endif

#ifdef ANY_KEPT /* A credit may be kept back whatever message its buffer held. */
#define mayKeep(control) true
#else
#define mayKeep(control) (control == 0)
#endif

/* A buffer is free again, and its credit is owed, or kept back, or owed with one that was kept back. */
inline freed(control) {
#ifdef SHRINK
	if
	:: kept[me] < SHRINK && mayKeep(control) -> kept[me]++
	:: owed[me]++; owedControl[me] = owedControl[me] + control
	:: kept[me] > 0 -> kept[me]--; owed[me] = owed[me] + 2; owedControl[me] = owedControl[me] + control
	fi
#else
	owed[me]++;
	owedControl[me] = owedControl[me] + control
#endif
}

inline send(kind, cost) {
	/* Even if everything on its way arrives before anything is freed, there is a buffer for it. */
	assert(len(link[me]) - extra[me] + unread[you] + offered[you] < buffers(you) || cost == 0);
	printf("%d sends %e, Credits %d, keeps %d\n", me, kind, owed[me], credits[me] - cost);
	link[me]!kind,owed[me];
	carried[me] = carried[me] + owed[me];
#ifndef OWED_KEPT
	owed[me] = 0;
	owedControl[me] = 0;
#endif
	credits[me] = credits[me] - cost
}

/* send of a message that may have a buffer of its own: one of each kind in each direction. */
inline sendOnce(kind, needs) {
	if
	:: needs == 0 -> send(kind, 0); extra[me]++
	:: else -> send(kind, 1)
	fi
}

inline arrivedOnce(needs) {
	if
	:: needs == 0 -> extra[you]--
	:: else -> freed(0)
	fi
}

inline check() {
	conserved(me);
	conserved(you)
}

/* The writer decides what to send before it knows whether it may: a write that waits for credits
 * can't turn into another. It goes on without limit, and may end at any time: so wherever one end
 * is stuck for ever, there is also a run in which all others have ended. To begin a message is
 * progress; to wait for one is not. */
proctype writer(byte me) {
	bool patient; /* this write has no deadline */

progress_begins:
	do
	:: skip;
blocked(data):	d_step { pending[me] < maxPending && mayBegin && credits[me] >= DATA_NEEDS ->
#ifdef PENDING
			pending[me]++;
			credits[me]--;
#else
			send(DATA, 1);
#endif
			check()
		}
#ifndef NO_OFFER
	:: mayOffer;
blocked(offer):	d_step { pending[me] == 0 && !open[me] && credits[me] >= OFFER_NEEDS ->
			open[me] = true;
			send(OFFER, 1);
			check()
		};
		if
		:: patient = true
#ifdef CANCELS /* Only this end's writes have deadlines. */
		:: me == CANCELS -> patient = false
#else
#ifndef NO_CANCEL
		:: patient = false
#endif
#endif
		fi;
blocked(granted):	if /* The RDMA Write is at any time from the GRANT to the DONE. */
		:: d_step { answer[me] == GRANT -> closing[me] = DONE; placed[me] = true; patient = false }
#ifdef OVERTAKES
		:: d_step { answer[me] == GRANT && !patient -> off[me] = 2; closing[me] = DONE; placed[me] = true }
#endif
#ifdef REFUSE
		:: d_step { answer[me] == REFUSAL -> open[me] = false; answer[me] = NONE; patient = false;
				refused[you] = false /* No CANCEL comes. */
			}
#endif
		:: d_step { !patient -> off[me] = (answer[me] == NONE -> 1 : 2); closing[me] = CANCEL }
		fi
#endif
	:: closed[me] = true;
at_fin:		fin[me];
		break
	od
}

proctype reader(byte me) {
	do
	:: step { unread[me] > 0 -> unread[me]--; freed(0); check() }
	:: step { unread[me] == 0 && offered[me] -> offered[me] = false; freed(0);
			firstAnswer;
			granted[me] = true; refused[me] = false; toGrant[me] = GRANT; check()
		}
#ifdef REFUSE
	:: step { unread[me] == 0 && offered[me] -> offered[me] = false; freed(0);
			firstAnswer;
			refused[me] = true; toGrant[me] = REFUSAL; check()
		}
#endif
	:: unread[me] == 0 && eof[me] -> break
#ifdef LATE /* End 0 may put off reading until it has written everything. */
	:: me == 0 && !fin[me] -> fin[me]
#endif
	od
}

proctype engine(byte me) {
	mtype kind = NONE;
	byte c;

end_idle:
	do
	:: step { comes -> link[you]?kind,c;
			carried[you] = carried[you] - c;
			credits[me] = credits[me] + c;
			if
			:: kind == DATA || kind == LAST ->
				assert(!placed[you] && !eof[me]); /* or they are out of order */
				unread[me]++;
				eof[me] = (kind == LAST)
			:: kind == FIN ->
				assert(!placed[you] && !offered[me] && !eof[me]);
				eof[me] = true;
				arrivedOnce(FIN_NEEDS)
			:: kind == OFFER ->
				assert(!offered[me] && !granted[me] && !eof[me]);
				offered[me] = true
			:: kind == DONE ->
				assert(granted[me]); /* or the RDMA Write went to memory that was taken back */
				granted[me] = false;
				placed[you] = false;
				freed(0)
			:: kind == CANCEL ->
				if
				:: offered[me] -> offered[me] = false; freed(0); off[you] = 2 /* No answer comes. */
				:: !offered[me] && granted[me] -> granted[me] = false
				:: else -> assert(refused[me]); refused[me] = false
				fi;
				arrivedOnce(CANCEL_NEEDS)
			:: kind == GRANT || kind == REFUSAL ->
				if
				:: open[me] && answer[me] == NONE && closing[me] == NONE -> answer[me] = kind
				:: else ->
#ifndef AGAIN
					assert(off[me] == 1);
#endif
					off[me] = 2
				fi;
				freed(1)
			:: kind == UPDATE ->
				freed(1)
#ifdef REMOTE
			:: kind == READ ->
				extra[you]--;
				reply[me] = true
			:: kind == RESPONSE ->
				extra[you]--;
				asked[me] = false
#endif
			fi;
			kind = NONE; c = 0;
			check();
#ifdef LAZY
			assert(unread[me] + offered[me] <= buffers(me) - R)
#endif
		}
#ifdef JOIN /* Short data may be put behind other data, which frees its buffer at once. */
	:: step { unread[me] > 0 && link[you]?[DATA,c] ->
			link[you]?kind,c;
			carried[you] = carried[you] - c;
			credits[me] = credits[me] + c;
			freed(0);
			kind = NONE; c = 0;
			check()
		}
#endif
#ifdef REMOTE
	:: d_step { reply[me] -> reply[me] = false; link[me]!RESPONSE,0; extra[me]++; check() }
#endif
#ifdef PENDING
	:: d_step { pending[me] > 1 || pending[me] == 1 && !closed[me] -> pending[me]--; send(DATA, 0); check() }
	:: d_step { pending[me] == 1 && closed[me] -> pending[me] = 0; fin[me] = true; send(LAST, 0); check() }
#endif
	:: d_step { closing[me] == DONE && credits[me] >= DONE_NEEDS ->
			closing[me] = NONE; answer[me] = NONE; open[me] = false; send(DONE, 1); check()
		}
	:: d_step { closing[me] == CANCEL && credits[me] >= CANCEL_NEEDS ->
			closing[me] = NONE; answer[me] = NONE; open[me] = false; sendOnce(CANCEL, CANCEL_NEEDS); check()
		}
	:: d_step { toGrant[me] == GRANT && credits[me] >= GRANT_NEEDS -> toGrant[me] = NONE; send(GRANT, 1); check() }
#ifdef REFUSE
	:: d_step { toGrant[me] == REFUSAL && credits[me] >= GRANT_NEEDS -> toGrant[me] = NONE; send(REFUSAL, 1); check() }
#endif
	:: d_step { closed[me] && !fin[me] && !open[me] && pending[me] == 0 && credits[me] >= FIN_NEEDS ->
			fin[me] = true; sendOnce(FIN, FIN_NEEDS); check()
		}
#ifdef UPDATE_FREE
	:: d_step { due -> send(UPDATE, 0); check() }
#else
	:: d_step { due && credits[me] >= UPDATE_NEEDS -> send(UPDATE, 1); check() }
#endif
	od
}

#ifdef REMOTE /* which end it is */
/* The program of an end reads the other's memory, one RDMA Read after the other, until it has had enough. */
proctype remote(byte me) {
progress_asks:
	do
	:: d_step { !asked[me] -> asked[me] = true; link[me]!READ,0; extra[me]++; check() };
at_response:	!asked[me]
	:: break
	od
}
#endif

init {
	atomic {
		credits[0] = M; credits[1] = N;
		answer[0] = NONE; answer[1] = NONE; closing[0] = NONE; closing[1] = NONE; toGrant[0] = NONE; toGrant[1] = NONE;
		run engine(0); run engine(1);
		run writer(0); run writer(1);
#ifdef REMOTE
		run remote(REMOTE);
#endif
#ifndef NOBODY
#ifndef NEVER
		run reader(0);
#endif
		run reader(1)
#endif
	}
}
