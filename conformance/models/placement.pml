/*
 * Placement with duplicates and bytes that come early: one direction of a stream of L bytes, as mpa.Receiver,
 * ddp.Receiver and the driver take it. FPDUs are 1 or 2 bytes long, and each brings one byte of payload. What they are is
 * chosen each time they come, so a duplicate may differ from what came first. The README says what is checked,
 * and what each macro breaks.
 */

#ifndef L
#define L 4
#endif
#ifndef HINTS /* FPDUs that come early, at most */
#define HINTS 2
#endif

/* Where the payload of an FPDU goes: a cell of the Region; a cell of the receive buffer of a message, and whether that ends
 * there; or it is one that DDP refuses. */
#define none 0
#define tagged(k) (k == 1 || k == 2)
#define untagged(k) (k >= 3 && k <= 10)
#define refusable 11
#define msnOf(k) (1 + (k - 3) / 4)
#define atOf(k) (((k - 3) / 2) % 2)
#define lastOf(k) ((k - 3) % 2)
#define cellOf(k) (tagged(k) -> k - 1 : 2 * msnOf(k) + atOf(k)) /* 0, 1: the Region; 2 to 5: buffers of messages 1 and 2 */
#define forged 255 /* the mark of what has no valid CRC */

/* mpa.Receiver */
byte edge;     /* what is below has been passed */
byte arrived;  /* what is below has come in order */
byte size;     /* of the FPDU at the edge; 0: its length has not come */
byte shown[L]; /* by offset: size of an FPDU that was shown early and has not been passed */
bool over;     /* the stream has failed */

/* ddp.Receiver */
byte next;      /* segments below have been judged */
byte early[L];  /* by offset: where a segment goes that was placed early and has not been judged */
byte mark[L];   /* and what it brought */
byte msn = 1;   /* of the message that is coming */
byte filled;    /* bytes of it that have been judged */
byte ready[3];  /* by MSN: one more than the offset of the last segment of a message to be delivered */
byte length[3]; /* and its length */
bool refused;   /* a segment was wrong, and nothing behind it counts */
byte posted;    /* receive buffers */

byte memory[6];

/* What only the checks see. */
byte want[6];       /* memory, had all come in order */
byte delivered;     /* messages */
byte passed, judged; /* FPDUs below the edge */
byte marks;         /* each payload has one of its own */

byte i, k, m, off, hints; /* k: where the FPDU at hand goes; m: its mark; off: its offset */
bool good, accepts, again;
byte size2, hintsAt, kind2, mark2;

/* Receiver.place: judges a segment, and places its payload if it has not been */
inline judge(o, kind, what, payload) {
	next = o + 1;
	if
	:: refused
	:: else ->
		judged++;
		if
		:: kind == refusable || (untagged(kind) && (msnOf(kind) != msn || msn > posted || atOf(kind) != filled)) ->
			refused = true;
			assert(o < edge) /* not for a hint */
		:: else ->
			if
			:: payload ->
				i = o + 1;
				do
#ifndef NO_AROUND /* copyAround */
				:: i < L && !(tagged(kind) && early[i] == kind) -> i++
#else
				:: i < L -> i++
#endif
				:: else -> break
				od;
				if
				:: i == L -> memory[cellOf(kind)] = what
				:: else
				fi
			:: else
			fi;
			want[cellOf(kind)] = what;
			if
			:: untagged(kind) ->
				filled = atOf(kind) + 1;
				if
				:: lastOf(kind) -> ready[msn] = o + 1; length[msn] = filled; msn++; filled = 0
				:: else
				fi
			:: else
			fi
		fi
	fi
}

/* Receiver.placeEarly */
inline judgeEarly(end) {
	off = 0;
	do
	:: off < end ->
		if
		:: early[off] != none -> k = early[off]; m = mark[off]; early[off] = none; mark[off] = 0; judge(off, k, m, false)
		:: else
		fi;
		off++
	:: else -> break
	od
}

/* Receiver.Deliver, as often as it gives a message */
inline deliver() {
#ifdef NO_EDGE
	judgeEarly(L);
#else
	judgeEarly(edge);
#endif
	do
#ifdef NO_EDGE
	:: delivered < 2 && ready[delivered + 1] != 0 ->
#else
	:: delivered < 2 && ready[delivered + 1] != 0 && ready[delivered + 1] <= edge ->
#endif
		delivered++;
		assert(ready[delivered] <= edge)
	:: else -> break
	od;
	if
	:: refused -> over = true
	:: else
	fi
}

/* An FPDU is what it likes to be. */
inline anything() {
	marks++;
	m = marks;
	select(k : 1 .. 11)
}

inline check() {
	/* Each byte of the stream belongs to one FPDU, and each FPDU has been judged once. */
	assert(over || refused || passed == judged);
	/* Where nothing early is waiting memory is what it were without it; where something is, that. */
	i = 0;
	do
	:: i < 2 ->
		off = 0;
		do
		:: off < L && early[off] != i + 1 -> off++
		:: else -> break
		od;
		assert(memory[i] != forged);
		assert(refused || memory[i] == (off < L -> mark[off] : want[i]));
		i++
	:: else -> break
	od;
	/* What is delivered is placed, and stays. */
	i = 0;
	do
	:: i < 4 ->
		assert(delivered <= i / 2 || i % 2 >= length[1 + i / 2] || memory[2 + i] == want[2 + i]);
		i++
	:: else -> break
	od;
	i = 0; k = 0; m = 0; off = 0; good = false; accepts = false; again = false
}

