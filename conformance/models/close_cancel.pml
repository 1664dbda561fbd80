/* Cancel, for close.pml, which includes this file. */

proctype canceller() {
	locals;
	byte p;
	bool abandons, deregisters;

	d_step {
		if
		:: head < tail -> p = head
		:: tail > head + 1 -> p = head + 1
		:: else -> p = W
		fi;
		if
		:: p < W && completed[p] -> p = W
		:: else
		fi;
		if
		:: p == W
		:: p < W && isRead[p] && !done[p] && progress[p] != QUEUED ->
			abandons = true;
#ifdef NO_COMPLETED
			undone++
#else
			completed[p] = true
#endif
		:: p < W && done[p] && progress[p] != GIVEN && !sink[p] -> complete(p); retire(); moveOn()
		:: p < W && progress[p] == QUEUED && (!done[p] || sink[p]) -> done[p] = true; deregisters = true
		:: else
		fi
	};
	if
	:: abandons ->
#ifndef NO_DISCARD
		d_step { !copying[p] -> discards[p] = true };
#endif
		d_step { completions[p]++; undone--; assert(completions[p] == 1); assert(!copying[p]) };
		d_step { retire(); moveOn() }
	:: deregisters ->
		if
		:: sink[p] -> d_step { !copying[p] -> gone[p] = true }
		:: else
		fi;
		d_step {
			sink[p] = false;
			if
			:: p >= head -> complete(p)
			:: else
			fi;
			retire();
			moveOn()
		}
	:: else
	fi;
	settle()
}
