/*
 * The pipeline of an offload engine, as conformance/lab/pipeline has it: the threads SDMA and SEND move packets from host memory
 * through the engine's memory to the link, RECV and RDMA move packets from the link to host memory, and a two-level queue
 * has the descriptors of what is to be sent. A packet is 1 to FRAGMENTS fragments. The README says what is
 * checked, and what each macro breaks.
 */

#ifndef SENDS /* packets that the host posts */
#define SENDS 2
#endif
#ifndef RECVS /* packets that come from the link */
#define RECVS 2
#endif
#ifndef FRAGMENTS
#define FRAGMENTS 3
#endif
#ifndef HOST /* depths of the two queues */
#define HOST 2
#endif
#ifndef ENGINE
#define ENGINE 1
#endif
#define PACKETS 3 /* at least SENDS and RECVS */

mtype = { Idle, CoarseGrained, FineGrained, FineGrainedDone, LastFragment }; /* pipeline.State */

/* The threads. SDMA and RDMA use the host DMA. */
#define SDMA 0
#define SEND 1
#define RECV 2
#define RDMA 3
mtype state[4];

/* The packets of each direction; outbound is 0. */
#define out 0
#define in 1
typedef direction {
	byte count[PACKETS];   /* fragments; 0: the packet has not begun */
	byte arrived[PACKETS]; /* fragments that the first thread has put into the engine's memory */
	byte passed[PACKETS];  /* and those that the second one has taken from there */
	byte first;            /* the packet of the first thread */
	byte second;           /* and of the second one */
	byte left              /* fragments of the second thread's transfer that have not passed */
};
direction d[2];

bool dma;          /* the host DMA is in use */
bool port;         /* with SERIAL, the engine's memory is */
byte hostQueue;    /* descriptors */
byte engineQueue;
byte taken;        /* of these, the ones that SDMA has begun */
byte posted;
byte completed;

#ifdef BUS /* Time: a fragment takes so many ticks on the bus, and LINK on the link, which may not pause within a packet. */
#ifndef LINK
#define LINK 1
#endif
byte busLeft, linkLeft;
#ifndef THRESHOLD /* Params.MinThreshold for a packet of n fragments */
#define least(n) (n - ((n - 1) * LINK) / BUS)
#define threshold(n) (least(n) > 1 -> least(n) : 1)
#else
#define threshold(n) (n < THRESHOLD -> n : THRESHOLD)
#endif
#else
#ifdef STORE_AND_FORWARD
#define threshold(n) n
#else
#define threshold(n) 1
#endif
#endif

/* What is under way. Formulas 1 to 3 ask what can be, and formula 4 says what cannot. */
#define sdma (state[SDMA] == CoarseGrained)
#define coarseSend (state[SEND] == CoarseGrained)
#define fineSend (state[SEND] == FineGrained || state[SEND] == LastFragment)
#define recv (state[RECV] == CoarseGrained)
#define coarseRdma (state[RDMA] == CoarseGrained)
#define fineRdma (state[RDMA] == FineGrained || state[RDMA] == LastFragment)

#ifdef FORMULA1 /* spin finds a run that breaks it: SEND sends while SDMA uses the host DMA */
ltl formula1 { [] !(sdma && (coarseSend || fineSend)) }
#endif
#ifdef FORMULA1_ONE_PACKET /* and one where both work on the same packet */
ltl formula1a { [] !(sdma && fineSend && d[out].first == d[out].second) }
#endif
#ifdef FORMULA2 /* RECV receives while RDMA uses the host DMA */
ltl formula2 { [] !((coarseRdma || fineRdma) && recv) }
#endif
#ifdef FORMULA2_ONE_PACKET
ltl formula2a { [] !(fineRdma && recv && d[in].first == d[in].second) }
#endif
#ifdef FORMULA3 /* SEND sends while RECV receives */
ltl formula3 { [] !((coarseSend || fineSend) && recv) }
#endif
#ifdef FORMULA4 /* no run breaks it: SDMA and RDMA never use the host DMA at once */
ltl formula4 { [] !(sdma && (coarseRdma || fineRdma)) }
#endif

#ifdef NO_DMA_LOCK
#define acquire skip
#define free true
#else
#define acquire dma = true
#define free (!dma)
#endif

#ifdef SERIAL /* One DMA at a time, as if the engine's memory had one port. */
#define portFree (!port)
#define takePort port = true
#define leavePort port = false
#else
#define portFree true
#define takePort skip
#define leavePort skip
#endif

/* The host: Queue.Post */
proctype host() {
	do
	:: posted == SENDS -> break
	:: d_step { posted < SENDS && engineQueue < ENGINE -> engineQueue++; posted++; assert(hostQueue == 0) }
	:: d_step { posted < SENDS && engineQueue == ENGINE && hostQueue < HOST -> hostQueue++; posted++ }
	od
}

/* Queue.Complete: all of the packet must have left. */
inline complete(p) {
#ifdef COMPLETE_EARLY
	skip
#else
	assert(d[out].count[p] > 0 && d[out].passed[p] == d[out].count[p]);
	engineQueue--;
	taken--;
	completed++;
#ifndef NO_REFILL
	if
	:: hostQueue > 0 -> hostQueue--; engineQueue++
	:: else
	fi;
	assert(hostQueue == 0 || engineQueue == ENGINE)
#endif
#endif
}

/* A descriptor that is completed when the transfer begins: the program may change the data before they have left. */
inline completeEarly(p) {
#ifdef COMPLETE_EARLY
	assert(d[out].passed[p] == d[out].count[p]);
#endif
	skip
}