/* Receiver.TryPlace of k at off */
inline tryPlace() {
	accepts = !refused && off >= next;
	if
#ifdef TWICE
	:: false
#else
	:: accepts && early[off] != none -> again = true /* The bytes that came first stay. */
#endif
	:: else ->
		if
		:: k == refusable ->
			accepts = false;
#ifdef HINT_COUNTS
			if
			:: !refused -> refused = true; assert(off < edge)
			:: else
			fi
#endif
#ifndef NO_AHEAD
		:: untagged(k) && (msnOf(k) < msn || (msnOf(k) == msn && atOf(k) < filled)) -> accepts = false
#endif
		:: untagged(k) && msnOf(k) > posted -> accepts = false
		:: else
		fi;
		i = 0;
		do
#ifdef NO_OVERLAPS
		:: false
#else
		:: i < L && early[i] != none && cellOf(early[i]) == cellOf(k) -> accepts = false; i++
#endif
		:: i < L && (early[i] == none || cellOf(early[i]) != cellOf(k)) -> i++
#ifdef NO_OVERLAPS
		:: i < L && early[i] != none && cellOf(early[i]) == cellOf(k) -> i++
#endif
		:: i == L -> break
		od;
		if
		:: accepts -> memory[cellOf(k)] = m; early[off] = k; mark[off] = m
		:: else
		fi
	fi
}

/* A run behind a gap: Receiver.nextEarly, and what the driver does with what that shows. */
inline hint() {
	select(off : 1 .. L - 1);
	if :: size2 = 1 :: off < L - 1 -> size2 = 2 fi;
	if :: good = true :: good = false fi;
	anything();
	if
	:: off <= arrived -> good = false
#ifndef TWICE
	:: off > arrived && shown[off] != 0 -> good = false
#endif
	:: else
#ifdef NO_VERIFY
		-> if :: !good -> m = forged; good = true :: else fi
#endif
	fi;
#ifndef NO_REMEMBER
	i = 0;
	do /* Another that overlaps */
	:: i < L && shown[i] != 0 && i != off && i < off + size2 && off < i + shown[i] -> good = false; i++
	:: i < L && !(shown[i] != 0 && i != off && i < off + size2 && off < i + shown[i]) -> i++
	:: i == L -> break
	od;
#endif
	if
	:: good ->
		tryPlace();
		if
		:: accepts -> shown[off] = size2
#ifdef NO_UNREAD
		:: !accepts -> shown[off] = size2
#endif
		:: else
		fi
	:: else
	fi;
	size2 = 0;
	deliver()
}

/* Bytes in order: Receiver.nextInOrder, as long as there is one, and what the driver does with it. */
inline inOrder() {
	do
	:: over || edge == arrived -> break
#ifndef SHOWN_AGAIN
	:: !over && edge < arrived && shown[edge] != 0 -> /* stepOver */
		if
		:: shown[edge] > arrived - edge -> break
		:: else -> i = shown[edge]; shown[edge] = 0; edge = edge + i; passed++; deliver()
		fi
	:: !over && edge < arrived && shown[edge] == 0 ->
#else
	:: !over && edge < arrived ->
#endif
		if
		:: size == 0 ->
			if :: size = 1 :: edge < L - 1 -> size = 2 fi
		:: else
		fi;
		if
		:: size > arrived - edge -> break
		:: else
		fi;
		if :: good = true :: good = false fi;
		anything();
#ifdef NO_VERIFY
		if :: !good -> m = forged; good = true :: else fi;
#endif
#ifndef INSIDE
		if
		:: size == 2 && shown[edge + 1] != 0 -> good = false /* startsBefore */
		:: else
		fi;
#endif
		if
		:: !good -> over = true
		:: else ->
			assert(size == 1 || shown[edge + 1] == 0);
			hintsAt = edge;
			kind2 = k; mark2 = m;
			edge = edge + size; size = 0; passed++;
			if /* A buffer is bound when a message begins. */
			:: untagged(k) && atOf(k) == 0 && posted < 2 && posted < msnOf(k) -> posted++
			:: else
			fi;
			judgeEarly(hintsAt + 1); /* Place */
			if
#ifndef JUDGED_AGAIN
			:: hintsAt < next
#endif
			:: else -> judge(hintsAt, kind2, mark2, true)
			fi;
			kind2 = 0; mark2 = 0; hintsAt = 0;
			deliver()
		fi
	od
}



active proctype receiver() {
end:	do
	:: atomic { !over && arrived < L -> arrived++; inOrder(); check() }
	:: atomic { !over && hints < HINTS -> hints++; hint(); check() }
	:: atomic { !over && posted < 2 -> posted++ }
	:: over || arrived == L -> break
	od;
	assert(over || (edge == L && passed == judged) || size > 0)
}