proctype Sdma() {
	byte n;

end:	do
	:: atomic { engineQueue > taken && free && portFree ->
			taken++;
			acquire; takePort;
			select(n : 1 .. FRAGMENTS);
			d[out].count[d[out].first] = n; n = 0;
			state[SDMA] = CoarseGrained
#ifdef BUS
			; busLeft = BUS
#endif
		}
#ifdef BUS
	:: d_step { sdma && busLeft == 0 -> busLeft = BUS;
#else
	:: d_step { sdma ->
#endif
			d[out].arrived[d[out].first]++;
			if
			:: d[out].arrived[d[out].first] == d[out].count[d[out].first] ->
				d[out].first++; state[SDMA] = Idle; dma = false; leavePort
			:: else
			fi
		}
	od
}

#define at(x) d[x].second
#define total(x) d[x].count[at(x)]
#define here(x) d[x].arrived[at(x)]
#define gone(x) d[x].passed[at(x)]

/* thread.next: a transfer begins. It is of what has arrived; a link without pauses takes the whole packet. */
inline begin(x, t, gapless) {
	if
	:: state[t] == Idle && here(x) == total(x) -> state[t] = CoarseGrained
	:: state[t] == Idle && here(x) < total(x) -> state[t] = FineGrained
	:: state[t] == FineGrainedDone && here(x) == total(x) -> state[t] = LastFragment
	:: state[t] == FineGrainedDone && here(x) < total(x) -> state[t] = FineGrained
	fi;
	d[x].left = (gapless -> total(x) : here(x)) - gone(x)
}

#define ready(x, t) (at(x) < PACKETS && total(x) > 0 && d[x].left == 0 && \
	((state[t] == Idle && here(x) >= threshold(total(x))) || (state[t] == FineGrainedDone && here(x) > gone(x))))

/* Sim.passed: a fragment has passed. Only what has arrived can. */
inline pass(x) {
	assert(here(x) > gone(x));
	d[x].passed[at(x)]++;
	d[x].left--
}

/* and the transfer may be over with it. */
inline finish(x, t) {
	if
	:: gone(x) == total(x) -> state[t] = Idle
	:: else -> state[t] = FineGrainedDone
	fi
}

proctype Send() {
end:	do
#ifdef BUS
	:: d_step { ready(out, SEND) -> begin(out, SEND, true); linkLeft = LINK; assert(here(out) > gone(out)) }
	/* A fragment that arrives in the last moment is in time. */
	:: d_step { d[out].left > 0 && linkLeft == 0 && !(sdma && busLeft == 0) ->
			pass(out);
			linkLeft = LINK;
			if
			:: d[out].left > 0 -> assert(here(out) > gone(out)) /* or the link underruns */
			:: else -> finish(out, SEND); complete(at(out)); at(out)++
			fi
		}
#else
	:: d_step { ready(out, SEND) && portFree -> takePort;
#ifdef AHEAD /* A transfer of the whole packet begins although only a part of it has arrived. */
			begin(out, SEND, true)
#else
			begin(out, SEND, false)
#endif
			; completeEarly(at(out))
		}
	:: d_step { d[out].left > 0 ->
			pass(out);
			if
			:: d[out].left == 0 ->
				finish(out, SEND); leavePort;
				if
				:: state[SEND] == Idle -> complete(at(out)); at(out)++
				:: else
				fi
			:: else
			fi
		}
#endif
	od
}

#ifdef BUS /* All that is due comes before time goes on. */
proctype clock() {
end:	do
	:: d_step { (sdma || d[out].left > 0) && !(sdma && busLeft == 0) && !(d[out].left > 0 && linkLeft == 0) && !ready(out, SEND) ->
			if :: sdma -> busLeft-- :: else fi;
			if :: d[out].left > 0 -> linkLeft-- :: else fi
		}
	od
}
#else
proctype Recv() {
	byte n;

end:	do
	:: atomic { state[RECV] == Idle && d[in].first < RECVS && portFree ->
			takePort;
			select(n : 1 .. FRAGMENTS);
			d[in].count[d[in].first] = n; n = 0;
			state[RECV] = CoarseGrained
		}
	:: d_step { recv ->
			d[in].arrived[d[in].first]++;
			if
			:: d[in].arrived[d[in].first] == d[in].count[d[in].first] -> d[in].first++; state[RECV] = Idle; leavePort
			:: else
			fi
		}
	od
}

proctype Rdma() {
end:	do
	:: d_step { ready(in, RDMA) && free && portFree -> acquire; takePort; begin(in, RDMA, false) }
	:: d_step { d[in].left > 0 ->
			pass(in);
			if
			:: d[in].left == 0 ->
				finish(in, RDMA); dma = false; leavePort;
				if
				:: state[RDMA] == Idle -> at(in)++
				:: else
				fi
			:: else
			fi
		}
	od
}
#endif

init {
	atomic {
		state[SDMA] = Idle; state[SEND] = Idle; state[RECV] = Idle; state[RDMA] = Idle;
		run host(); run Sdma(); run Send();
#ifdef BUS
		run clock()
#else
		run Recv(); run Rdma()
#endif
	};
	timeout;
	/* All that was posted has been sent, and all that came is in host memory. */
	assert(posted == SENDS && completed == SENDS && hostQueue == 0 && engineQueue == 0);
	assert(at(out) == SENDS && !dma);
#ifndef BUS
	assert(at(in) == RECVS)
#endif
}
