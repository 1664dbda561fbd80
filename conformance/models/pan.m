#define rand	pan_rand
#define pthread_equal(a,b)	((a)==(b))
#if defined(HAS_CODE) && defined(VERBOSE)
	#ifdef BFS_PAR
		bfs_printf("Pr: %d Tr: %d\n", II, t->forw);
	#else
		cpu_printf("Pr: %d Tr: %d\n", II, t->forw);
	#endif
#endif
	switch (t->forw) {
	default: Uerror("bad forward move");
	case 0:	/* if without executable clauses */
		continue;
	case 1: /* generic 'goto' or 'skip' */
		IfNotBlocked
		_m = 3; goto P999;
	case 2: /* generic 'else' */
		IfNotBlocked
		if (trpt->o_pm&1) continue;
		_m = 3; goto P999;

		 /* PROC :init: */
	case 3: // STATE 1 - /tmp/w/models/conformance/models/close.pml:717 - [state = RTS] (0:8:2 - 1)
		IfNotBlocked
		reached[4][1] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = now.state;
		now.state = 9;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		/* merge: good = 1(8, 2, 8) */
		reached[4][2] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.good);
		now.good = 1;
#ifdef VAR_RANGES
		logval("good", ((int)now.good));
#endif
		;
		/* merge: .(goto)(0, 9, 8) */
		reached[4][9] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 4: // STATE 3 - /tmp/w/models/conformance/models/close.pml:728 - [((k<1))] (0:0:0 - 1)
		IfNotBlocked
		reached[4][3] = 1;
		if (!((((int)((P4 *)_this)->k)<1)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 5: // STATE 4 - /tmp/w/models/conformance/models/close.pml:728 - [(run poster(0))] (0:0:0 - 1)
		IfNotBlocked
		reached[4][4] = 1;
		if (!(addproc(II, 1, 1, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 6: // STATE 5 - /tmp/w/models/conformance/models/close.pml:728 - [k = (k+1)] (0:0:1 - 1)
		IfNotBlocked
		reached[4][5] = 1;
		(trpt+1)->bup.oval = ((int)((P4 *)_this)->k);
		((P4 *)_this)->k = (((int)((P4 *)_this)->k)+1);
#ifdef VAR_RANGES
		logval(":init::k", ((int)((P4 *)_this)->k));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 7: // STATE 11 - /tmp/w/models/conformance/models/close.pml:732 - [((k<(1+1)))] (0:0:0 - 1)
		IfNotBlocked
		reached[4][11] = 1;
		if (!((((int)((P4 *)_this)->k)<(1+1))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 8: // STATE 12 - /tmp/w/models/conformance/models/close.pml:732 - [(run poster(1))] (0:0:0 - 1)
		IfNotBlocked
		reached[4][12] = 1;
		if (!(addproc(II, 1, 1, 1)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 9: // STATE 13 - /tmp/w/models/conformance/models/close.pml:732 - [k = (k+1)] (0:0:1 - 1)
		IfNotBlocked
		reached[4][13] = 1;
		(trpt+1)->bup.oval = ((int)((P4 *)_this)->k);
		((P4 *)_this)->k = (((int)((P4 *)_this)->k)+1);
#ifdef VAR_RANGES
		logval(":init::k", ((int)((P4 *)_this)->k));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 10: // STATE 19 - /tmp/w/models/conformance/models/close.pml:735 - [k = 0] (0:20:1 - 3)
		IfNotBlocked
		reached[4][19] = 1;
		(trpt+1)->bup.oval = ((int)((P4 *)_this)->k);
		((P4 *)_this)->k = 0;
#ifdef VAR_RANGES
		logval(":init::k", ((int)((P4 *)_this)->k));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 11: // STATE 20 - /tmp/w/models/conformance/models/close.pml:742 - [(run receiver())] (0:0:0 - 1)
		IfNotBlocked
		reached[4][20] = 1;
		if (!(addproc(II, 1, 3, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 12: // STATE 21 - /tmp/w/models/conformance/models/close.pml:743 - [(run closer())] (0:0:0 - 1)
		IfNotBlocked
		reached[4][21] = 1;
		if (!(addproc(II, 1, 2, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 13: // STATE 23 - /tmp/w/models/conformance/models/close.pml:745 - [((_nr_pr==1))] (0:0:0 - 1)
		IfNotBlocked
		reached[4][23] = 1;
		if (!((((int)now._nr_pr)==1)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 14: // STATE 24 - /tmp/w/models/conformance/models/close.pml:746 - [assert((((undone==0)&&!(token))&&!(left)))] (0:0:0 - 1)
		IfNotBlocked
		reached[4][24] = 1;
		spin_assert((((((int)now.undone)==0)&& !(((int)now.token)))&& !(((int)now.left))), "(((undone==0)&& !(token))&& !(left))", II, tt, t);
		_m = 3; goto P999; /* 0 */
	case 15: // STATE 25 - /tmp/w/models/conformance/models/close.pml:747 - [-end-] (0:0:0 - 1)
		IfNotBlocked
		reached[4][25] = 1;
		if (!delproc(1, II)) continue;
		_m = 3; goto P999; /* 0 */

		 /* PROC receiver */
	case 16: // STATE 1 - /tmp/w/models/conformance/models/close.pml:594 - [(over)] (3164:0:2 - 1)
		IfNotBlocked
		reached[3][1] = 1;
		if (!(((int)((P3 *)_this)->over)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: over */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->over;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->over = 0;
		/* merge: goto :b143(3164, 2, 3164) */
		reached[3][2] = 1;
		;
		/* merge: over = 0(3164, 1087, 3164) */
		reached[3][1087] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->over);
		((P3 *)_this)->over = 0;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		_m = 3; goto P999; /* 2 */
	case 17: // STATE 3 - /tmp/w/models/conformance/models/close.pml:595 - [(((!(over)&&!(good))&&(events>0)))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3] = 1;
		if (!((( !(((int)((P3 *)_this)->over))&& !(((int)now.good)))&&(((int)now.events)>0))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: over */  (trpt+1)->bup.oval = ((P3 *)_this)->over;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->over = 0;
		_m = 3; goto P999; /* 0 */
	case 18: // STATE 4 - /tmp/w/models/conformance/models/close.pml:595 - [events = (events-1)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][4] = 1;
		(trpt+1)->bup.oval = ((int)now.events);
		now.events = (((int)now.events)-1);
#ifdef VAR_RANGES
		logval("events", ((int)now.events));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 19: // STATE 5 - /tmp/w/models/conformance/models/close.pml:595 - [why = END] (0:1084:2 - 1)
		IfNotBlocked
		reached[3][5] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->why;
		((P3 *)_this)->why = 3;
#ifdef VAR_RANGES
		logval("receiver:why", ((P3 *)_this)->why);
#endif
		;
		/* merge: over = 1(1084, 6, 1084) */
		reached[3][6] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->over);
		((P3 *)_this)->over = 1;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		/* merge: .(goto)(0, 1085, 1084) */
		reached[3][1085] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 20: // STATE 7 - /tmp/w/models/conformance/models/close.pml:596 - [(((!(over)&&!(good))&&(events>0)))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][7] = 1;
		if (!((( !(((int)((P3 *)_this)->over))&& !(((int)now.good)))&&(((int)now.events)>0))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: over */  (trpt+1)->bup.oval = ((P3 *)_this)->over;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->over = 0;
		_m = 3; goto P999; /* 0 */
	case 21: // STATE 8 - /tmp/w/models/conformance/models/close.pml:596 - [events = (events-1)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][8] = 1;
		(trpt+1)->bup.oval = ((int)now.events);
		now.events = (((int)now.events)-1);
#ifdef VAR_RANGES
		logval("events", ((int)now.events));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 22: // STATE 25 - /tmp/w/models/conformance/models/close.pml:260 - [D_STEP260]
		if (!(((boq == -1 && (((now.state==9)||(now.state==8))&& !(((int)now.peerClosed))))) || (boq == -1 /* else */)))
			continue;

		reached[3][25] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2878_0: /* 2 */
S_2864_0: /* 2 */
		if (!((((now.state==9)||(now.state==8))&& !(((int)now.peerClosed)))))
			goto S_2878_1;
S_2865_0: /* 2 */
		now.state = 7;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_2875_0: /* 2 */
S_2866_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_2873_0: /* 2 */
S_2872_0: /* 2 */
S_2867_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_2872_1;
S_2868_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_2869_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_2873_0; /* ';' */
S_2872_1: /* 3 */
S_2870_0: /* 2 */
		/* else */;
S_2871_0: /* 2 */
		goto S_2876_0;	/* 'goto' */
S_2872_2: /* 3 */
		Uerror("blocking sel in d_step (nr.0, near line 120)");
S_2874_0: /* 2 */
		goto S_2876_0;	/* 'break' */
		goto S_2876_0;
S_2876_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_2879_0;
S_2878_1: /* 3 */
S_2877_0: /* 2 */
		/* else */;
		goto S_2879_0;
S_2878_2: /* 3 */
		Uerror("blocking sel in d_step (nr.1, near line 261)");
S_2879_0: /* 2 */
		goto S_2941_0;
S_2941_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 23: // STATE 26 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][26] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 24: // STATE 69 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][69] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2882_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_2888_0: /* 2 */
S_2887_0: /* 2 */
S_2883_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_2887_1;
S_2884_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_2888_0; /* ';' */
S_2887_1: /* 3 */
S_2885_0: /* 2 */
		/* else */;
S_2886_0: /* 2 */
		goto S_2922_0;	/* 'goto' */
S_2887_2: /* 3 */
		Uerror("blocking sel in d_step (nr.2, near line 174)");
S_2889_0: /* 2 */
		goto S_2922_0;	/* 'break' */
S_2922_0: /* 2 */
S_2890_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_2922_1;
S_2891_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_2892_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_2920_0: /* 2 */
S_2918_0: /* 2 */
S_2917_0: /* 2 */
S_2893_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_2917_1;
S_2902_0: /* 2 */
S_2900_0: /* 2 */
S_2894_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_2900_1;
S_2895_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_2896_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_2897_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_2898_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_2901_0;
S_2900_1: /* 3 */
S_2899_0: /* 2 */
		/* else */;
		goto S_2901_0;
S_2900_2: /* 3 */
		Uerror("blocking sel in d_step (nr.3, near line 81)");
S_2901_0: /* 2 */
		goto S_2903_0;
S_2903_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_2904_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_2908_0: /* 2 */
S_2905_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_2908_1;
S_2906_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2909_0;
S_2908_1: /* 3 */
S_2907_0: /* 2 */
		/* else */;
		goto S_2909_0;
S_2908_2: /* 3 */
		Uerror("blocking sel in d_step (nr.4, near line 105)");
S_2909_0: /* 2 */
S_2913_0: /* 2 */
S_2910_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_2913_1;
S_2911_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2914_0;
S_2913_1: /* 3 */
S_2912_0: /* 2 */
		/* else */;
		goto S_2914_0;
S_2913_2: /* 3 */
		Uerror("blocking sel in d_step (nr.5, near line 106)");
S_2914_0: /* 2 */
		goto S_2918_0; /* '.' */
		goto S_2918_0; /* ';' */
S_2917_1: /* 3 */
S_2915_0: /* 2 */
		/* else */;
S_2916_0: /* 2 */
		goto S_2919_0;	/* 'goto' */
S_2917_2: /* 3 */
		Uerror("blocking sel in d_step (nr.6, near line 92)");
S_2919_0: /* 2 */
		goto S_2923_0;	/* 'break' */
S_2922_1: /* 3 */
S_2921_0: /* 2 */
		/* else */;
		goto S_2923_0;
S_2922_2: /* 3 */
		Uerror("blocking sel in d_step (nr.7, near line 181)");
S_2923_0: /* 2 */
		goto S_2933_0;
S_2933_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 25: // STATE 70 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][70] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 26: // STATE 73 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][73] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2926_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_2927_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_2931_0;
S_2931_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 27: // STATE 76 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][76] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2929_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_2930_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_2934_0;
S_2934_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 28: // STATE 85 - /tmp/w/models/conformance/models/close.pml:195 - [(1)] (1084:0:1 - 3)
		IfNotBlocked
		reached[3][85] = 1;
		if (!(1))
			continue;
		/* merge: over = 1(0, 88, 1084) */
		reached[3][88] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->over);
		((P3 *)_this)->over = 1;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		/* merge: .(goto)(0, 1085, 1084) */
		reached[3][1085] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 29: // STATE 89 - /tmp/w/models/conformance/models/close.pml:597 - [(((!(over)&&!(good))&&(events>0)))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][89] = 1;
		if (!((( !(((int)((P3 *)_this)->over))&& !(((int)now.good)))&&(((int)now.events)>0))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: over */  (trpt+1)->bup.oval = ((P3 *)_this)->over;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->over = 0;
		_m = 3; goto P999; /* 0 */
	case 30: // STATE 90 - /tmp/w/models/conformance/models/close.pml:597 - [events = (events-1)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][90] = 1;
		(trpt+1)->bup.oval = ((int)now.events);
		now.events = (((int)now.events)-1);
#ifdef VAR_RANGES
		logval("events", ((int)now.events));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 31: // STATE 141 - /tmp/w/models/conformance/models/close.pml:249 - [D_STEP249]
		if (!(((boq == -1 && ((now.state==7)||(now.state==6)))) || ((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][141] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2994_0: /* 2 */
S_2946_0: /* 2 */
		if (!(((now.state==7)||(now.state==6))))
			goto S_2994_1;
		goto S_2995_0;
S_2994_1: /* 3 */
S_2947_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_2994_2;
S_2948_0: /* 2 */
		now.state = 7;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_2949_0: /* 2 */
		now.terminate = 1;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_2963_0: /* 2 */
S_2950_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_2961_0: /* 2 */
S_2960_0: /* 2 */
S_2951_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_2960_1;
S_2955_0: /* 2 */
S_2952_0: /* 2 */
		if (!((((int)now.isRead[ Index(((int)((P3 *)_this)->i), 2) ])||(1&&(now.progress[ Index(((int)((P3 *)_this)->i), 2) ]==13)))))
			goto S_2955_1;
S_2953_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_2956_0;
S_2955_1: /* 3 */
S_2954_0: /* 2 */
		/* else */;
		goto S_2956_0;
S_2955_2: /* 3 */
		Uerror("blocking sel in d_step (nr.8, near line 130)");
S_2956_0: /* 2 */
S_2957_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_2961_0; /* ';' */
S_2960_1: /* 3 */
S_2958_0: /* 2 */
		/* else */;
S_2959_0: /* 2 */
		goto S_2964_0;	/* 'goto' */
S_2960_2: /* 3 */
		Uerror("blocking sel in d_step (nr.9, near line 128)");
S_2962_0: /* 2 */
		goto S_2964_0;	/* 'break' */
		goto S_2964_0;
S_2964_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_2995_0;
S_2994_2: /* 3 */
S_2965_0: /* 2 */
		/* else */;
S_2993_0: /* 2 */
S_2966_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_2967_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_2968_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_2969_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_2979_0: /* 2 */
S_2970_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_2977_0: /* 2 */
S_2976_0: /* 2 */
S_2971_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_2976_1;
S_2972_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_2973_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_2977_0; /* ';' */
S_2976_1: /* 3 */
S_2974_0: /* 2 */
		/* else */;
S_2975_0: /* 2 */
		goto S_2989_0;	/* 'goto' */
S_2976_2: /* 3 */
		Uerror("blocking sel in d_step (nr.10, near line 120)");
S_2978_0: /* 2 */
		goto S_2989_0;	/* 'break' */
		goto S_2990_0;
S_2990_0: /* 2 */
S_2989_0: /* 2 */
S_2980_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_2989_1;
S_2984_0: /* 2 */
S_2981_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_2984_1;
S_2982_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_2985_0;
S_2984_1: /* 3 */
S_2983_0: /* 2 */
		/* else */;
		goto S_2985_0;
S_2984_2: /* 3 */
		Uerror("blocking sel in d_step (nr.11, near line 145)");
S_2985_0: /* 2 */
S_2986_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2990_0; /* ';' */
S_2989_1: /* 3 */
S_2987_0: /* 2 */
		/* else */;
S_2988_0: /* 2 */
		goto S_2992_0;	/* 'goto' */
S_2989_2: /* 3 */
		Uerror("blocking sel in d_step (nr.12, near line 143)");
S_2991_0: /* 2 */
		goto S_2992_0;	/* 'break' */
S_2992_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_2995_0;
		goto S_2995_0;
S_2994_3: /* 3 */
		Uerror("blocking sel in d_step (nr.13, near line 250)");
S_2995_0: /* 2 */
		goto S_3057_0;
S_3057_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 32: // STATE 142 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][142] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 33: // STATE 185 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][185] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2998_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3004_0: /* 2 */
S_3003_0: /* 2 */
S_2999_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_3003_1;
S_3000_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3004_0; /* ';' */
S_3003_1: /* 3 */
S_3001_0: /* 2 */
		/* else */;
S_3002_0: /* 2 */
		goto S_3038_0;	/* 'goto' */
S_3003_2: /* 3 */
		Uerror("blocking sel in d_step (nr.14, near line 174)");
S_3005_0: /* 2 */
		goto S_3038_0;	/* 'break' */
S_3038_0: /* 2 */
S_3006_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_3038_1;
S_3007_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_3008_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3036_0: /* 2 */
S_3034_0: /* 2 */
S_3033_0: /* 2 */
S_3009_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_3033_1;
S_3018_0: /* 2 */
S_3016_0: /* 2 */
S_3010_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_3016_1;
S_3011_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_3012_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_3013_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_3014_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_3017_0;
S_3016_1: /* 3 */
S_3015_0: /* 2 */
		/* else */;
		goto S_3017_0;
S_3016_2: /* 3 */
		Uerror("blocking sel in d_step (nr.15, near line 81)");
S_3017_0: /* 2 */
		goto S_3019_0;
S_3019_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_3020_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_3024_0: /* 2 */
S_3021_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_3024_1;
S_3022_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3025_0;
S_3024_1: /* 3 */
S_3023_0: /* 2 */
		/* else */;
		goto S_3025_0;
S_3024_2: /* 3 */
		Uerror("blocking sel in d_step (nr.16, near line 105)");
S_3025_0: /* 2 */
S_3029_0: /* 2 */
S_3026_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_3029_1;
S_3027_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3030_0;
S_3029_1: /* 3 */
S_3028_0: /* 2 */
		/* else */;
		goto S_3030_0;
S_3029_2: /* 3 */
		Uerror("blocking sel in d_step (nr.17, near line 106)");
S_3030_0: /* 2 */
		goto S_3034_0; /* '.' */
		goto S_3034_0; /* ';' */
S_3033_1: /* 3 */
S_3031_0: /* 2 */
		/* else */;
S_3032_0: /* 2 */
		goto S_3035_0;	/* 'goto' */
S_3033_2: /* 3 */
		Uerror("blocking sel in d_step (nr.18, near line 92)");
S_3035_0: /* 2 */
		goto S_3039_0;	/* 'break' */
S_3038_1: /* 3 */
S_3037_0: /* 2 */
		/* else */;
		goto S_3039_0;
S_3038_2: /* 3 */
		Uerror("blocking sel in d_step (nr.19, near line 181)");
S_3039_0: /* 2 */
		goto S_3049_0;
S_3049_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 34: // STATE 186 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][186] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 35: // STATE 189 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][189] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3042_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_3043_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_3047_0;
S_3047_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 36: // STATE 192 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][192] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3045_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3046_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3050_0;
S_3050_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 37: // STATE 201 - /tmp/w/models/conformance/models/close.pml:195 - [(1)] (1084:0:1 - 3)
		IfNotBlocked
		reached[3][201] = 1;
		if (!(1))
			continue;
		/* merge: over = 1(0, 204, 1084) */
		reached[3][204] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->over);
		((P3 *)_this)->over = 1;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		/* merge: .(goto)(0, 1085, 1084) */
		reached[3][1085] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 38: // STATE 205 - /tmp/w/models/conformance/models/close.pml:631 - [(((!(over)&&((events>0)||good))&&((wire[0]&&isRead[0])||(wire[1]&&isRead[1]))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][205] = 1;
		if (!((( !(((int)((P3 *)_this)->over))&&((((int)now.events)>0)||((int)now.good)))&&((((int)now.wire[0])&&((int)now.isRead[0]))||(((int)now.wire[1])&&((int)now.isRead[1]))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 39: // STATE 227 - /tmp/w/models/conformance/models/close.pml:632 - [D_STEP632]
		IfNotBlocked

		reached[3][227] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3061_0: /* 2 */
		((P3 *)_this)->p = 0;
#ifdef VAR_RANGES
		logval("receiver:p", ((int)((P3 *)_this)->p));
#endif
		;
S_3067_0: /* 2 */
S_3066_0: /* 2 */
S_3062_0: /* 2 */
		if (!( !((((int)now.wire[ Index(((int)((P3 *)_this)->p), 2) ])&&((int)now.isRead[ Index(((int)((P3 *)_this)->p), 2) ])))))
			goto S_3066_1;
S_3063_0: /* 2 */
		((P3 *)_this)->p = (((int)((P3 *)_this)->p)+1);
#ifdef VAR_RANGES
		logval("receiver:p", ((int)((P3 *)_this)->p));
#endif
		;
		goto S_3067_0; /* ';' */
S_3066_1: /* 3 */
S_3064_0: /* 2 */
		/* else */;
S_3065_0: /* 2 */
		goto S_3069_0;	/* 'goto' */
S_3066_2: /* 3 */
		Uerror("blocking sel in d_step (nr.20, near line 634)");
S_3068_0: /* 2 */
		goto S_3069_0;	/* 'break' */
S_3069_0: /* 2 */
		now.wire[ Index(((P3 *)_this)->p, 2) ] = 0;
#ifdef VAR_RANGES
		logval("wire[receiver:p]", ((int)now.wire[ Index(((int)((P3 *)_this)->p), 2) ]));
#endif
		;
S_3073_0: /* 2 */
S_3070_0: /* 2 */
		if (!((((int)now.events)>0)))
			goto S_3073_1;
S_3071_0: /* 2 */
		now.events = (((int)now.events)-1);
#ifdef VAR_RANGES
		logval("events", ((int)now.events));
#endif
		;
		goto S_3074_0;
S_3073_1: /* 3 */
S_3072_0: /* 2 */
		/* else */;
		goto S_3074_0;
S_3073_2: /* 3 */
		Uerror("blocking sel in d_step (nr.21, near line 639)");
S_3074_0: /* 2 */
S_3080_0: /* 2 */
S_3075_0: /* 2 */
		if (!(((int)now.gone[ Index(((int)((P3 *)_this)->p), 2) ])))
			goto S_3080_1;
S_3076_0: /* 2 */
		((P3 *)_this)->over = 1;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		goto S_3081_0;
S_3080_1: /* 3 */
S_3077_0: /* 2 */
		if (!(( !(((int)now.gone[ Index(((int)((P3 *)_this)->p), 2) ]))&& !(((int)now.discards[ Index(((int)((P3 *)_this)->p), 2) ])))))
			goto S_3080_2;
S_3078_0: /* 2 */
		now.copying[ Index(((P3 *)_this)->p, 2) ] = 1;
#ifdef VAR_RANGES
		logval("copying[receiver:p]", ((int)now.copying[ Index(((int)((P3 *)_this)->p), 2) ]));
#endif
		;
		goto S_3081_0;
S_3080_2: /* 3 */
S_3079_0: /* 2 */
		/* else */;
		goto S_3081_0;
S_3080_3: /* 3 */
		Uerror("blocking sel in d_step (nr.22, near line 640)");
S_3081_0: /* 2 */
		goto S_3369_0;
S_3369_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 40: // STATE 228 - /tmp/w/models/conformance/models/close.pml:647 - [(over)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][228] = 1;
		if (!(((int)((P3 *)_this)->over)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 41: // STATE 279 - /tmp/w/models/conformance/models/close.pml:249 - [D_STEP249]
		if (!(((boq == -1 && ((now.state==7)||(now.state==6)))) || ((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][279] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3132_0: /* 2 */
S_3084_0: /* 2 */
		if (!(((now.state==7)||(now.state==6))))
			goto S_3132_1;
		goto S_3133_0;
S_3132_1: /* 3 */
S_3085_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_3132_2;
S_3086_0: /* 2 */
		now.state = 7;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_3087_0: /* 2 */
		now.terminate = 1;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_3101_0: /* 2 */
S_3088_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3099_0: /* 2 */
S_3098_0: /* 2 */
S_3089_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_3098_1;
S_3093_0: /* 2 */
S_3090_0: /* 2 */
		if (!((((int)now.isRead[ Index(((int)((P3 *)_this)->i), 2) ])||(1&&(now.progress[ Index(((int)((P3 *)_this)->i), 2) ]==13)))))
			goto S_3093_1;
S_3091_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_3094_0;
S_3093_1: /* 3 */
S_3092_0: /* 2 */
		/* else */;
		goto S_3094_0;
S_3093_2: /* 3 */
		Uerror("blocking sel in d_step (nr.23, near line 130)");
S_3094_0: /* 2 */
S_3095_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3099_0; /* ';' */
S_3098_1: /* 3 */
S_3096_0: /* 2 */
		/* else */;
S_3097_0: /* 2 */
		goto S_3102_0;	/* 'goto' */
S_3098_2: /* 3 */
		Uerror("blocking sel in d_step (nr.24, near line 128)");
S_3100_0: /* 2 */
		goto S_3102_0;	/* 'break' */
		goto S_3102_0;
S_3102_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_3133_0;
S_3132_2: /* 3 */
S_3103_0: /* 2 */
		/* else */;
S_3131_0: /* 2 */
S_3104_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_3105_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_3106_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_3107_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_3117_0: /* 2 */
S_3108_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3115_0: /* 2 */
S_3114_0: /* 2 */
S_3109_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_3114_1;
S_3110_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3111_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3115_0; /* ';' */
S_3114_1: /* 3 */
S_3112_0: /* 2 */
		/* else */;
S_3113_0: /* 2 */
		goto S_3127_0;	/* 'goto' */
S_3114_2: /* 3 */
		Uerror("blocking sel in d_step (nr.25, near line 120)");
S_3116_0: /* 2 */
		goto S_3127_0;	/* 'break' */
		goto S_3128_0;
S_3128_0: /* 2 */
S_3127_0: /* 2 */
S_3118_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_3127_1;
S_3122_0: /* 2 */
S_3119_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_3122_1;
S_3120_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_3123_0;
S_3122_1: /* 3 */
S_3121_0: /* 2 */
		/* else */;
		goto S_3123_0;
S_3122_2: /* 3 */
		Uerror("blocking sel in d_step (nr.26, near line 145)");
S_3123_0: /* 2 */
S_3124_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3128_0; /* ';' */
S_3127_1: /* 3 */
S_3125_0: /* 2 */
		/* else */;
S_3126_0: /* 2 */
		goto S_3130_0;	/* 'goto' */
S_3127_2: /* 3 */
		Uerror("blocking sel in d_step (nr.27, near line 143)");
S_3129_0: /* 2 */
		goto S_3130_0;	/* 'break' */
S_3130_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_3133_0;
		goto S_3133_0;
S_3132_3: /* 3 */
		Uerror("blocking sel in d_step (nr.28, near line 250)");
S_3133_0: /* 2 */
		goto S_3195_0;
S_3195_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 42: // STATE 280 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][280] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 43: // STATE 323 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][323] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3136_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3142_0: /* 2 */
S_3141_0: /* 2 */
S_3137_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_3141_1;
S_3138_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3142_0; /* ';' */
S_3141_1: /* 3 */
S_3139_0: /* 2 */
		/* else */;
S_3140_0: /* 2 */
		goto S_3176_0;	/* 'goto' */
S_3141_2: /* 3 */
		Uerror("blocking sel in d_step (nr.29, near line 174)");
S_3143_0: /* 2 */
		goto S_3176_0;	/* 'break' */
S_3176_0: /* 2 */
S_3144_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_3176_1;
S_3145_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_3146_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3174_0: /* 2 */
S_3172_0: /* 2 */
S_3171_0: /* 2 */
S_3147_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_3171_1;
S_3156_0: /* 2 */
S_3154_0: /* 2 */
S_3148_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_3154_1;
S_3149_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_3150_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_3151_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_3152_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_3155_0;
S_3154_1: /* 3 */
S_3153_0: /* 2 */
		/* else */;
		goto S_3155_0;
S_3154_2: /* 3 */
		Uerror("blocking sel in d_step (nr.30, near line 81)");
S_3155_0: /* 2 */
		goto S_3157_0;
S_3157_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_3158_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_3162_0: /* 2 */
S_3159_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_3162_1;
S_3160_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3163_0;
S_3162_1: /* 3 */
S_3161_0: /* 2 */
		/* else */;
		goto S_3163_0;
S_3162_2: /* 3 */
		Uerror("blocking sel in d_step (nr.31, near line 105)");
S_3163_0: /* 2 */
S_3167_0: /* 2 */
S_3164_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_3167_1;
S_3165_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3168_0;
S_3167_1: /* 3 */
S_3166_0: /* 2 */
		/* else */;
		goto S_3168_0;
S_3167_2: /* 3 */
		Uerror("blocking sel in d_step (nr.32, near line 106)");
S_3168_0: /* 2 */
		goto S_3172_0; /* '.' */
		goto S_3172_0; /* ';' */
S_3171_1: /* 3 */
S_3169_0: /* 2 */
		/* else */;
S_3170_0: /* 2 */
		goto S_3173_0;	/* 'goto' */
S_3171_2: /* 3 */
		Uerror("blocking sel in d_step (nr.33, near line 92)");
S_3173_0: /* 2 */
		goto S_3177_0;	/* 'break' */
S_3176_1: /* 3 */
S_3175_0: /* 2 */
		/* else */;
		goto S_3177_0;
S_3176_2: /* 3 */
		Uerror("blocking sel in d_step (nr.34, near line 181)");
S_3177_0: /* 2 */
		goto S_3187_0;
S_3187_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 44: // STATE 324 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][324] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 45: // STATE 327 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][327] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3180_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_3181_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_3185_0;
S_3185_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 46: // STATE 330 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][330] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3183_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3184_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3188_0;
S_3188_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 47: // STATE 343 - /tmp/w/models/conformance/models/close.pml:649 - [copying[p] = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[3][343] = 1;
		(trpt+1)->bup.oval = ((int)now.copying[ Index(((int)((P3 *)_this)->p), 2) ]);
		now.copying[ Index(((P3 *)_this)->p, 2) ] = 0;
#ifdef VAR_RANGES
		logval("copying[receiver:p]", ((int)now.copying[ Index(((int)((P3 *)_this)->p), 2) ]));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 48: // STATE 344 - /tmp/w/models/conformance/models/close.pml:650 - [last = (((state==RTS)||(state==CLOSING))&&!(peerClosed))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][344] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->last);
		((P3 *)_this)->last = (((now.state==9)||(now.state==8))&& !(((int)now.peerClosed)));
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 49: // STATE 345 - /tmp/w/models/conformance/models/close.pml:652 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][345] = 1;
		if (!(((int)((P3 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P3 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 50: // STATE 392 - /tmp/w/models/conformance/models/close.pml:653 - [D_STEP653]
		IfNotBlocked

		reached[3][392] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3201_0: /* 2 */
		((P3 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
S_3202_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3208_0: /* 2 */
S_3207_0: /* 2 */
S_3203_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.next))&& !((((int)now.isRead[ Index(((int)((P3 *)_this)->i), 2) ])&& !(((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])))))))
			goto S_3207_1;
S_3204_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3208_0; /* ';' */
S_3207_1: /* 3 */
S_3205_0: /* 2 */
		/* else */;
S_3206_0: /* 2 */
		goto S_3244_0;	/* 'goto' */
S_3207_2: /* 3 */
		Uerror("blocking sel in d_step (nr.35, near line 656)");
S_3209_0: /* 2 */
		goto S_3244_0;	/* 'break' */
S_3244_0: /* 2 */
S_3210_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)==((int)now.next))||(((int)((P3 *)_this)->i)!=((int)((P3 *)_this)->p)))))
			goto S_3244_1;
S_3211_0: /* 2 */
		((P3 *)_this)->over = 1;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		goto S_3245_0;
S_3244_1: /* 3 */
S_3212_0: /* 2 */
		/* else */;
S_3213_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3214_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3215_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3243_0: /* 2 */
S_3241_0: /* 2 */
S_3240_0: /* 2 */
S_3216_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_3240_1;
S_3225_0: /* 2 */
S_3223_0: /* 2 */
S_3217_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_3223_1;
S_3218_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_3219_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_3220_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_3221_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_3224_0;
S_3223_1: /* 3 */
S_3222_0: /* 2 */
		/* else */;
		goto S_3224_0;
S_3223_2: /* 3 */
		Uerror("blocking sel in d_step (nr.36, near line 81)");
S_3224_0: /* 2 */
		goto S_3226_0;
S_3226_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_3227_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_3231_0: /* 2 */
S_3228_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_3231_1;
S_3229_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3232_0;
S_3231_1: /* 3 */
S_3230_0: /* 2 */
		/* else */;
		goto S_3232_0;
S_3231_2: /* 3 */
		Uerror("blocking sel in d_step (nr.37, near line 105)");
S_3232_0: /* 2 */
S_3236_0: /* 2 */
S_3233_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_3236_1;
S_3234_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3237_0;
S_3236_1: /* 3 */
S_3235_0: /* 2 */
		/* else */;
		goto S_3237_0;
S_3236_2: /* 3 */
		Uerror("blocking sel in d_step (nr.38, near line 106)");
S_3237_0: /* 2 */
		goto S_3241_0; /* '.' */
		goto S_3241_0; /* ';' */
S_3240_1: /* 3 */
S_3238_0: /* 2 */
		/* else */;
S_3239_0: /* 2 */
		goto S_3245_0;	/* 'goto' */
		goto S_3241_0; /* ';' */
S_3240_2: /* 3 */
		Uerror("blocking sel in d_step (nr.39, near line 92)");
S_3242_0: /* 2 */
		goto S_3245_0;	/* 'break' */
		goto S_3245_0;
		goto S_3245_0;
S_3244_2: /* 3 */
		Uerror("blocking sel in d_step (nr.40, near line 660)");
S_3245_0: /* 2 */
S_3246_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3363_0;
S_3363_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 51: // STATE 393 - /tmp/w/models/conformance/models/close.pml:667 - [(over)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][393] = 1;
		if (!(((int)((P3 *)_this)->over)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 52: // STATE 444 - /tmp/w/models/conformance/models/close.pml:249 - [D_STEP249]
		if (!(((boq == -1 && ((now.state==7)||(now.state==6)))) || ((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][444] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3297_0: /* 2 */
S_3249_0: /* 2 */
		if (!(((now.state==7)||(now.state==6))))
			goto S_3297_1;
		goto S_3298_0;
S_3297_1: /* 3 */
S_3250_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_3297_2;
S_3251_0: /* 2 */
		now.state = 7;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_3252_0: /* 2 */
		now.terminate = 1;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_3266_0: /* 2 */
S_3253_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3264_0: /* 2 */
S_3263_0: /* 2 */
S_3254_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_3263_1;
S_3258_0: /* 2 */
S_3255_0: /* 2 */
		if (!((((int)now.isRead[ Index(((int)((P3 *)_this)->i), 2) ])||(1&&(now.progress[ Index(((int)((P3 *)_this)->i), 2) ]==13)))))
			goto S_3258_1;
S_3256_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_3259_0;
S_3258_1: /* 3 */
S_3257_0: /* 2 */
		/* else */;
		goto S_3259_0;
S_3258_2: /* 3 */
		Uerror("blocking sel in d_step (nr.41, near line 130)");
S_3259_0: /* 2 */
S_3260_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3264_0; /* ';' */
S_3263_1: /* 3 */
S_3261_0: /* 2 */
		/* else */;
S_3262_0: /* 2 */
		goto S_3267_0;	/* 'goto' */
S_3263_2: /* 3 */
		Uerror("blocking sel in d_step (nr.42, near line 128)");
S_3265_0: /* 2 */
		goto S_3267_0;	/* 'break' */
		goto S_3267_0;
S_3267_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_3298_0;
S_3297_2: /* 3 */
S_3268_0: /* 2 */
		/* else */;
S_3296_0: /* 2 */
S_3269_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_3270_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_3271_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_3272_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_3282_0: /* 2 */
S_3273_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3280_0: /* 2 */
S_3279_0: /* 2 */
S_3274_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_3279_1;
S_3275_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3276_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3280_0; /* ';' */
S_3279_1: /* 3 */
S_3277_0: /* 2 */
		/* else */;
S_3278_0: /* 2 */
		goto S_3292_0;	/* 'goto' */
S_3279_2: /* 3 */
		Uerror("blocking sel in d_step (nr.43, near line 120)");
S_3281_0: /* 2 */
		goto S_3292_0;	/* 'break' */
		goto S_3293_0;
S_3293_0: /* 2 */
S_3292_0: /* 2 */
S_3283_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_3292_1;
S_3287_0: /* 2 */
S_3284_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_3287_1;
S_3285_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_3288_0;
S_3287_1: /* 3 */
S_3286_0: /* 2 */
		/* else */;
		goto S_3288_0;
S_3287_2: /* 3 */
		Uerror("blocking sel in d_step (nr.44, near line 145)");
S_3288_0: /* 2 */
S_3289_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3293_0; /* ';' */
S_3292_1: /* 3 */
S_3290_0: /* 2 */
		/* else */;
S_3291_0: /* 2 */
		goto S_3295_0;	/* 'goto' */
S_3292_2: /* 3 */
		Uerror("blocking sel in d_step (nr.45, near line 143)");
S_3294_0: /* 2 */
		goto S_3295_0;	/* 'break' */
S_3295_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_3298_0;
		goto S_3298_0;
S_3297_3: /* 3 */
		Uerror("blocking sel in d_step (nr.46, near line 250)");
S_3298_0: /* 2 */
		goto S_3360_0;
S_3360_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 53: // STATE 445 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][445] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 54: // STATE 488 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][488] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3301_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3307_0: /* 2 */
S_3306_0: /* 2 */
S_3302_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_3306_1;
S_3303_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3307_0; /* ';' */
S_3306_1: /* 3 */
S_3304_0: /* 2 */
		/* else */;
S_3305_0: /* 2 */
		goto S_3341_0;	/* 'goto' */
S_3306_2: /* 3 */
		Uerror("blocking sel in d_step (nr.47, near line 174)");
S_3308_0: /* 2 */
		goto S_3341_0;	/* 'break' */
S_3341_0: /* 2 */
S_3309_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_3341_1;
S_3310_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_3311_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3339_0: /* 2 */
S_3337_0: /* 2 */
S_3336_0: /* 2 */
S_3312_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_3336_1;
S_3321_0: /* 2 */
S_3319_0: /* 2 */
S_3313_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_3319_1;
S_3314_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_3315_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_3316_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_3317_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_3320_0;
S_3319_1: /* 3 */
S_3318_0: /* 2 */
		/* else */;
		goto S_3320_0;
S_3319_2: /* 3 */
		Uerror("blocking sel in d_step (nr.48, near line 81)");
S_3320_0: /* 2 */
		goto S_3322_0;
S_3322_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_3323_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_3327_0: /* 2 */
S_3324_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_3327_1;
S_3325_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3328_0;
S_3327_1: /* 3 */
S_3326_0: /* 2 */
		/* else */;
		goto S_3328_0;
S_3327_2: /* 3 */
		Uerror("blocking sel in d_step (nr.49, near line 105)");
S_3328_0: /* 2 */
S_3332_0: /* 2 */
S_3329_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_3332_1;
S_3330_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3333_0;
S_3332_1: /* 3 */
S_3331_0: /* 2 */
		/* else */;
		goto S_3333_0;
S_3332_2: /* 3 */
		Uerror("blocking sel in d_step (nr.50, near line 106)");
S_3333_0: /* 2 */
		goto S_3337_0; /* '.' */
		goto S_3337_0; /* ';' */
S_3336_1: /* 3 */
S_3334_0: /* 2 */
		/* else */;
S_3335_0: /* 2 */
		goto S_3338_0;	/* 'goto' */
S_3336_2: /* 3 */
		Uerror("blocking sel in d_step (nr.51, near line 92)");
S_3338_0: /* 2 */
		goto S_3342_0;	/* 'break' */
S_3341_1: /* 3 */
S_3340_0: /* 2 */
		/* else */;
		goto S_3342_0;
S_3341_2: /* 3 */
		Uerror("blocking sel in d_step (nr.52, near line 181)");
S_3342_0: /* 2 */
		goto S_3352_0;
S_3352_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 55: // STATE 489 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][489] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 56: // STATE 492 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][492] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3345_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_3346_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_3350_0;
S_3350_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 57: // STATE 495 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][495] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3348_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3349_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3353_0;
S_3353_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 58: // STATE 511 - /tmp/w/models/conformance/models/close.pml:670 - [over = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][511] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->over);
		((P3 *)_this)->over = 1;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 59: // STATE 516 - /tmp/w/models/conformance/models/close.pml:674 - [(((state!=RTS)&&(state!=CLOSING)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][516] = 1;
		if (!(((now.state!=9)&&(now.state!=8))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 60: // STATE 517 - /tmp/w/models/conformance/models/close.pml:674 - [over = 1] (0:1073:3 - 1)
		IfNotBlocked
		reached[3][517] = 1;
		(trpt+1)->bup.ovals = grab_ints(3);
		(trpt+1)->bup.ovals[0] = ((int)((P3 *)_this)->over);
		((P3 *)_this)->over = 1;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		/* merge: .(goto)(1073, 520, 1073) */
		reached[3][520] = 1;
		;
		/* merge: p = (1+1)(1073, 521, 1073) */
		reached[3][521] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->p);
		((P3 *)_this)->p = (1+1);
#ifdef VAR_RANGES
		logval("receiver:p", ((int)((P3 *)_this)->p));
#endif
		;
		if (TstOnly) return 1; /* TT */
		/* dead 2: p */  
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->p = 0;
		_m = 3; goto P999; /* 2 */
	case 61: // STATE 521 - /tmp/w/models/conformance/models/close.pml:677 - [p = (1+1)] (0:1073:2 - 3)
		IfNotBlocked
		reached[3][521] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)((P3 *)_this)->p);
		((P3 *)_this)->p = (1+1);
#ifdef VAR_RANGES
		logval("receiver:p", ((int)((P3 *)_this)->p));
#endif
		;
		if (TstOnly) return 1; /* TT */
		/* dead 2: p */  
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->p = 0;
		_m = 3; goto P999; /* 0 */
	case 62: // STATE 537 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][537] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3388_0: /* 2 */
S_3377_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_3388_1;
S_3386_0: /* 2 */
S_3384_0: /* 2 */
S_3383_0: /* 2 */
S_3378_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_3383_1;
S_3379_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_3380_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3384_0; /* ';' */
S_3383_1: /* 3 */
S_3381_0: /* 2 */
		/* else */;
S_3382_0: /* 2 */
		goto S_3390_0;	/* 'goto' */
S_3383_2: /* 3 */
		Uerror("blocking sel in d_step (nr.53, near line 112)");
S_3385_0: /* 2 */
		goto S_3390_0;	/* 'break' */
		goto S_3389_0;
S_3388_1: /* 3 */
S_3387_0: /* 2 */
		/* else */;
		goto S_3389_0;
S_3388_2: /* 3 */
		Uerror("blocking sel in d_step (nr.54, near line 301)");
S_3389_0: /* 2 */
S_3390_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_3391_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3926_0;
S_3926_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 63: // STATE 539 - /tmp/w/models/conformance/models/close.pml:413 - [((want&&!(token)))] (1036:0:2 - 1)
		IfNotBlocked
		reached[3][539] = 1;
		if (!((((int)((P3 *)_this)->want)&& !(((int)now.token)))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: token = 1(0, 540, 1036) */
		reached[3][540] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.token);
		now.token = 1;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 64: // STATE 542 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][542] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 65: // STATE 543 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][543] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 66: // STATE 576 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[3][576] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3429_0: /* 2 */
S_3428_0: /* 2 */
S_3399_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_3428_1;
S_3400_0: /* 2 */
		goto S_3430_0;	/* 'goto' */
S_3428_1: /* 3 */
S_3401_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_3428_2;
S_3402_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_3403_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_3404_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_3429_0; /* ';' */
S_3428_2: /* 3 */
S_3405_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_3428_3;
S_3414_0: /* 2 */
S_3412_0: /* 2 */
S_3411_0: /* 2 */
S_3406_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_3411_1;
S_3407_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_3408_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3412_0; /* ';' */
S_3411_1: /* 3 */
S_3409_0: /* 2 */
		/* else */;
S_3410_0: /* 2 */
		goto S_3424_0;	/* 'goto' */
S_3411_2: /* 3 */
		Uerror("blocking sel in d_step (nr.55, near line 112)");
S_3413_0: /* 2 */
		goto S_3424_0;	/* 'break' */
		goto S_3424_0;
S_3424_0: /* 2 */
S_3415_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_3424_1;
S_3416_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_3417_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_3418_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_3419_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_3420_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_3421_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_3425_0;
S_3424_1: /* 3 */
S_3422_0: /* 2 */
		/* else */;
S_3423_0: /* 2 */
		goto S_3430_0;	/* 'goto' */
		goto S_3425_0;
S_3424_2: /* 3 */
		Uerror("blocking sel in d_step (nr.56, near line 317)");
S_3425_0: /* 2 */
		goto S_3429_0; /* '.' */
		goto S_3429_0; /* ';' */
S_3428_3: /* 3 */
S_3426_0: /* 2 */
		/* else */;
S_3427_0: /* 2 */
		goto S_3430_0;	/* 'goto' */
		goto S_3429_0; /* ';' */
S_3428_4: /* 3 */
		Uerror("blocking sel in d_step (nr.57, near line 312)");
S_3430_0: /* 2 */
		goto S_3885_0;	/* 'break' */
S_3435_0: /* 1 */
S_3885_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 67: // STATE 581 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][581] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 68: // STATE 582 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][582] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 69: // STATE 615 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][615] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3468_0: /* 2 */
S_3438_0: /* 2 */
		if (!((now.state!=5)))
			goto S_3468_1;
S_3466_0: /* 2 */
S_3439_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_3440_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_3441_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_3442_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_3452_0: /* 2 */
S_3443_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3450_0: /* 2 */
S_3449_0: /* 2 */
S_3444_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_3449_1;
S_3445_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3446_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3450_0; /* ';' */
S_3449_1: /* 3 */
S_3447_0: /* 2 */
		/* else */;
S_3448_0: /* 2 */
		goto S_3462_0;	/* 'goto' */
S_3449_2: /* 3 */
		Uerror("blocking sel in d_step (nr.58, near line 120)");
S_3451_0: /* 2 */
		goto S_3462_0;	/* 'break' */
		goto S_3463_0;
S_3463_0: /* 2 */
S_3462_0: /* 2 */
S_3453_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_3462_1;
S_3457_0: /* 2 */
S_3454_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_3457_1;
S_3455_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_3458_0;
S_3457_1: /* 3 */
S_3456_0: /* 2 */
		/* else */;
		goto S_3458_0;
S_3457_2: /* 3 */
		Uerror("blocking sel in d_step (nr.59, near line 145)");
S_3458_0: /* 2 */
S_3459_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3463_0; /* ';' */
S_3462_1: /* 3 */
S_3460_0: /* 2 */
		/* else */;
S_3461_0: /* 2 */
		goto S_3465_0;	/* 'goto' */
S_3462_2: /* 3 */
		Uerror("blocking sel in d_step (nr.60, near line 143)");
S_3464_0: /* 2 */
		goto S_3465_0;	/* 'break' */
S_3465_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_3469_0;
S_3468_1: /* 3 */
S_3467_0: /* 2 */
		/* else */;
		goto S_3469_0;
S_3468_2: /* 3 */
		Uerror("blocking sel in d_step (nr.61, near line 240)");
S_3469_0: /* 2 */
		goto S_3531_0;
S_3531_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 70: // STATE 616 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][616] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 71: // STATE 659 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][659] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3472_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3478_0: /* 2 */
S_3477_0: /* 2 */
S_3473_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_3477_1;
S_3474_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3478_0; /* ';' */
S_3477_1: /* 3 */
S_3475_0: /* 2 */
		/* else */;
S_3476_0: /* 2 */
		goto S_3512_0;	/* 'goto' */
S_3477_2: /* 3 */
		Uerror("blocking sel in d_step (nr.62, near line 174)");
S_3479_0: /* 2 */
		goto S_3512_0;	/* 'break' */
S_3512_0: /* 2 */
S_3480_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_3512_1;
S_3481_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_3482_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3510_0: /* 2 */
S_3508_0: /* 2 */
S_3507_0: /* 2 */
S_3483_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_3507_1;
S_3492_0: /* 2 */
S_3490_0: /* 2 */
S_3484_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_3490_1;
S_3485_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_3486_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_3487_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_3488_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_3491_0;
S_3490_1: /* 3 */
S_3489_0: /* 2 */
		/* else */;
		goto S_3491_0;
S_3490_2: /* 3 */
		Uerror("blocking sel in d_step (nr.63, near line 81)");
S_3491_0: /* 2 */
		goto S_3493_0;
S_3493_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_3494_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_3498_0: /* 2 */
S_3495_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_3498_1;
S_3496_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3499_0;
S_3498_1: /* 3 */
S_3497_0: /* 2 */
		/* else */;
		goto S_3499_0;
S_3498_2: /* 3 */
		Uerror("blocking sel in d_step (nr.64, near line 105)");
S_3499_0: /* 2 */
S_3503_0: /* 2 */
S_3500_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_3503_1;
S_3501_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3504_0;
S_3503_1: /* 3 */
S_3502_0: /* 2 */
		/* else */;
		goto S_3504_0;
S_3503_2: /* 3 */
		Uerror("blocking sel in d_step (nr.65, near line 106)");
S_3504_0: /* 2 */
		goto S_3508_0; /* '.' */
		goto S_3508_0; /* ';' */
S_3507_1: /* 3 */
S_3505_0: /* 2 */
		/* else */;
S_3506_0: /* 2 */
		goto S_3509_0;	/* 'goto' */
S_3507_2: /* 3 */
		Uerror("blocking sel in d_step (nr.66, near line 92)");
S_3509_0: /* 2 */
		goto S_3513_0;	/* 'break' */
S_3512_1: /* 3 */
S_3511_0: /* 2 */
		/* else */;
		goto S_3513_0;
S_3512_2: /* 3 */
		Uerror("blocking sel in d_step (nr.67, near line 181)");
S_3513_0: /* 2 */
		goto S_3523_0;
S_3523_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 72: // STATE 660 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][660] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 73: // STATE 663 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][663] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3516_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_3517_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_3521_0;
S_3521_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 74: // STATE 666 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][666] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3519_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3520_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3524_0;
S_3524_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 75: // STATE 696 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][696] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3547_0: /* 2 */
S_3536_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_3547_1;
S_3545_0: /* 2 */
S_3543_0: /* 2 */
S_3542_0: /* 2 */
S_3537_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_3542_1;
S_3538_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_3539_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3543_0; /* ';' */
S_3542_1: /* 3 */
S_3540_0: /* 2 */
		/* else */;
S_3541_0: /* 2 */
		goto S_3549_0;	/* 'goto' */
S_3542_2: /* 3 */
		Uerror("blocking sel in d_step (nr.68, near line 112)");
S_3544_0: /* 2 */
		goto S_3549_0;	/* 'break' */
		goto S_3548_0;
S_3547_1: /* 3 */
S_3546_0: /* 2 */
		/* else */;
		goto S_3548_0;
S_3547_2: /* 3 */
		Uerror("blocking sel in d_step (nr.69, near line 301)");
S_3548_0: /* 2 */
S_3549_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_3550_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3663_0;
S_3663_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 76: // STATE 698 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][698] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 77: // STATE 699 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][699] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 78: // STATE 700 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][700] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 79: // STATE 703 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[3][703] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3556_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_3557_0: /* 2 */
		((P3 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_3659_0;
S_3659_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 80: // STATE 704 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][704] = 1;
		if (!(((int)((P3 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P3 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 81: // STATE 707 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[3][707] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3560_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_3561_0: /* 2 */
		((P3 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_3657_0;
S_3657_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 82: // STATE 740 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][740] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3593_0: /* 2 */
S_3563_0: /* 2 */
		if (!((now.state!=5)))
			goto S_3593_1;
S_3591_0: /* 2 */
S_3564_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_3565_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_3566_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_3567_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_3577_0: /* 2 */
S_3568_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3575_0: /* 2 */
S_3574_0: /* 2 */
S_3569_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_3574_1;
S_3570_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3571_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3575_0; /* ';' */
S_3574_1: /* 3 */
S_3572_0: /* 2 */
		/* else */;
S_3573_0: /* 2 */
		goto S_3587_0;	/* 'goto' */
S_3574_2: /* 3 */
		Uerror("blocking sel in d_step (nr.70, near line 120)");
S_3576_0: /* 2 */
		goto S_3587_0;	/* 'break' */
		goto S_3588_0;
S_3588_0: /* 2 */
S_3587_0: /* 2 */
S_3578_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_3587_1;
S_3582_0: /* 2 */
S_3579_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_3582_1;
S_3580_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_3583_0;
S_3582_1: /* 3 */
S_3581_0: /* 2 */
		/* else */;
		goto S_3583_0;
S_3582_2: /* 3 */
		Uerror("blocking sel in d_step (nr.71, near line 145)");
S_3583_0: /* 2 */
S_3584_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3588_0; /* ';' */
S_3587_1: /* 3 */
S_3585_0: /* 2 */
		/* else */;
S_3586_0: /* 2 */
		goto S_3590_0;	/* 'goto' */
S_3587_2: /* 3 */
		Uerror("blocking sel in d_step (nr.72, near line 143)");
S_3589_0: /* 2 */
		goto S_3590_0;	/* 'break' */
S_3590_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_3594_0;
S_3593_1: /* 3 */
S_3592_0: /* 2 */
		/* else */;
		goto S_3594_0;
S_3593_2: /* 3 */
		Uerror("blocking sel in d_step (nr.73, near line 240)");
S_3594_0: /* 2 */
		goto S_3656_0;
S_3656_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 83: // STATE 741 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][741] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 84: // STATE 784 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][784] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3597_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3603_0: /* 2 */
S_3602_0: /* 2 */
S_3598_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_3602_1;
S_3599_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3603_0; /* ';' */
S_3602_1: /* 3 */
S_3600_0: /* 2 */
		/* else */;
S_3601_0: /* 2 */
		goto S_3637_0;	/* 'goto' */
S_3602_2: /* 3 */
		Uerror("blocking sel in d_step (nr.74, near line 174)");
S_3604_0: /* 2 */
		goto S_3637_0;	/* 'break' */
S_3637_0: /* 2 */
S_3605_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_3637_1;
S_3606_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_3607_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3635_0: /* 2 */
S_3633_0: /* 2 */
S_3632_0: /* 2 */
S_3608_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_3632_1;
S_3617_0: /* 2 */
S_3615_0: /* 2 */
S_3609_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_3615_1;
S_3610_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_3611_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_3612_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_3613_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_3616_0;
S_3615_1: /* 3 */
S_3614_0: /* 2 */
		/* else */;
		goto S_3616_0;
S_3615_2: /* 3 */
		Uerror("blocking sel in d_step (nr.75, near line 81)");
S_3616_0: /* 2 */
		goto S_3618_0;
S_3618_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_3619_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_3623_0: /* 2 */
S_3620_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_3623_1;
S_3621_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3624_0;
S_3623_1: /* 3 */
S_3622_0: /* 2 */
		/* else */;
		goto S_3624_0;
S_3623_2: /* 3 */
		Uerror("blocking sel in d_step (nr.76, near line 105)");
S_3624_0: /* 2 */
S_3628_0: /* 2 */
S_3625_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_3628_1;
S_3626_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3629_0;
S_3628_1: /* 3 */
S_3627_0: /* 2 */
		/* else */;
		goto S_3629_0;
S_3628_2: /* 3 */
		Uerror("blocking sel in d_step (nr.77, near line 106)");
S_3629_0: /* 2 */
		goto S_3633_0; /* '.' */
		goto S_3633_0; /* ';' */
S_3632_1: /* 3 */
S_3630_0: /* 2 */
		/* else */;
S_3631_0: /* 2 */
		goto S_3634_0;	/* 'goto' */
S_3632_2: /* 3 */
		Uerror("blocking sel in d_step (nr.78, near line 92)");
S_3634_0: /* 2 */
		goto S_3638_0;	/* 'break' */
S_3637_1: /* 3 */
S_3636_0: /* 2 */
		/* else */;
		goto S_3638_0;
S_3637_2: /* 3 */
		Uerror("blocking sel in d_step (nr.79, near line 181)");
S_3638_0: /* 2 */
		goto S_3648_0;
S_3648_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 85: // STATE 785 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][785] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 86: // STATE 788 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][788] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3641_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_3642_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_3646_0;
S_3646_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 87: // STATE 791 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][791] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3644_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3645_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3649_0;
S_3649_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 88: // STATE 813 - /tmp/w/models/conformance/models/close.pml:387 - [(!(0))] (1035:0:1 - 1)
		IfNotBlocked
		reached[3][813] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 814, 1035) */
		reached[3][814] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b171(0, 815, 1035) */
		reached[3][815] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 89: // STATE 816 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][816] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 90: // STATE 831 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[3][831] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3672_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3680_0: /* 2 */
S_3679_0: /* 2 */
S_3673_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_3679_1;
S_3674_0: /* 2 */
		now.wire[ Index(((P3 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[receiver:i]", ((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3675_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3676_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3680_0; /* ';' */
S_3679_1: /* 3 */
S_3677_0: /* 2 */
		/* else */;
S_3678_0: /* 2 */
		goto S_3682_0;	/* 'goto' */
S_3679_2: /* 3 */
		Uerror("blocking sel in d_step (nr.80, near line 391)");
S_3681_0: /* 2 */
		goto S_3682_0;	/* 'break' */
S_3682_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3683_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_3684_0: /* 2 */
		((P3 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_3685_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_3853_0;
S_3853_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 91: // STATE 936 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[3][936] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3707_0: /* 2 */
S_3706_0: /* 2 */
S_3687_0: /* 2 */
		if (!(((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_3706_1;
S_3693_0: /* 2 */
S_3692_0: /* 2 */
S_3688_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_3692_1;
S_3689_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3693_0; /* ';' */
S_3692_1: /* 3 */
S_3690_0: /* 2 */
		/* else */;
S_3691_0: /* 2 */
		goto S_3695_0;	/* 'goto' */
S_3692_2: /* 3 */
		Uerror("blocking sel in d_step (nr.81, near line 218)");
S_3694_0: /* 2 */
		goto S_3695_0;	/* 'break' */
S_3695_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_3699_0: /* 2 */
S_3696_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_3699_1;
S_3697_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_3700_0;
S_3699_1: /* 3 */
S_3698_0: /* 2 */
		/* else */;
		goto S_3700_0;
S_3699_2: /* 3 */
		Uerror("blocking sel in d_step (nr.82, near line 223)");
S_3700_0: /* 2 */
S_3701_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_3702_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_3703_0: /* 2 */
		((P3 *)_this)->n = (((int)((P3 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
		goto S_3707_0; /* ';' */
S_3706_1: /* 3 */
S_3704_0: /* 2 */
		/* else */;
S_3705_0: /* 2 */
		goto S_3709_0;	/* 'goto' */
S_3706_2: /* 3 */
		Uerror("blocking sel in d_step (nr.83, near line 216)");
S_3708_0: /* 2 */
		goto S_3709_0;	/* 'break' */
S_3709_0: /* 2 */
		((P3 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_3710_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_3738_0: /* 2 */
S_3736_0: /* 2 */
S_3735_0: /* 2 */
S_3711_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_3735_1;
S_3720_0: /* 2 */
S_3718_0: /* 2 */
S_3712_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_3718_1;
S_3713_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_3714_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_3715_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_3716_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_3719_0;
S_3718_1: /* 3 */
S_3717_0: /* 2 */
		/* else */;
		goto S_3719_0;
S_3718_2: /* 3 */
		Uerror("blocking sel in d_step (nr.84, near line 81)");
S_3719_0: /* 2 */
		goto S_3721_0;
S_3721_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_3722_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_3726_0: /* 2 */
S_3723_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_3726_1;
S_3724_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3727_0;
S_3726_1: /* 3 */
S_3725_0: /* 2 */
		/* else */;
		goto S_3727_0;
S_3726_2: /* 3 */
		Uerror("blocking sel in d_step (nr.85, near line 105)");
S_3727_0: /* 2 */
S_3731_0: /* 2 */
S_3728_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_3731_1;
S_3729_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3732_0;
S_3731_1: /* 3 */
S_3730_0: /* 2 */
		/* else */;
		goto S_3732_0;
S_3731_2: /* 3 */
		Uerror("blocking sel in d_step (nr.86, near line 106)");
S_3732_0: /* 2 */
		goto S_3736_0; /* '.' */
		goto S_3736_0; /* ';' */
S_3735_1: /* 3 */
S_3733_0: /* 2 */
		/* else */;
S_3734_0: /* 2 */
		goto S_3790_0;	/* 'goto' */
S_3735_2: /* 3 */
		Uerror("blocking sel in d_step (nr.87, near line 92)");
S_3737_0: /* 2 */
		goto S_3790_0;	/* 'break' */
		goto S_3790_0;
S_3790_0: /* 2 */
S_3750_0: /* 2 */
S_3739_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_3750_1;
S_3748_0: /* 2 */
S_3746_0: /* 2 */
S_3745_0: /* 2 */
S_3740_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_3745_1;
S_3741_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_3742_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3746_0; /* ';' */
S_3745_1: /* 3 */
S_3743_0: /* 2 */
		/* else */;
S_3744_0: /* 2 */
		goto S_3788_0;	/* 'goto' */
S_3745_2: /* 3 */
		Uerror("blocking sel in d_step (nr.88, near line 112)");
S_3747_0: /* 2 */
		goto S_3788_0;	/* 'break' */
		goto S_3751_0;
S_3750_1: /* 3 */
S_3749_0: /* 2 */
		/* else */;
		goto S_3751_0;
S_3750_2: /* 3 */
		Uerror("blocking sel in d_step (nr.89, near line 153)");
S_3751_0: /* 2 */
S_3788_0: /* 2 */
S_3752_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_3788_1;
S_3785_0: /* 2 */
S_3753_0: /* 2 */
		if (!((now.state==8)))
			goto S_3785_1;
S_3781_0: /* 2 */
S_3754_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_3755_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_3756_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_3757_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_3767_0: /* 2 */
S_3758_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3765_0: /* 2 */
S_3764_0: /* 2 */
S_3759_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_3764_1;
S_3760_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3761_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3765_0; /* ';' */
S_3764_1: /* 3 */
S_3762_0: /* 2 */
		/* else */;
S_3763_0: /* 2 */
		goto S_3777_0;	/* 'goto' */
S_3764_2: /* 3 */
		Uerror("blocking sel in d_step (nr.90, near line 120)");
S_3766_0: /* 2 */
		goto S_3777_0;	/* 'break' */
		goto S_3778_0;
S_3778_0: /* 2 */
S_3777_0: /* 2 */
S_3768_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_3777_1;
S_3772_0: /* 2 */
S_3769_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_3772_1;
S_3770_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_3773_0;
S_3772_1: /* 3 */
S_3771_0: /* 2 */
		/* else */;
		goto S_3773_0;
S_3772_2: /* 3 */
		Uerror("blocking sel in d_step (nr.91, near line 145)");
S_3773_0: /* 2 */
S_3774_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3778_0; /* ';' */
S_3777_1: /* 3 */
S_3775_0: /* 2 */
		/* else */;
S_3776_0: /* 2 */
		goto S_3780_0;	/* 'goto' */
S_3777_2: /* 3 */
		Uerror("blocking sel in d_step (nr.92, near line 143)");
S_3779_0: /* 2 */
		goto S_3780_0;	/* 'break' */
S_3780_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_3786_0;
S_3785_1: /* 3 */
S_3782_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_3785_2;
S_3783_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_3786_0;
S_3785_2: /* 3 */
S_3784_0: /* 2 */
		/* else */;
		goto S_3786_0;
S_3785_3: /* 3 */
		Uerror("blocking sel in d_step (nr.93, near line 159)");
S_3786_0: /* 2 */
		goto S_3789_0;
S_3788_1: /* 3 */
S_3787_0: /* 2 */
		/* else */;
		goto S_3789_0;
S_3788_2: /* 3 */
		Uerror("blocking sel in d_step (nr.94, near line 157)");
S_3789_0: /* 2 */
		goto S_3852_0;
S_3852_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 92: // STATE 937 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][937] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 93: // STATE 980 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][980] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3793_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3799_0: /* 2 */
S_3798_0: /* 2 */
S_3794_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_3798_1;
S_3795_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3799_0; /* ';' */
S_3798_1: /* 3 */
S_3796_0: /* 2 */
		/* else */;
S_3797_0: /* 2 */
		goto S_3833_0;	/* 'goto' */
S_3798_2: /* 3 */
		Uerror("blocking sel in d_step (nr.95, near line 174)");
S_3800_0: /* 2 */
		goto S_3833_0;	/* 'break' */
S_3833_0: /* 2 */
S_3801_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_3833_1;
S_3802_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_3803_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3831_0: /* 2 */
S_3829_0: /* 2 */
S_3828_0: /* 2 */
S_3804_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_3828_1;
S_3813_0: /* 2 */
S_3811_0: /* 2 */
S_3805_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_3811_1;
S_3806_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_3807_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_3808_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_3809_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_3812_0;
S_3811_1: /* 3 */
S_3810_0: /* 2 */
		/* else */;
		goto S_3812_0;
S_3811_2: /* 3 */
		Uerror("blocking sel in d_step (nr.96, near line 81)");
S_3812_0: /* 2 */
		goto S_3814_0;
S_3814_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_3815_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_3819_0: /* 2 */
S_3816_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_3819_1;
S_3817_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3820_0;
S_3819_1: /* 3 */
S_3818_0: /* 2 */
		/* else */;
		goto S_3820_0;
S_3819_2: /* 3 */
		Uerror("blocking sel in d_step (nr.97, near line 105)");
S_3820_0: /* 2 */
S_3824_0: /* 2 */
S_3821_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_3824_1;
S_3822_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3825_0;
S_3824_1: /* 3 */
S_3823_0: /* 2 */
		/* else */;
		goto S_3825_0;
S_3824_2: /* 3 */
		Uerror("blocking sel in d_step (nr.98, near line 106)");
S_3825_0: /* 2 */
		goto S_3829_0; /* '.' */
		goto S_3829_0; /* ';' */
S_3828_1: /* 3 */
S_3826_0: /* 2 */
		/* else */;
S_3827_0: /* 2 */
		goto S_3830_0;	/* 'goto' */
S_3828_2: /* 3 */
		Uerror("blocking sel in d_step (nr.99, near line 92)");
S_3830_0: /* 2 */
		goto S_3834_0;	/* 'break' */
S_3833_1: /* 3 */
S_3832_0: /* 2 */
		/* else */;
		goto S_3834_0;
S_3833_2: /* 3 */
		Uerror("blocking sel in d_step (nr.100, near line 181)");
S_3834_0: /* 2 */
		goto S_3844_0;
S_3844_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 94: // STATE 981 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][981] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 95: // STATE 984 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][984] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3837_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_3838_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_3842_0;
S_3842_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 96: // STATE 987 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][987] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3840_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3841_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3845_0;
S_3845_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 97: // STATE 999 - /tmp/w/models/conformance/models/close.pml:400 - [(!(0))] (1035:0:1 - 1)
		IfNotBlocked
		reached[3][999] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 1000, 1035) */
		reached[3][1000] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b171(0, 1001, 1035) */
		reached[3][1001] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 98: // STATE 1005 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1005] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 99: // STATE 1017 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[3][1017] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3861_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_3862_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3869_0: /* 2 */
S_3868_0: /* 2 */
S_3863_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_3868_1;
S_3864_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_3865_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3869_0; /* ';' */
S_3868_1: /* 3 */
S_3866_0: /* 2 */
		/* else */;
S_3867_0: /* 2 */
		goto S_3870_0;	/* 'goto' */
S_3868_2: /* 3 */
		Uerror("blocking sel in d_step (nr.101, near line 330)");
S_3870_0: /* 2 */
		goto S_3871_0;	/* 'break' */
S_3871_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3882_0;
S_3882_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 100: // STATE 1021 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[3][1021] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3874_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_3875_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_3880_0;
S_3880_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 101: // STATE 1022 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1022] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 102: // STATE 1023 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1023] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 103: // STATE 1037 - /tmp/w/models/conformance/models/close.pml:416 - [(whole)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1037] = 1;
		if (!(((int)((P3 *)_this)->whole)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: whole */  (trpt+1)->bup.oval = ((P3 *)_this)->whole;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 104: // STATE 1040 - /tmp/w/models/conformance/models/close.pml:417 - [D_STEP417]
		IfNotBlocked

		reached[3][1040] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3893_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_3894_0: /* 2 */
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		goto S_3912_0;
S_3912_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 105: // STATE 1056 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][1056] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3907_0: /* 2 */
S_3896_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_3907_1;
S_3905_0: /* 2 */
S_3903_0: /* 2 */
S_3902_0: /* 2 */
S_3897_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_3902_1;
S_3898_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_3899_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3903_0; /* ';' */
S_3902_1: /* 3 */
S_3900_0: /* 2 */
		/* else */;
S_3901_0: /* 2 */
		goto S_3909_0;	/* 'goto' */
S_3902_2: /* 3 */
		Uerror("blocking sel in d_step (nr.102, near line 112)");
S_3904_0: /* 2 */
		goto S_3909_0;	/* 'break' */
		goto S_3908_0;
S_3907_1: /* 3 */
S_3906_0: /* 2 */
		/* else */;
		goto S_3908_0;
S_3907_2: /* 3 */
		Uerror("blocking sel in d_step (nr.103, near line 301)");
S_3908_0: /* 2 */
S_3909_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_3910_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3918_0;
S_3918_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 106: // STATE 1059 - /tmp/w/models/conformance/models/close.pml:423 - [want = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1059] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 107: // STATE 1060 - /tmp/w/models/conformance/models/close.pml:423 - [(run finisher())] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1060] = 1;
		if (!(addproc(II, 1, 0, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 108: // STATE 1064 - /tmp/w/models/conformance/models/close.pml:425 - [((want&&token))] (1084:0:2 - 1)
		IfNotBlocked
		reached[3][1064] = 1;
		if (!((((int)((P3 *)_this)->want)&&((int)now.token))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: want = 0(0, 1065, 1084) */
		reached[3][1065] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		/* merge: goto :b170(0, 1067, 1084) */
		reached[3][1067] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 109: // STATE 1068 - /tmp/w/models/conformance/models/close.pml:426 - [(!(want))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1068] = 1;
		if (!( !(((int)((P3 *)_this)->want))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.oval = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		_m = 3; goto P999; /* 0 */
	case 110: // STATE 1074 - /tmp/w/models/conformance/models/close.pml:679 - [((!(over)&&streamClosed))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1074] = 1;
		if (!(( !(((int)((P3 *)_this)->over))&&((int)now.streamClosed))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: over */  (trpt+1)->bup.oval = ((P3 *)_this)->over;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->over = 0;
		_m = 3; goto P999; /* 0 */
	case 111: // STATE 1075 - /tmp/w/models/conformance/models/close.pml:679 - [why = LOST] (0:1084:2 - 1)
		IfNotBlocked
		reached[3][1075] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->why;
		((P3 *)_this)->why = 1;
#ifdef VAR_RANGES
		logval("receiver:why", ((P3 *)_this)->why);
#endif
		;
		/* merge: over = 1(1084, 1076, 1084) */
		reached[3][1076] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->over);
		((P3 *)_this)->over = 1;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		/* merge: .(goto)(0, 1085, 1084) */
		reached[3][1085] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 112: // STATE 1077 - /tmp/w/models/conformance/models/close.pml:680 - [((!(over)&&deadline))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1077] = 1;
		if (!(( !(((int)((P3 *)_this)->over))&&((int)now.deadline))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: over */  (trpt+1)->bup.oval = ((P3 *)_this)->over;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->over = 0;
		_m = 3; goto P999; /* 0 */
	case 113: // STATE 1078 - /tmp/w/models/conformance/models/close.pml:680 - [why = TIMEOUT] (0:1084:2 - 1)
		IfNotBlocked
		reached[3][1078] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->why;
		((P3 *)_this)->why = 2;
#ifdef VAR_RANGES
		logval("receiver:why", ((P3 *)_this)->why);
#endif
		;
		/* merge: over = 1(1084, 1079, 1084) */
		reached[3][1079] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->over);
		((P3 *)_this)->over = 1;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		/* merge: .(goto)(0, 1085, 1084) */
		reached[3][1085] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 114: // STATE 1080 - /tmp/w/models/conformance/models/close.pml:681 - [(((!(over)&&!(good))&&(events>0)))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1080] = 1;
		if (!((( !(((int)((P3 *)_this)->over))&& !(((int)now.good)))&&(((int)now.events)>0))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: over */  (trpt+1)->bup.oval = ((P3 *)_this)->over;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->over = 0;
		_m = 3; goto P999; /* 0 */
	case 115: // STATE 1081 - /tmp/w/models/conformance/models/close.pml:681 - [events = (events-1)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1081] = 1;
		(trpt+1)->bup.oval = ((int)now.events);
		now.events = (((int)now.events)-1);
#ifdef VAR_RANGES
		logval("events", ((int)now.events));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 116: // STATE 1082 - /tmp/w/models/conformance/models/close.pml:681 - [why = LOST] (0:1084:2 - 1)
		IfNotBlocked
		reached[3][1082] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->why;
		((P3 *)_this)->why = 1;
#ifdef VAR_RANGES
		logval("receiver:why", ((P3 *)_this)->why);
#endif
		;
		/* merge: over = 1(1084, 1083, 1084) */
		reached[3][1083] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->over);
		((P3 *)_this)->over = 1;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		/* merge: .(goto)(0, 1085, 1084) */
		reached[3][1085] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 117: // STATE 1087 - /tmp/w/models/conformance/models/close.pml:683 - [over = 0] (0:3164:1 - 3)
		IfNotBlocked
		reached[3][1087] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->over);
		((P3 *)_this)->over = 0;
#ifdef VAR_RANGES
		logval("receiver:over", ((int)((P3 *)_this)->over));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 118: // STATE 1088 - /tmp/w/models/conformance/models/close.pml:685 - [((state!=RTS))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1088] = 1;
		if (!((now.state!=9)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 119: // STATE 1089 - /tmp/w/models/conformance/models/close.pml:687 - [((why==END))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1089] = 1;
		if (!((((P3 *)_this)->why==3)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: why */  (trpt+1)->bup.oval = ((P3 *)_this)->why;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->why = 0;
		_m = 3; goto P999; /* 0 */
	case 120: // STATE 1110 - /tmp/w/models/conformance/models/close.pml:270 - [D_STEP270]
		IfNotBlocked

		reached[3][1110] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3945_0: /* 2 */
		now.peerClosed = 1;
#ifdef VAR_RANGES
		logval("peerClosed", ((int)now.peerClosed));
#endif
		;
S_3963_0: /* 2 */
S_3946_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_3963_1;
S_3960_0: /* 2 */
S_3947_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3958_0: /* 2 */
S_3957_0: /* 2 */
S_3948_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_3957_1;
S_3952_0: /* 2 */
S_3949_0: /* 2 */
		if (!((((int)now.isRead[ Index(((int)((P3 *)_this)->i), 2) ])||(0&&(now.progress[ Index(((int)((P3 *)_this)->i), 2) ]==13)))))
			goto S_3952_1;
S_3950_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_3953_0;
S_3952_1: /* 3 */
S_3951_0: /* 2 */
		/* else */;
		goto S_3953_0;
S_3952_2: /* 3 */
		Uerror("blocking sel in d_step (nr.104, near line 130)");
S_3953_0: /* 2 */
S_3954_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3958_0; /* ';' */
S_3957_1: /* 3 */
S_3955_0: /* 2 */
		/* else */;
S_3956_0: /* 2 */
		goto S_3961_0;	/* 'goto' */
S_3957_2: /* 3 */
		Uerror("blocking sel in d_step (nr.105, near line 128)");
S_3959_0: /* 2 */
		goto S_3961_0;	/* 'break' */
		goto S_3961_0;
S_3961_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_3964_0;
S_3963_1: /* 3 */
S_3962_0: /* 2 */
		/* else */;
		goto S_3964_0;
S_3963_2: /* 3 */
		Uerror("blocking sel in d_step (nr.106, near line 273)");
S_3964_0: /* 2 */
		goto S_4026_0;
S_4026_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 121: // STATE 1111 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1111] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 122: // STATE 1154 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][1154] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_3967_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_3973_0: /* 2 */
S_3972_0: /* 2 */
S_3968_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_3972_1;
S_3969_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_3973_0; /* ';' */
S_3972_1: /* 3 */
S_3970_0: /* 2 */
		/* else */;
S_3971_0: /* 2 */
		goto S_4007_0;	/* 'goto' */
S_3972_2: /* 3 */
		Uerror("blocking sel in d_step (nr.107, near line 174)");
S_3974_0: /* 2 */
		goto S_4007_0;	/* 'break' */
S_4007_0: /* 2 */
S_3975_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_4007_1;
S_3976_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_3977_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4005_0: /* 2 */
S_4003_0: /* 2 */
S_4002_0: /* 2 */
S_3978_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_4002_1;
S_3987_0: /* 2 */
S_3985_0: /* 2 */
S_3979_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_3985_1;
S_3980_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_3981_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_3982_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_3983_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_3986_0;
S_3985_1: /* 3 */
S_3984_0: /* 2 */
		/* else */;
		goto S_3986_0;
S_3985_2: /* 3 */
		Uerror("blocking sel in d_step (nr.108, near line 81)");
S_3986_0: /* 2 */
		goto S_3988_0;
S_3988_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_3989_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_3993_0: /* 2 */
S_3990_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_3993_1;
S_3991_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_3994_0;
S_3993_1: /* 3 */
S_3992_0: /* 2 */
		/* else */;
		goto S_3994_0;
S_3993_2: /* 3 */
		Uerror("blocking sel in d_step (nr.109, near line 105)");
S_3994_0: /* 2 */
S_3998_0: /* 2 */
S_3995_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_3998_1;
S_3996_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_3999_0;
S_3998_1: /* 3 */
S_3997_0: /* 2 */
		/* else */;
		goto S_3999_0;
S_3998_2: /* 3 */
		Uerror("blocking sel in d_step (nr.110, near line 106)");
S_3999_0: /* 2 */
		goto S_4003_0; /* '.' */
		goto S_4003_0; /* ';' */
S_4002_1: /* 3 */
S_4000_0: /* 2 */
		/* else */;
S_4001_0: /* 2 */
		goto S_4004_0;	/* 'goto' */
S_4002_2: /* 3 */
		Uerror("blocking sel in d_step (nr.111, near line 92)");
S_4004_0: /* 2 */
		goto S_4008_0;	/* 'break' */
S_4007_1: /* 3 */
S_4006_0: /* 2 */
		/* else */;
		goto S_4008_0;
S_4007_2: /* 3 */
		Uerror("blocking sel in d_step (nr.112, near line 181)");
S_4008_0: /* 2 */
		goto S_4018_0;
S_4018_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 123: // STATE 1155 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1155] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 124: // STATE 1158 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][1158] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4011_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_4012_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_4016_0;
S_4016_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 125: // STATE 1161 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][1161] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4014_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4015_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4019_0;
S_4019_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 126: // STATE 1224 - /tmp/w/models/conformance/models/close.pml:280 - [D_STEP280]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][1224] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;


		reached[3][1224] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		sv_save();
		S_4078_0: /* 2 */
S_4038_0: /* 2 */
S_4027_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_4038_1;
S_4036_0: /* 2 */
S_4034_0: /* 2 */
S_4033_0: /* 2 */
S_4028_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_4033_1;
S_4029_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4030_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4034_0; /* ';' */
S_4033_1: /* 3 */
S_4031_0: /* 2 */
		/* else */;
S_4032_0: /* 2 */
		goto S_4076_0;	/* 'goto' */
S_4033_2: /* 3 */
		Uerror("blocking sel in d_step (nr.113, near line 112)");
S_4035_0: /* 2 */
		goto S_4076_0;	/* 'break' */
		goto S_4039_0;
S_4038_1: /* 3 */
S_4037_0: /* 2 */
		/* else */;
		goto S_4039_0;
S_4038_2: /* 3 */
		Uerror("blocking sel in d_step (nr.114, near line 153)");
S_4039_0: /* 2 */
S_4076_0: /* 2 */
S_4040_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_4076_1;
S_4073_0: /* 2 */
S_4041_0: /* 2 */
		if (!((now.state==8)))
			goto S_4073_1;
S_4069_0: /* 2 */
S_4042_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_4043_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_4044_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_4045_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_4055_0: /* 2 */
S_4046_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4053_0: /* 2 */
S_4052_0: /* 2 */
S_4047_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_4052_1;
S_4048_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4049_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4053_0; /* ';' */
S_4052_1: /* 3 */
S_4050_0: /* 2 */
		/* else */;
S_4051_0: /* 2 */
		goto S_4065_0;	/* 'goto' */
S_4052_2: /* 3 */
		Uerror("blocking sel in d_step (nr.115, near line 120)");
S_4054_0: /* 2 */
		goto S_4065_0;	/* 'break' */
		goto S_4066_0;
S_4066_0: /* 2 */
S_4065_0: /* 2 */
S_4056_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_4065_1;
S_4060_0: /* 2 */
S_4057_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_4060_1;
S_4058_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_4061_0;
S_4060_1: /* 3 */
S_4059_0: /* 2 */
		/* else */;
		goto S_4061_0;
S_4060_2: /* 3 */
		Uerror("blocking sel in d_step (nr.116, near line 145)");
S_4061_0: /* 2 */
S_4062_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4066_0; /* ';' */
S_4065_1: /* 3 */
S_4063_0: /* 2 */
		/* else */;
S_4064_0: /* 2 */
		goto S_4068_0;	/* 'goto' */
S_4065_2: /* 3 */
		Uerror("blocking sel in d_step (nr.117, near line 143)");
S_4067_0: /* 2 */
		goto S_4068_0;	/* 'break' */
S_4068_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_4074_0;
S_4073_1: /* 3 */
S_4070_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_4073_2;
S_4071_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_4074_0;
S_4073_2: /* 3 */
S_4072_0: /* 2 */
		/* else */;
		goto S_4074_0;
S_4073_3: /* 3 */
		Uerror("blocking sel in d_step (nr.118, near line 159)");
S_4074_0: /* 2 */
		goto S_4077_0;
S_4076_1: /* 3 */
S_4075_0: /* 2 */
		/* else */;
		goto S_4077_0;
S_4076_2: /* 3 */
		Uerror("blocking sel in d_step (nr.119, near line 157)");
S_4077_0: /* 2 */
		goto S_4140_0;
S_4140_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 127: // STATE 1225 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1225] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 128: // STATE 1268 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][1268] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4081_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4087_0: /* 2 */
S_4086_0: /* 2 */
S_4082_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_4086_1;
S_4083_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4087_0; /* ';' */
S_4086_1: /* 3 */
S_4084_0: /* 2 */
		/* else */;
S_4085_0: /* 2 */
		goto S_4121_0;	/* 'goto' */
S_4086_2: /* 3 */
		Uerror("blocking sel in d_step (nr.120, near line 174)");
S_4088_0: /* 2 */
		goto S_4121_0;	/* 'break' */
S_4121_0: /* 2 */
S_4089_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_4121_1;
S_4090_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_4091_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4119_0: /* 2 */
S_4117_0: /* 2 */
S_4116_0: /* 2 */
S_4092_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_4116_1;
S_4101_0: /* 2 */
S_4099_0: /* 2 */
S_4093_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_4099_1;
S_4094_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_4095_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_4096_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_4097_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_4100_0;
S_4099_1: /* 3 */
S_4098_0: /* 2 */
		/* else */;
		goto S_4100_0;
S_4099_2: /* 3 */
		Uerror("blocking sel in d_step (nr.121, near line 81)");
S_4100_0: /* 2 */
		goto S_4102_0;
S_4102_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_4103_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_4107_0: /* 2 */
S_4104_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_4107_1;
S_4105_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4108_0;
S_4107_1: /* 3 */
S_4106_0: /* 2 */
		/* else */;
		goto S_4108_0;
S_4107_2: /* 3 */
		Uerror("blocking sel in d_step (nr.122, near line 105)");
S_4108_0: /* 2 */
S_4112_0: /* 2 */
S_4109_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_4112_1;
S_4110_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4113_0;
S_4112_1: /* 3 */
S_4111_0: /* 2 */
		/* else */;
		goto S_4113_0;
S_4112_2: /* 3 */
		Uerror("blocking sel in d_step (nr.123, near line 106)");
S_4113_0: /* 2 */
		goto S_4117_0; /* '.' */
		goto S_4117_0; /* ';' */
S_4116_1: /* 3 */
S_4114_0: /* 2 */
		/* else */;
S_4115_0: /* 2 */
		goto S_4118_0;	/* 'goto' */
S_4116_2: /* 3 */
		Uerror("blocking sel in d_step (nr.124, near line 92)");
S_4118_0: /* 2 */
		goto S_4122_0;	/* 'break' */
S_4121_1: /* 3 */
S_4120_0: /* 2 */
		/* else */;
		goto S_4122_0;
S_4121_2: /* 3 */
		Uerror("blocking sel in d_step (nr.125, near line 181)");
S_4122_0: /* 2 */
		goto S_4132_0;
S_4132_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 129: // STATE 1269 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1269] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 130: // STATE 1272 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][1272] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4125_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_4126_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_4130_0;
S_4130_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 131: // STATE 1275 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][1275] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4128_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4129_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4133_0;
S_4133_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 132: // STATE 1287 - /tmp/w/models/conformance/models/close.pml:688 - [((why==NOTHING))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1287] = 1;
		if (!((((P3 *)_this)->why==4)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: why */  (trpt+1)->bup.oval = ((P3 *)_this)->why;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->why = 0;
		_m = 3; goto P999; /* 0 */
	case 133: // STATE 1288 - /tmp/w/models/conformance/models/close.pml:688 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1288] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 134: // STATE 1307 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][1307] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4158_0: /* 2 */
S_4147_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_4158_1;
S_4156_0: /* 2 */
S_4154_0: /* 2 */
S_4153_0: /* 2 */
S_4148_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_4153_1;
S_4149_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4150_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4154_0; /* ';' */
S_4153_1: /* 3 */
S_4151_0: /* 2 */
		/* else */;
S_4152_0: /* 2 */
		goto S_4160_0;	/* 'goto' */
S_4153_2: /* 3 */
		Uerror("blocking sel in d_step (nr.126, near line 112)");
S_4155_0: /* 2 */
		goto S_4160_0;	/* 'break' */
		goto S_4159_0;
S_4158_1: /* 3 */
S_4157_0: /* 2 */
		/* else */;
		goto S_4159_0;
S_4158_2: /* 3 */
		Uerror("blocking sel in d_step (nr.127, near line 301)");
S_4159_0: /* 2 */
S_4160_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_4161_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4696_0;
S_4696_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 135: // STATE 1309 - /tmp/w/models/conformance/models/close.pml:413 - [((want&&!(token)))] (1806:0:2 - 1)
		IfNotBlocked
		reached[3][1309] = 1;
		if (!((((int)((P3 *)_this)->want)&& !(((int)now.token)))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: token = 1(0, 1310, 1806) */
		reached[3][1310] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.token);
		now.token = 1;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 136: // STATE 1312 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1312] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 137: // STATE 1313 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1313] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 138: // STATE 1346 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[3][1346] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4199_0: /* 2 */
S_4198_0: /* 2 */
S_4169_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_4198_1;
S_4170_0: /* 2 */
		goto S_4200_0;	/* 'goto' */
S_4198_1: /* 3 */
S_4171_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_4198_2;
S_4172_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_4173_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_4174_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_4199_0; /* ';' */
S_4198_2: /* 3 */
S_4175_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_4198_3;
S_4184_0: /* 2 */
S_4182_0: /* 2 */
S_4181_0: /* 2 */
S_4176_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_4181_1;
S_4177_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4178_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4182_0; /* ';' */
S_4181_1: /* 3 */
S_4179_0: /* 2 */
		/* else */;
S_4180_0: /* 2 */
		goto S_4194_0;	/* 'goto' */
S_4181_2: /* 3 */
		Uerror("blocking sel in d_step (nr.128, near line 112)");
S_4183_0: /* 2 */
		goto S_4194_0;	/* 'break' */
		goto S_4194_0;
S_4194_0: /* 2 */
S_4185_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_4194_1;
S_4186_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4187_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_4188_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_4189_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_4190_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_4191_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_4195_0;
S_4194_1: /* 3 */
S_4192_0: /* 2 */
		/* else */;
S_4193_0: /* 2 */
		goto S_4200_0;	/* 'goto' */
		goto S_4195_0;
S_4194_2: /* 3 */
		Uerror("blocking sel in d_step (nr.129, near line 317)");
S_4195_0: /* 2 */
		goto S_4199_0; /* '.' */
		goto S_4199_0; /* ';' */
S_4198_3: /* 3 */
S_4196_0: /* 2 */
		/* else */;
S_4197_0: /* 2 */
		goto S_4200_0;	/* 'goto' */
		goto S_4199_0; /* ';' */
S_4198_4: /* 3 */
		Uerror("blocking sel in d_step (nr.130, near line 312)");
S_4200_0: /* 2 */
		goto S_4655_0;	/* 'break' */
S_4205_0: /* 1 */
S_4655_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 139: // STATE 1351 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1351] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 140: // STATE 1352 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1352] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 141: // STATE 1385 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][1385] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4238_0: /* 2 */
S_4208_0: /* 2 */
		if (!((now.state!=5)))
			goto S_4238_1;
S_4236_0: /* 2 */
S_4209_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_4210_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_4211_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_4212_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_4222_0: /* 2 */
S_4213_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4220_0: /* 2 */
S_4219_0: /* 2 */
S_4214_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_4219_1;
S_4215_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4216_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4220_0; /* ';' */
S_4219_1: /* 3 */
S_4217_0: /* 2 */
		/* else */;
S_4218_0: /* 2 */
		goto S_4232_0;	/* 'goto' */
S_4219_2: /* 3 */
		Uerror("blocking sel in d_step (nr.131, near line 120)");
S_4221_0: /* 2 */
		goto S_4232_0;	/* 'break' */
		goto S_4233_0;
S_4233_0: /* 2 */
S_4232_0: /* 2 */
S_4223_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_4232_1;
S_4227_0: /* 2 */
S_4224_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_4227_1;
S_4225_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_4228_0;
S_4227_1: /* 3 */
S_4226_0: /* 2 */
		/* else */;
		goto S_4228_0;
S_4227_2: /* 3 */
		Uerror("blocking sel in d_step (nr.132, near line 145)");
S_4228_0: /* 2 */
S_4229_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4233_0; /* ';' */
S_4232_1: /* 3 */
S_4230_0: /* 2 */
		/* else */;
S_4231_0: /* 2 */
		goto S_4235_0;	/* 'goto' */
S_4232_2: /* 3 */
		Uerror("blocking sel in d_step (nr.133, near line 143)");
S_4234_0: /* 2 */
		goto S_4235_0;	/* 'break' */
S_4235_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_4239_0;
S_4238_1: /* 3 */
S_4237_0: /* 2 */
		/* else */;
		goto S_4239_0;
S_4238_2: /* 3 */
		Uerror("blocking sel in d_step (nr.134, near line 240)");
S_4239_0: /* 2 */
		goto S_4301_0;
S_4301_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 142: // STATE 1386 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1386] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 143: // STATE 1429 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][1429] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4242_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4248_0: /* 2 */
S_4247_0: /* 2 */
S_4243_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_4247_1;
S_4244_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4248_0; /* ';' */
S_4247_1: /* 3 */
S_4245_0: /* 2 */
		/* else */;
S_4246_0: /* 2 */
		goto S_4282_0;	/* 'goto' */
S_4247_2: /* 3 */
		Uerror("blocking sel in d_step (nr.135, near line 174)");
S_4249_0: /* 2 */
		goto S_4282_0;	/* 'break' */
S_4282_0: /* 2 */
S_4250_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_4282_1;
S_4251_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_4252_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4280_0: /* 2 */
S_4278_0: /* 2 */
S_4277_0: /* 2 */
S_4253_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_4277_1;
S_4262_0: /* 2 */
S_4260_0: /* 2 */
S_4254_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_4260_1;
S_4255_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_4256_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_4257_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_4258_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_4261_0;
S_4260_1: /* 3 */
S_4259_0: /* 2 */
		/* else */;
		goto S_4261_0;
S_4260_2: /* 3 */
		Uerror("blocking sel in d_step (nr.136, near line 81)");
S_4261_0: /* 2 */
		goto S_4263_0;
S_4263_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_4264_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_4268_0: /* 2 */
S_4265_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_4268_1;
S_4266_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4269_0;
S_4268_1: /* 3 */
S_4267_0: /* 2 */
		/* else */;
		goto S_4269_0;
S_4268_2: /* 3 */
		Uerror("blocking sel in d_step (nr.137, near line 105)");
S_4269_0: /* 2 */
S_4273_0: /* 2 */
S_4270_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_4273_1;
S_4271_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4274_0;
S_4273_1: /* 3 */
S_4272_0: /* 2 */
		/* else */;
		goto S_4274_0;
S_4273_2: /* 3 */
		Uerror("blocking sel in d_step (nr.138, near line 106)");
S_4274_0: /* 2 */
		goto S_4278_0; /* '.' */
		goto S_4278_0; /* ';' */
S_4277_1: /* 3 */
S_4275_0: /* 2 */
		/* else */;
S_4276_0: /* 2 */
		goto S_4279_0;	/* 'goto' */
S_4277_2: /* 3 */
		Uerror("blocking sel in d_step (nr.139, near line 92)");
S_4279_0: /* 2 */
		goto S_4283_0;	/* 'break' */
S_4282_1: /* 3 */
S_4281_0: /* 2 */
		/* else */;
		goto S_4283_0;
S_4282_2: /* 3 */
		Uerror("blocking sel in d_step (nr.140, near line 181)");
S_4283_0: /* 2 */
		goto S_4293_0;
S_4293_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 144: // STATE 1430 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1430] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 145: // STATE 1433 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][1433] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4286_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_4287_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_4291_0;
S_4291_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 146: // STATE 1436 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][1436] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4289_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4290_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4294_0;
S_4294_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 147: // STATE 1466 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][1466] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4317_0: /* 2 */
S_4306_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_4317_1;
S_4315_0: /* 2 */
S_4313_0: /* 2 */
S_4312_0: /* 2 */
S_4307_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_4312_1;
S_4308_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4309_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4313_0; /* ';' */
S_4312_1: /* 3 */
S_4310_0: /* 2 */
		/* else */;
S_4311_0: /* 2 */
		goto S_4319_0;	/* 'goto' */
S_4312_2: /* 3 */
		Uerror("blocking sel in d_step (nr.141, near line 112)");
S_4314_0: /* 2 */
		goto S_4319_0;	/* 'break' */
		goto S_4318_0;
S_4317_1: /* 3 */
S_4316_0: /* 2 */
		/* else */;
		goto S_4318_0;
S_4317_2: /* 3 */
		Uerror("blocking sel in d_step (nr.142, near line 301)");
S_4318_0: /* 2 */
S_4319_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_4320_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4433_0;
S_4433_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 148: // STATE 1468 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1468] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 149: // STATE 1469 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1469] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 150: // STATE 1470 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1470] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 151: // STATE 1473 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[3][1473] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4326_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_4327_0: /* 2 */
		((P3 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_4429_0;
S_4429_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 152: // STATE 1474 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1474] = 1;
		if (!(((int)((P3 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P3 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 153: // STATE 1477 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[3][1477] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4330_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_4331_0: /* 2 */
		((P3 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_4427_0;
S_4427_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 154: // STATE 1510 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][1510] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4363_0: /* 2 */
S_4333_0: /* 2 */
		if (!((now.state!=5)))
			goto S_4363_1;
S_4361_0: /* 2 */
S_4334_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_4335_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_4336_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_4337_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_4347_0: /* 2 */
S_4338_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4345_0: /* 2 */
S_4344_0: /* 2 */
S_4339_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_4344_1;
S_4340_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4341_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4345_0; /* ';' */
S_4344_1: /* 3 */
S_4342_0: /* 2 */
		/* else */;
S_4343_0: /* 2 */
		goto S_4357_0;	/* 'goto' */
S_4344_2: /* 3 */
		Uerror("blocking sel in d_step (nr.143, near line 120)");
S_4346_0: /* 2 */
		goto S_4357_0;	/* 'break' */
		goto S_4358_0;
S_4358_0: /* 2 */
S_4357_0: /* 2 */
S_4348_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_4357_1;
S_4352_0: /* 2 */
S_4349_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_4352_1;
S_4350_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_4353_0;
S_4352_1: /* 3 */
S_4351_0: /* 2 */
		/* else */;
		goto S_4353_0;
S_4352_2: /* 3 */
		Uerror("blocking sel in d_step (nr.144, near line 145)");
S_4353_0: /* 2 */
S_4354_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4358_0; /* ';' */
S_4357_1: /* 3 */
S_4355_0: /* 2 */
		/* else */;
S_4356_0: /* 2 */
		goto S_4360_0;	/* 'goto' */
S_4357_2: /* 3 */
		Uerror("blocking sel in d_step (nr.145, near line 143)");
S_4359_0: /* 2 */
		goto S_4360_0;	/* 'break' */
S_4360_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_4364_0;
S_4363_1: /* 3 */
S_4362_0: /* 2 */
		/* else */;
		goto S_4364_0;
S_4363_2: /* 3 */
		Uerror("blocking sel in d_step (nr.146, near line 240)");
S_4364_0: /* 2 */
		goto S_4426_0;
S_4426_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 155: // STATE 1511 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1511] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 156: // STATE 1554 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][1554] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4367_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4373_0: /* 2 */
S_4372_0: /* 2 */
S_4368_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_4372_1;
S_4369_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4373_0; /* ';' */
S_4372_1: /* 3 */
S_4370_0: /* 2 */
		/* else */;
S_4371_0: /* 2 */
		goto S_4407_0;	/* 'goto' */
S_4372_2: /* 3 */
		Uerror("blocking sel in d_step (nr.147, near line 174)");
S_4374_0: /* 2 */
		goto S_4407_0;	/* 'break' */
S_4407_0: /* 2 */
S_4375_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_4407_1;
S_4376_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_4377_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4405_0: /* 2 */
S_4403_0: /* 2 */
S_4402_0: /* 2 */
S_4378_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_4402_1;
S_4387_0: /* 2 */
S_4385_0: /* 2 */
S_4379_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_4385_1;
S_4380_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_4381_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_4382_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_4383_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_4386_0;
S_4385_1: /* 3 */
S_4384_0: /* 2 */
		/* else */;
		goto S_4386_0;
S_4385_2: /* 3 */
		Uerror("blocking sel in d_step (nr.148, near line 81)");
S_4386_0: /* 2 */
		goto S_4388_0;
S_4388_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_4389_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_4393_0: /* 2 */
S_4390_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_4393_1;
S_4391_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4394_0;
S_4393_1: /* 3 */
S_4392_0: /* 2 */
		/* else */;
		goto S_4394_0;
S_4393_2: /* 3 */
		Uerror("blocking sel in d_step (nr.149, near line 105)");
S_4394_0: /* 2 */
S_4398_0: /* 2 */
S_4395_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_4398_1;
S_4396_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4399_0;
S_4398_1: /* 3 */
S_4397_0: /* 2 */
		/* else */;
		goto S_4399_0;
S_4398_2: /* 3 */
		Uerror("blocking sel in d_step (nr.150, near line 106)");
S_4399_0: /* 2 */
		goto S_4403_0; /* '.' */
		goto S_4403_0; /* ';' */
S_4402_1: /* 3 */
S_4400_0: /* 2 */
		/* else */;
S_4401_0: /* 2 */
		goto S_4404_0;	/* 'goto' */
S_4402_2: /* 3 */
		Uerror("blocking sel in d_step (nr.151, near line 92)");
S_4404_0: /* 2 */
		goto S_4408_0;	/* 'break' */
S_4407_1: /* 3 */
S_4406_0: /* 2 */
		/* else */;
		goto S_4408_0;
S_4407_2: /* 3 */
		Uerror("blocking sel in d_step (nr.152, near line 181)");
S_4408_0: /* 2 */
		goto S_4418_0;
S_4418_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 157: // STATE 1555 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1555] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 158: // STATE 1558 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][1558] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4411_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_4412_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_4416_0;
S_4416_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 159: // STATE 1561 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][1561] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4414_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4415_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4419_0;
S_4419_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 160: // STATE 1583 - /tmp/w/models/conformance/models/close.pml:387 - [(!(0))] (1805:0:1 - 1)
		IfNotBlocked
		reached[3][1583] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 1584, 1805) */
		reached[3][1584] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b209(0, 1585, 1805) */
		reached[3][1585] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 161: // STATE 1586 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1586] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 162: // STATE 1601 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[3][1601] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4442_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4450_0: /* 2 */
S_4449_0: /* 2 */
S_4443_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_4449_1;
S_4444_0: /* 2 */
		now.wire[ Index(((P3 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[receiver:i]", ((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4445_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4446_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4450_0; /* ';' */
S_4449_1: /* 3 */
S_4447_0: /* 2 */
		/* else */;
S_4448_0: /* 2 */
		goto S_4452_0;	/* 'goto' */
S_4449_2: /* 3 */
		Uerror("blocking sel in d_step (nr.153, near line 391)");
S_4451_0: /* 2 */
		goto S_4452_0;	/* 'break' */
S_4452_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4453_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_4454_0: /* 2 */
		((P3 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_4455_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_4623_0;
S_4623_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 163: // STATE 1706 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[3][1706] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4477_0: /* 2 */
S_4476_0: /* 2 */
S_4457_0: /* 2 */
		if (!(((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_4476_1;
S_4463_0: /* 2 */
S_4462_0: /* 2 */
S_4458_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_4462_1;
S_4459_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4463_0; /* ';' */
S_4462_1: /* 3 */
S_4460_0: /* 2 */
		/* else */;
S_4461_0: /* 2 */
		goto S_4465_0;	/* 'goto' */
S_4462_2: /* 3 */
		Uerror("blocking sel in d_step (nr.154, near line 218)");
S_4464_0: /* 2 */
		goto S_4465_0;	/* 'break' */
S_4465_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_4469_0: /* 2 */
S_4466_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_4469_1;
S_4467_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_4470_0;
S_4469_1: /* 3 */
S_4468_0: /* 2 */
		/* else */;
		goto S_4470_0;
S_4469_2: /* 3 */
		Uerror("blocking sel in d_step (nr.155, near line 223)");
S_4470_0: /* 2 */
S_4471_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_4472_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_4473_0: /* 2 */
		((P3 *)_this)->n = (((int)((P3 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
		goto S_4477_0; /* ';' */
S_4476_1: /* 3 */
S_4474_0: /* 2 */
		/* else */;
S_4475_0: /* 2 */
		goto S_4479_0;	/* 'goto' */
S_4476_2: /* 3 */
		Uerror("blocking sel in d_step (nr.156, near line 216)");
S_4478_0: /* 2 */
		goto S_4479_0;	/* 'break' */
S_4479_0: /* 2 */
		((P3 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_4480_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_4508_0: /* 2 */
S_4506_0: /* 2 */
S_4505_0: /* 2 */
S_4481_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_4505_1;
S_4490_0: /* 2 */
S_4488_0: /* 2 */
S_4482_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_4488_1;
S_4483_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_4484_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_4485_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_4486_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_4489_0;
S_4488_1: /* 3 */
S_4487_0: /* 2 */
		/* else */;
		goto S_4489_0;
S_4488_2: /* 3 */
		Uerror("blocking sel in d_step (nr.157, near line 81)");
S_4489_0: /* 2 */
		goto S_4491_0;
S_4491_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_4492_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_4496_0: /* 2 */
S_4493_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_4496_1;
S_4494_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4497_0;
S_4496_1: /* 3 */
S_4495_0: /* 2 */
		/* else */;
		goto S_4497_0;
S_4496_2: /* 3 */
		Uerror("blocking sel in d_step (nr.158, near line 105)");
S_4497_0: /* 2 */
S_4501_0: /* 2 */
S_4498_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_4501_1;
S_4499_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4502_0;
S_4501_1: /* 3 */
S_4500_0: /* 2 */
		/* else */;
		goto S_4502_0;
S_4501_2: /* 3 */
		Uerror("blocking sel in d_step (nr.159, near line 106)");
S_4502_0: /* 2 */
		goto S_4506_0; /* '.' */
		goto S_4506_0; /* ';' */
S_4505_1: /* 3 */
S_4503_0: /* 2 */
		/* else */;
S_4504_0: /* 2 */
		goto S_4560_0;	/* 'goto' */
S_4505_2: /* 3 */
		Uerror("blocking sel in d_step (nr.160, near line 92)");
S_4507_0: /* 2 */
		goto S_4560_0;	/* 'break' */
		goto S_4560_0;
S_4560_0: /* 2 */
S_4520_0: /* 2 */
S_4509_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_4520_1;
S_4518_0: /* 2 */
S_4516_0: /* 2 */
S_4515_0: /* 2 */
S_4510_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_4515_1;
S_4511_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4512_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4516_0; /* ';' */
S_4515_1: /* 3 */
S_4513_0: /* 2 */
		/* else */;
S_4514_0: /* 2 */
		goto S_4558_0;	/* 'goto' */
S_4515_2: /* 3 */
		Uerror("blocking sel in d_step (nr.161, near line 112)");
S_4517_0: /* 2 */
		goto S_4558_0;	/* 'break' */
		goto S_4521_0;
S_4520_1: /* 3 */
S_4519_0: /* 2 */
		/* else */;
		goto S_4521_0;
S_4520_2: /* 3 */
		Uerror("blocking sel in d_step (nr.162, near line 153)");
S_4521_0: /* 2 */
S_4558_0: /* 2 */
S_4522_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_4558_1;
S_4555_0: /* 2 */
S_4523_0: /* 2 */
		if (!((now.state==8)))
			goto S_4555_1;
S_4551_0: /* 2 */
S_4524_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_4525_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_4526_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_4527_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_4537_0: /* 2 */
S_4528_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4535_0: /* 2 */
S_4534_0: /* 2 */
S_4529_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_4534_1;
S_4530_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4531_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4535_0; /* ';' */
S_4534_1: /* 3 */
S_4532_0: /* 2 */
		/* else */;
S_4533_0: /* 2 */
		goto S_4547_0;	/* 'goto' */
S_4534_2: /* 3 */
		Uerror("blocking sel in d_step (nr.163, near line 120)");
S_4536_0: /* 2 */
		goto S_4547_0;	/* 'break' */
		goto S_4548_0;
S_4548_0: /* 2 */
S_4547_0: /* 2 */
S_4538_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_4547_1;
S_4542_0: /* 2 */
S_4539_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_4542_1;
S_4540_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_4543_0;
S_4542_1: /* 3 */
S_4541_0: /* 2 */
		/* else */;
		goto S_4543_0;
S_4542_2: /* 3 */
		Uerror("blocking sel in d_step (nr.164, near line 145)");
S_4543_0: /* 2 */
S_4544_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4548_0; /* ';' */
S_4547_1: /* 3 */
S_4545_0: /* 2 */
		/* else */;
S_4546_0: /* 2 */
		goto S_4550_0;	/* 'goto' */
S_4547_2: /* 3 */
		Uerror("blocking sel in d_step (nr.165, near line 143)");
S_4549_0: /* 2 */
		goto S_4550_0;	/* 'break' */
S_4550_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_4556_0;
S_4555_1: /* 3 */
S_4552_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_4555_2;
S_4553_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_4556_0;
S_4555_2: /* 3 */
S_4554_0: /* 2 */
		/* else */;
		goto S_4556_0;
S_4555_3: /* 3 */
		Uerror("blocking sel in d_step (nr.166, near line 159)");
S_4556_0: /* 2 */
		goto S_4559_0;
S_4558_1: /* 3 */
S_4557_0: /* 2 */
		/* else */;
		goto S_4559_0;
S_4558_2: /* 3 */
		Uerror("blocking sel in d_step (nr.167, near line 157)");
S_4559_0: /* 2 */
		goto S_4622_0;
S_4622_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 164: // STATE 1707 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1707] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 165: // STATE 1750 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][1750] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4563_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4569_0: /* 2 */
S_4568_0: /* 2 */
S_4564_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_4568_1;
S_4565_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4569_0; /* ';' */
S_4568_1: /* 3 */
S_4566_0: /* 2 */
		/* else */;
S_4567_0: /* 2 */
		goto S_4603_0;	/* 'goto' */
S_4568_2: /* 3 */
		Uerror("blocking sel in d_step (nr.168, near line 174)");
S_4570_0: /* 2 */
		goto S_4603_0;	/* 'break' */
S_4603_0: /* 2 */
S_4571_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_4603_1;
S_4572_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_4573_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4601_0: /* 2 */
S_4599_0: /* 2 */
S_4598_0: /* 2 */
S_4574_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_4598_1;
S_4583_0: /* 2 */
S_4581_0: /* 2 */
S_4575_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_4581_1;
S_4576_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_4577_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_4578_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_4579_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_4582_0;
S_4581_1: /* 3 */
S_4580_0: /* 2 */
		/* else */;
		goto S_4582_0;
S_4581_2: /* 3 */
		Uerror("blocking sel in d_step (nr.169, near line 81)");
S_4582_0: /* 2 */
		goto S_4584_0;
S_4584_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_4585_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_4589_0: /* 2 */
S_4586_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_4589_1;
S_4587_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4590_0;
S_4589_1: /* 3 */
S_4588_0: /* 2 */
		/* else */;
		goto S_4590_0;
S_4589_2: /* 3 */
		Uerror("blocking sel in d_step (nr.170, near line 105)");
S_4590_0: /* 2 */
S_4594_0: /* 2 */
S_4591_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_4594_1;
S_4592_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4595_0;
S_4594_1: /* 3 */
S_4593_0: /* 2 */
		/* else */;
		goto S_4595_0;
S_4594_2: /* 3 */
		Uerror("blocking sel in d_step (nr.171, near line 106)");
S_4595_0: /* 2 */
		goto S_4599_0; /* '.' */
		goto S_4599_0; /* ';' */
S_4598_1: /* 3 */
S_4596_0: /* 2 */
		/* else */;
S_4597_0: /* 2 */
		goto S_4600_0;	/* 'goto' */
S_4598_2: /* 3 */
		Uerror("blocking sel in d_step (nr.172, near line 92)");
S_4600_0: /* 2 */
		goto S_4604_0;	/* 'break' */
S_4603_1: /* 3 */
S_4602_0: /* 2 */
		/* else */;
		goto S_4604_0;
S_4603_2: /* 3 */
		Uerror("blocking sel in d_step (nr.173, near line 181)");
S_4604_0: /* 2 */
		goto S_4614_0;
S_4614_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 166: // STATE 1751 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1751] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 167: // STATE 1754 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][1754] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4607_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_4608_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_4612_0;
S_4612_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 168: // STATE 1757 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][1757] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4610_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4611_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4615_0;
S_4615_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 169: // STATE 1769 - /tmp/w/models/conformance/models/close.pml:400 - [(!(0))] (1805:0:1 - 1)
		IfNotBlocked
		reached[3][1769] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 1770, 1805) */
		reached[3][1770] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b209(0, 1771, 1805) */
		reached[3][1771] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 170: // STATE 1775 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1775] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 171: // STATE 1787 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[3][1787] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4631_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_4632_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4639_0: /* 2 */
S_4638_0: /* 2 */
S_4633_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_4638_1;
S_4634_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4635_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4639_0; /* ';' */
S_4638_1: /* 3 */
S_4636_0: /* 2 */
		/* else */;
S_4637_0: /* 2 */
		goto S_4640_0;	/* 'goto' */
S_4638_2: /* 3 */
		Uerror("blocking sel in d_step (nr.174, near line 330)");
S_4640_0: /* 2 */
		goto S_4641_0;	/* 'break' */
S_4641_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4652_0;
S_4652_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 172: // STATE 1791 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[3][1791] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4644_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_4645_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_4650_0;
S_4650_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 173: // STATE 1792 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1792] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 174: // STATE 1793 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1793] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 175: // STATE 1807 - /tmp/w/models/conformance/models/close.pml:416 - [(whole)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1807] = 1;
		if (!(((int)((P3 *)_this)->whole)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: whole */  (trpt+1)->bup.oval = ((P3 *)_this)->whole;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 176: // STATE 1810 - /tmp/w/models/conformance/models/close.pml:417 - [D_STEP417]
		IfNotBlocked

		reached[3][1810] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4663_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_4664_0: /* 2 */
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		goto S_4682_0;
S_4682_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 177: // STATE 1826 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][1826] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4677_0: /* 2 */
S_4666_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_4677_1;
S_4675_0: /* 2 */
S_4673_0: /* 2 */
S_4672_0: /* 2 */
S_4667_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_4672_1;
S_4668_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4669_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4673_0; /* ';' */
S_4672_1: /* 3 */
S_4670_0: /* 2 */
		/* else */;
S_4671_0: /* 2 */
		goto S_4679_0;	/* 'goto' */
S_4672_2: /* 3 */
		Uerror("blocking sel in d_step (nr.175, near line 112)");
S_4674_0: /* 2 */
		goto S_4679_0;	/* 'break' */
		goto S_4678_0;
S_4677_1: /* 3 */
S_4676_0: /* 2 */
		/* else */;
		goto S_4678_0;
S_4677_2: /* 3 */
		Uerror("blocking sel in d_step (nr.176, near line 301)");
S_4678_0: /* 2 */
S_4679_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_4680_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4688_0;
S_4688_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 178: // STATE 1829 - /tmp/w/models/conformance/models/close.pml:423 - [want = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1829] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 179: // STATE 1830 - /tmp/w/models/conformance/models/close.pml:423 - [(run finisher())] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1830] = 1;
		if (!(addproc(II, 1, 0, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 180: // STATE 1834 - /tmp/w/models/conformance/models/close.pml:425 - [((want&&token))] (2403:0:2 - 1)
		IfNotBlocked
		reached[3][1834] = 1;
		if (!((((int)((P3 *)_this)->want)&&((int)now.token))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: want = 0(0, 1835, 2403) */
		reached[3][1835] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		/* merge: goto :b208(0, 1837, 2403) */
		reached[3][1837] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 181: // STATE 1838 - /tmp/w/models/conformance/models/close.pml:426 - [(!(want))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1838] = 1;
		if (!( !(((int)((P3 *)_this)->want))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.oval = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		_m = 3; goto P999; /* 0 */
	case 182: // STATE 1844 - /tmp/w/models/conformance/models/close.pml:693 - [(flushed)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1844] = 1;
		if (!(((int)now.flushed)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 183: // STATE 1845 - /tmp/w/models/conformance/models/close.pml:694 - [((!(good)&&!(flushed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1845] = 1;
		if (!(( !(((int)now.good))&& !(((int)now.flushed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 184: // STATE 1849 - /tmp/w/models/conformance/models/close.pml:443 - [D_STEP443]
		IfNotBlocked

		reached[3][1849] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4701_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_4702_0: /* 2 */
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
S_4703_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
		goto S_5256_0;
S_5256_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 185: // STATE 1865 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][1865] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4716_0: /* 2 */
S_4705_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_4716_1;
S_4714_0: /* 2 */
S_4712_0: /* 2 */
S_4711_0: /* 2 */
S_4706_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_4711_1;
S_4707_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4708_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4712_0; /* ';' */
S_4711_1: /* 3 */
S_4709_0: /* 2 */
		/* else */;
S_4710_0: /* 2 */
		goto S_4718_0;	/* 'goto' */
S_4711_2: /* 3 */
		Uerror("blocking sel in d_step (nr.177, near line 112)");
S_4713_0: /* 2 */
		goto S_4718_0;	/* 'break' */
		goto S_4717_0;
S_4716_1: /* 3 */
S_4715_0: /* 2 */
		/* else */;
		goto S_4717_0;
S_4716_2: /* 3 */
		Uerror("blocking sel in d_step (nr.178, near line 301)");
S_4717_0: /* 2 */
S_4718_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_4719_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5254_0;
S_5254_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 186: // STATE 1867 - /tmp/w/models/conformance/models/close.pml:413 - [((want&&!(token)))] (2364:0:2 - 1)
		IfNotBlocked
		reached[3][1867] = 1;
		if (!((((int)((P3 *)_this)->want)&& !(((int)now.token)))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: token = 1(0, 1868, 2364) */
		reached[3][1868] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.token);
		now.token = 1;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 187: // STATE 1870 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][1870] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 188: // STATE 1871 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1871] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 189: // STATE 1904 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[3][1904] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4757_0: /* 2 */
S_4756_0: /* 2 */
S_4727_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_4756_1;
S_4728_0: /* 2 */
		goto S_4758_0;	/* 'goto' */
S_4756_1: /* 3 */
S_4729_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_4756_2;
S_4730_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_4731_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_4732_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_4757_0; /* ';' */
S_4756_2: /* 3 */
S_4733_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_4756_3;
S_4742_0: /* 2 */
S_4740_0: /* 2 */
S_4739_0: /* 2 */
S_4734_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_4739_1;
S_4735_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4736_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4740_0; /* ';' */
S_4739_1: /* 3 */
S_4737_0: /* 2 */
		/* else */;
S_4738_0: /* 2 */
		goto S_4752_0;	/* 'goto' */
S_4739_2: /* 3 */
		Uerror("blocking sel in d_step (nr.179, near line 112)");
S_4741_0: /* 2 */
		goto S_4752_0;	/* 'break' */
		goto S_4752_0;
S_4752_0: /* 2 */
S_4743_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_4752_1;
S_4744_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4745_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_4746_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_4747_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_4748_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_4749_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_4753_0;
S_4752_1: /* 3 */
S_4750_0: /* 2 */
		/* else */;
S_4751_0: /* 2 */
		goto S_4758_0;	/* 'goto' */
		goto S_4753_0;
S_4752_2: /* 3 */
		Uerror("blocking sel in d_step (nr.180, near line 317)");
S_4753_0: /* 2 */
		goto S_4757_0; /* '.' */
		goto S_4757_0; /* ';' */
S_4756_3: /* 3 */
S_4754_0: /* 2 */
		/* else */;
S_4755_0: /* 2 */
		goto S_4758_0;	/* 'goto' */
		goto S_4757_0; /* ';' */
S_4756_4: /* 3 */
		Uerror("blocking sel in d_step (nr.181, near line 312)");
S_4758_0: /* 2 */
		goto S_5213_0;	/* 'break' */
S_4763_0: /* 1 */
S_5213_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 190: // STATE 1909 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1909] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 191: // STATE 1910 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1910] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 192: // STATE 1943 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][1943] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4796_0: /* 2 */
S_4766_0: /* 2 */
		if (!((now.state!=5)))
			goto S_4796_1;
S_4794_0: /* 2 */
S_4767_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_4768_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_4769_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_4770_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_4780_0: /* 2 */
S_4771_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4778_0: /* 2 */
S_4777_0: /* 2 */
S_4772_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_4777_1;
S_4773_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4774_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4778_0; /* ';' */
S_4777_1: /* 3 */
S_4775_0: /* 2 */
		/* else */;
S_4776_0: /* 2 */
		goto S_4790_0;	/* 'goto' */
S_4777_2: /* 3 */
		Uerror("blocking sel in d_step (nr.182, near line 120)");
S_4779_0: /* 2 */
		goto S_4790_0;	/* 'break' */
		goto S_4791_0;
S_4791_0: /* 2 */
S_4790_0: /* 2 */
S_4781_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_4790_1;
S_4785_0: /* 2 */
S_4782_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_4785_1;
S_4783_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_4786_0;
S_4785_1: /* 3 */
S_4784_0: /* 2 */
		/* else */;
		goto S_4786_0;
S_4785_2: /* 3 */
		Uerror("blocking sel in d_step (nr.183, near line 145)");
S_4786_0: /* 2 */
S_4787_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4791_0; /* ';' */
S_4790_1: /* 3 */
S_4788_0: /* 2 */
		/* else */;
S_4789_0: /* 2 */
		goto S_4793_0;	/* 'goto' */
S_4790_2: /* 3 */
		Uerror("blocking sel in d_step (nr.184, near line 143)");
S_4792_0: /* 2 */
		goto S_4793_0;	/* 'break' */
S_4793_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_4797_0;
S_4796_1: /* 3 */
S_4795_0: /* 2 */
		/* else */;
		goto S_4797_0;
S_4796_2: /* 3 */
		Uerror("blocking sel in d_step (nr.185, near line 240)");
S_4797_0: /* 2 */
		goto S_4859_0;
S_4859_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 193: // STATE 1944 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1944] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 194: // STATE 1987 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][1987] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4800_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4806_0: /* 2 */
S_4805_0: /* 2 */
S_4801_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_4805_1;
S_4802_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4806_0; /* ';' */
S_4805_1: /* 3 */
S_4803_0: /* 2 */
		/* else */;
S_4804_0: /* 2 */
		goto S_4840_0;	/* 'goto' */
S_4805_2: /* 3 */
		Uerror("blocking sel in d_step (nr.186, near line 174)");
S_4807_0: /* 2 */
		goto S_4840_0;	/* 'break' */
S_4840_0: /* 2 */
S_4808_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_4840_1;
S_4809_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_4810_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4838_0: /* 2 */
S_4836_0: /* 2 */
S_4835_0: /* 2 */
S_4811_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_4835_1;
S_4820_0: /* 2 */
S_4818_0: /* 2 */
S_4812_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_4818_1;
S_4813_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_4814_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_4815_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_4816_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_4819_0;
S_4818_1: /* 3 */
S_4817_0: /* 2 */
		/* else */;
		goto S_4819_0;
S_4818_2: /* 3 */
		Uerror("blocking sel in d_step (nr.187, near line 81)");
S_4819_0: /* 2 */
		goto S_4821_0;
S_4821_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_4822_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_4826_0: /* 2 */
S_4823_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_4826_1;
S_4824_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4827_0;
S_4826_1: /* 3 */
S_4825_0: /* 2 */
		/* else */;
		goto S_4827_0;
S_4826_2: /* 3 */
		Uerror("blocking sel in d_step (nr.188, near line 105)");
S_4827_0: /* 2 */
S_4831_0: /* 2 */
S_4828_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_4831_1;
S_4829_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4832_0;
S_4831_1: /* 3 */
S_4830_0: /* 2 */
		/* else */;
		goto S_4832_0;
S_4831_2: /* 3 */
		Uerror("blocking sel in d_step (nr.189, near line 106)");
S_4832_0: /* 2 */
		goto S_4836_0; /* '.' */
		goto S_4836_0; /* ';' */
S_4835_1: /* 3 */
S_4833_0: /* 2 */
		/* else */;
S_4834_0: /* 2 */
		goto S_4837_0;	/* 'goto' */
S_4835_2: /* 3 */
		Uerror("blocking sel in d_step (nr.190, near line 92)");
S_4837_0: /* 2 */
		goto S_4841_0;	/* 'break' */
S_4840_1: /* 3 */
S_4839_0: /* 2 */
		/* else */;
		goto S_4841_0;
S_4840_2: /* 3 */
		Uerror("blocking sel in d_step (nr.191, near line 181)");
S_4841_0: /* 2 */
		goto S_4851_0;
S_4851_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 195: // STATE 1988 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][1988] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 196: // STATE 1991 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][1991] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4844_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_4845_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_4849_0;
S_4849_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 197: // STATE 1994 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][1994] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4847_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4848_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4852_0;
S_4852_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 198: // STATE 2024 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][2024] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4875_0: /* 2 */
S_4864_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_4875_1;
S_4873_0: /* 2 */
S_4871_0: /* 2 */
S_4870_0: /* 2 */
S_4865_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_4870_1;
S_4866_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_4867_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4871_0; /* ';' */
S_4870_1: /* 3 */
S_4868_0: /* 2 */
		/* else */;
S_4869_0: /* 2 */
		goto S_4877_0;	/* 'goto' */
S_4870_2: /* 3 */
		Uerror("blocking sel in d_step (nr.192, near line 112)");
S_4872_0: /* 2 */
		goto S_4877_0;	/* 'break' */
		goto S_4876_0;
S_4875_1: /* 3 */
S_4874_0: /* 2 */
		/* else */;
		goto S_4876_0;
S_4875_2: /* 3 */
		Uerror("blocking sel in d_step (nr.193, near line 301)");
S_4876_0: /* 2 */
S_4877_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_4878_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4991_0;
S_4991_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 199: // STATE 2026 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2026] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 200: // STATE 2027 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2027] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 201: // STATE 2028 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2028] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 202: // STATE 2031 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[3][2031] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4884_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_4885_0: /* 2 */
		((P3 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_4987_0;
S_4987_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 203: // STATE 2032 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2032] = 1;
		if (!(((int)((P3 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P3 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 204: // STATE 2035 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[3][2035] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4888_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_4889_0: /* 2 */
		((P3 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_4985_0;
S_4985_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 205: // STATE 2068 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][2068] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4921_0: /* 2 */
S_4891_0: /* 2 */
		if (!((now.state!=5)))
			goto S_4921_1;
S_4919_0: /* 2 */
S_4892_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_4893_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_4894_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_4895_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_4905_0: /* 2 */
S_4896_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4903_0: /* 2 */
S_4902_0: /* 2 */
S_4897_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_4902_1;
S_4898_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4899_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4903_0; /* ';' */
S_4902_1: /* 3 */
S_4900_0: /* 2 */
		/* else */;
S_4901_0: /* 2 */
		goto S_4915_0;	/* 'goto' */
S_4902_2: /* 3 */
		Uerror("blocking sel in d_step (nr.194, near line 120)");
S_4904_0: /* 2 */
		goto S_4915_0;	/* 'break' */
		goto S_4916_0;
S_4916_0: /* 2 */
S_4915_0: /* 2 */
S_4906_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_4915_1;
S_4910_0: /* 2 */
S_4907_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_4910_1;
S_4908_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_4911_0;
S_4910_1: /* 3 */
S_4909_0: /* 2 */
		/* else */;
		goto S_4911_0;
S_4910_2: /* 3 */
		Uerror("blocking sel in d_step (nr.195, near line 145)");
S_4911_0: /* 2 */
S_4912_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4916_0; /* ';' */
S_4915_1: /* 3 */
S_4913_0: /* 2 */
		/* else */;
S_4914_0: /* 2 */
		goto S_4918_0;	/* 'goto' */
S_4915_2: /* 3 */
		Uerror("blocking sel in d_step (nr.196, near line 143)");
S_4917_0: /* 2 */
		goto S_4918_0;	/* 'break' */
S_4918_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_4922_0;
S_4921_1: /* 3 */
S_4920_0: /* 2 */
		/* else */;
		goto S_4922_0;
S_4921_2: /* 3 */
		Uerror("blocking sel in d_step (nr.197, near line 240)");
S_4922_0: /* 2 */
		goto S_4984_0;
S_4984_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 206: // STATE 2069 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2069] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 207: // STATE 2112 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][2112] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4925_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4931_0: /* 2 */
S_4930_0: /* 2 */
S_4926_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_4930_1;
S_4927_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4931_0; /* ';' */
S_4930_1: /* 3 */
S_4928_0: /* 2 */
		/* else */;
S_4929_0: /* 2 */
		goto S_4965_0;	/* 'goto' */
S_4930_2: /* 3 */
		Uerror("blocking sel in d_step (nr.198, near line 174)");
S_4932_0: /* 2 */
		goto S_4965_0;	/* 'break' */
S_4965_0: /* 2 */
S_4933_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_4965_1;
S_4934_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_4935_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_4963_0: /* 2 */
S_4961_0: /* 2 */
S_4960_0: /* 2 */
S_4936_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_4960_1;
S_4945_0: /* 2 */
S_4943_0: /* 2 */
S_4937_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_4943_1;
S_4938_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_4939_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_4940_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_4941_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_4944_0;
S_4943_1: /* 3 */
S_4942_0: /* 2 */
		/* else */;
		goto S_4944_0;
S_4943_2: /* 3 */
		Uerror("blocking sel in d_step (nr.199, near line 81)");
S_4944_0: /* 2 */
		goto S_4946_0;
S_4946_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_4947_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_4951_0: /* 2 */
S_4948_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_4951_1;
S_4949_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_4952_0;
S_4951_1: /* 3 */
S_4950_0: /* 2 */
		/* else */;
		goto S_4952_0;
S_4951_2: /* 3 */
		Uerror("blocking sel in d_step (nr.200, near line 105)");
S_4952_0: /* 2 */
S_4956_0: /* 2 */
S_4953_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_4956_1;
S_4954_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_4957_0;
S_4956_1: /* 3 */
S_4955_0: /* 2 */
		/* else */;
		goto S_4957_0;
S_4956_2: /* 3 */
		Uerror("blocking sel in d_step (nr.201, near line 106)");
S_4957_0: /* 2 */
		goto S_4961_0; /* '.' */
		goto S_4961_0; /* ';' */
S_4960_1: /* 3 */
S_4958_0: /* 2 */
		/* else */;
S_4959_0: /* 2 */
		goto S_4962_0;	/* 'goto' */
S_4960_2: /* 3 */
		Uerror("blocking sel in d_step (nr.202, near line 92)");
S_4962_0: /* 2 */
		goto S_4966_0;	/* 'break' */
S_4965_1: /* 3 */
S_4964_0: /* 2 */
		/* else */;
		goto S_4966_0;
S_4965_2: /* 3 */
		Uerror("blocking sel in d_step (nr.203, near line 181)");
S_4966_0: /* 2 */
		goto S_4976_0;
S_4976_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 208: // STATE 2113 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2113] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 209: // STATE 2116 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][2116] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4969_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_4970_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_4974_0;
S_4974_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 210: // STATE 2119 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][2119] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_4972_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_4973_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_4977_0;
S_4977_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 211: // STATE 2141 - /tmp/w/models/conformance/models/close.pml:387 - [(!(0))] (2363:0:1 - 1)
		IfNotBlocked
		reached[3][2141] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 2142, 2363) */
		reached[3][2142] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b237(0, 2143, 2363) */
		reached[3][2143] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 212: // STATE 2144 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2144] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 213: // STATE 2159 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[3][2159] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5000_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5008_0: /* 2 */
S_5007_0: /* 2 */
S_5001_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_5007_1;
S_5002_0: /* 2 */
		now.wire[ Index(((P3 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[receiver:i]", ((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5003_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5004_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5008_0; /* ';' */
S_5007_1: /* 3 */
S_5005_0: /* 2 */
		/* else */;
S_5006_0: /* 2 */
		goto S_5010_0;	/* 'goto' */
S_5007_2: /* 3 */
		Uerror("blocking sel in d_step (nr.204, near line 391)");
S_5009_0: /* 2 */
		goto S_5010_0;	/* 'break' */
S_5010_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5011_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_5012_0: /* 2 */
		((P3 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_5013_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_5181_0;
S_5181_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 214: // STATE 2264 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[3][2264] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5035_0: /* 2 */
S_5034_0: /* 2 */
S_5015_0: /* 2 */
		if (!(((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_5034_1;
S_5021_0: /* 2 */
S_5020_0: /* 2 */
S_5016_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_5020_1;
S_5017_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5021_0; /* ';' */
S_5020_1: /* 3 */
S_5018_0: /* 2 */
		/* else */;
S_5019_0: /* 2 */
		goto S_5023_0;	/* 'goto' */
S_5020_2: /* 3 */
		Uerror("blocking sel in d_step (nr.205, near line 218)");
S_5022_0: /* 2 */
		goto S_5023_0;	/* 'break' */
S_5023_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_5027_0: /* 2 */
S_5024_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_5027_1;
S_5025_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_5028_0;
S_5027_1: /* 3 */
S_5026_0: /* 2 */
		/* else */;
		goto S_5028_0;
S_5027_2: /* 3 */
		Uerror("blocking sel in d_step (nr.206, near line 223)");
S_5028_0: /* 2 */
S_5029_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_5030_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_5031_0: /* 2 */
		((P3 *)_this)->n = (((int)((P3 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
		goto S_5035_0; /* ';' */
S_5034_1: /* 3 */
S_5032_0: /* 2 */
		/* else */;
S_5033_0: /* 2 */
		goto S_5037_0;	/* 'goto' */
S_5034_2: /* 3 */
		Uerror("blocking sel in d_step (nr.207, near line 216)");
S_5036_0: /* 2 */
		goto S_5037_0;	/* 'break' */
S_5037_0: /* 2 */
		((P3 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_5038_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_5066_0: /* 2 */
S_5064_0: /* 2 */
S_5063_0: /* 2 */
S_5039_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_5063_1;
S_5048_0: /* 2 */
S_5046_0: /* 2 */
S_5040_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_5046_1;
S_5041_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_5042_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_5043_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_5044_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_5047_0;
S_5046_1: /* 3 */
S_5045_0: /* 2 */
		/* else */;
		goto S_5047_0;
S_5046_2: /* 3 */
		Uerror("blocking sel in d_step (nr.208, near line 81)");
S_5047_0: /* 2 */
		goto S_5049_0;
S_5049_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_5050_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_5054_0: /* 2 */
S_5051_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_5054_1;
S_5052_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5055_0;
S_5054_1: /* 3 */
S_5053_0: /* 2 */
		/* else */;
		goto S_5055_0;
S_5054_2: /* 3 */
		Uerror("blocking sel in d_step (nr.209, near line 105)");
S_5055_0: /* 2 */
S_5059_0: /* 2 */
S_5056_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_5059_1;
S_5057_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5060_0;
S_5059_1: /* 3 */
S_5058_0: /* 2 */
		/* else */;
		goto S_5060_0;
S_5059_2: /* 3 */
		Uerror("blocking sel in d_step (nr.210, near line 106)");
S_5060_0: /* 2 */
		goto S_5064_0; /* '.' */
		goto S_5064_0; /* ';' */
S_5063_1: /* 3 */
S_5061_0: /* 2 */
		/* else */;
S_5062_0: /* 2 */
		goto S_5118_0;	/* 'goto' */
S_5063_2: /* 3 */
		Uerror("blocking sel in d_step (nr.211, near line 92)");
S_5065_0: /* 2 */
		goto S_5118_0;	/* 'break' */
		goto S_5118_0;
S_5118_0: /* 2 */
S_5078_0: /* 2 */
S_5067_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_5078_1;
S_5076_0: /* 2 */
S_5074_0: /* 2 */
S_5073_0: /* 2 */
S_5068_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_5073_1;
S_5069_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_5070_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5074_0; /* ';' */
S_5073_1: /* 3 */
S_5071_0: /* 2 */
		/* else */;
S_5072_0: /* 2 */
		goto S_5116_0;	/* 'goto' */
S_5073_2: /* 3 */
		Uerror("blocking sel in d_step (nr.212, near line 112)");
S_5075_0: /* 2 */
		goto S_5116_0;	/* 'break' */
		goto S_5079_0;
S_5078_1: /* 3 */
S_5077_0: /* 2 */
		/* else */;
		goto S_5079_0;
S_5078_2: /* 3 */
		Uerror("blocking sel in d_step (nr.213, near line 153)");
S_5079_0: /* 2 */
S_5116_0: /* 2 */
S_5080_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_5116_1;
S_5113_0: /* 2 */
S_5081_0: /* 2 */
		if (!((now.state==8)))
			goto S_5113_1;
S_5109_0: /* 2 */
S_5082_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_5083_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_5084_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_5085_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_5095_0: /* 2 */
S_5086_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5093_0: /* 2 */
S_5092_0: /* 2 */
S_5087_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_5092_1;
S_5088_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5089_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5093_0; /* ';' */
S_5092_1: /* 3 */
S_5090_0: /* 2 */
		/* else */;
S_5091_0: /* 2 */
		goto S_5105_0;	/* 'goto' */
S_5092_2: /* 3 */
		Uerror("blocking sel in d_step (nr.214, near line 120)");
S_5094_0: /* 2 */
		goto S_5105_0;	/* 'break' */
		goto S_5106_0;
S_5106_0: /* 2 */
S_5105_0: /* 2 */
S_5096_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_5105_1;
S_5100_0: /* 2 */
S_5097_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_5100_1;
S_5098_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_5101_0;
S_5100_1: /* 3 */
S_5099_0: /* 2 */
		/* else */;
		goto S_5101_0;
S_5100_2: /* 3 */
		Uerror("blocking sel in d_step (nr.215, near line 145)");
S_5101_0: /* 2 */
S_5102_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5106_0; /* ';' */
S_5105_1: /* 3 */
S_5103_0: /* 2 */
		/* else */;
S_5104_0: /* 2 */
		goto S_5108_0;	/* 'goto' */
S_5105_2: /* 3 */
		Uerror("blocking sel in d_step (nr.216, near line 143)");
S_5107_0: /* 2 */
		goto S_5108_0;	/* 'break' */
S_5108_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_5114_0;
S_5113_1: /* 3 */
S_5110_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_5113_2;
S_5111_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_5114_0;
S_5113_2: /* 3 */
S_5112_0: /* 2 */
		/* else */;
		goto S_5114_0;
S_5113_3: /* 3 */
		Uerror("blocking sel in d_step (nr.217, near line 159)");
S_5114_0: /* 2 */
		goto S_5117_0;
S_5116_1: /* 3 */
S_5115_0: /* 2 */
		/* else */;
		goto S_5117_0;
S_5116_2: /* 3 */
		Uerror("blocking sel in d_step (nr.218, near line 157)");
S_5117_0: /* 2 */
		goto S_5180_0;
S_5180_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 215: // STATE 2265 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2265] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 216: // STATE 2308 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][2308] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5121_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5127_0: /* 2 */
S_5126_0: /* 2 */
S_5122_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_5126_1;
S_5123_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5127_0; /* ';' */
S_5126_1: /* 3 */
S_5124_0: /* 2 */
		/* else */;
S_5125_0: /* 2 */
		goto S_5161_0;	/* 'goto' */
S_5126_2: /* 3 */
		Uerror("blocking sel in d_step (nr.219, near line 174)");
S_5128_0: /* 2 */
		goto S_5161_0;	/* 'break' */
S_5161_0: /* 2 */
S_5129_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_5161_1;
S_5130_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_5131_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5159_0: /* 2 */
S_5157_0: /* 2 */
S_5156_0: /* 2 */
S_5132_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_5156_1;
S_5141_0: /* 2 */
S_5139_0: /* 2 */
S_5133_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_5139_1;
S_5134_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_5135_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_5136_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_5137_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_5140_0;
S_5139_1: /* 3 */
S_5138_0: /* 2 */
		/* else */;
		goto S_5140_0;
S_5139_2: /* 3 */
		Uerror("blocking sel in d_step (nr.220, near line 81)");
S_5140_0: /* 2 */
		goto S_5142_0;
S_5142_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_5143_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_5147_0: /* 2 */
S_5144_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_5147_1;
S_5145_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5148_0;
S_5147_1: /* 3 */
S_5146_0: /* 2 */
		/* else */;
		goto S_5148_0;
S_5147_2: /* 3 */
		Uerror("blocking sel in d_step (nr.221, near line 105)");
S_5148_0: /* 2 */
S_5152_0: /* 2 */
S_5149_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_5152_1;
S_5150_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5153_0;
S_5152_1: /* 3 */
S_5151_0: /* 2 */
		/* else */;
		goto S_5153_0;
S_5152_2: /* 3 */
		Uerror("blocking sel in d_step (nr.222, near line 106)");
S_5153_0: /* 2 */
		goto S_5157_0; /* '.' */
		goto S_5157_0; /* ';' */
S_5156_1: /* 3 */
S_5154_0: /* 2 */
		/* else */;
S_5155_0: /* 2 */
		goto S_5158_0;	/* 'goto' */
S_5156_2: /* 3 */
		Uerror("blocking sel in d_step (nr.223, near line 92)");
S_5158_0: /* 2 */
		goto S_5162_0;	/* 'break' */
S_5161_1: /* 3 */
S_5160_0: /* 2 */
		/* else */;
		goto S_5162_0;
S_5161_2: /* 3 */
		Uerror("blocking sel in d_step (nr.224, near line 181)");
S_5162_0: /* 2 */
		goto S_5172_0;
S_5172_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 217: // STATE 2309 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2309] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 218: // STATE 2312 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][2312] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5165_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_5166_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_5170_0;
S_5170_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 219: // STATE 2315 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][2315] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5168_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5169_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5173_0;
S_5173_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 220: // STATE 2327 - /tmp/w/models/conformance/models/close.pml:400 - [(!(0))] (2363:0:1 - 1)
		IfNotBlocked
		reached[3][2327] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 2328, 2363) */
		reached[3][2328] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b237(0, 2329, 2363) */
		reached[3][2329] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 221: // STATE 2333 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2333] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 222: // STATE 2345 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[3][2345] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5189_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_5190_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5197_0: /* 2 */
S_5196_0: /* 2 */
S_5191_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_5196_1;
S_5192_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5193_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5197_0; /* ';' */
S_5196_1: /* 3 */
S_5194_0: /* 2 */
		/* else */;
S_5195_0: /* 2 */
		goto S_5198_0;	/* 'goto' */
S_5196_2: /* 3 */
		Uerror("blocking sel in d_step (nr.225, near line 330)");
S_5198_0: /* 2 */
		goto S_5199_0;	/* 'break' */
S_5199_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5210_0;
S_5210_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 223: // STATE 2349 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[3][2349] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5202_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_5203_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_5208_0;
S_5208_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 224: // STATE 2350 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2350] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 225: // STATE 2351 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2351] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 226: // STATE 2365 - /tmp/w/models/conformance/models/close.pml:416 - [(whole)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2365] = 1;
		if (!(((int)((P3 *)_this)->whole)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: whole */  (trpt+1)->bup.oval = ((P3 *)_this)->whole;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 227: // STATE 2368 - /tmp/w/models/conformance/models/close.pml:417 - [D_STEP417]
		IfNotBlocked

		reached[3][2368] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5221_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_5222_0: /* 2 */
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		goto S_5240_0;
S_5240_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 228: // STATE 2384 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][2384] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5235_0: /* 2 */
S_5224_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_5235_1;
S_5233_0: /* 2 */
S_5231_0: /* 2 */
S_5230_0: /* 2 */
S_5225_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_5230_1;
S_5226_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_5227_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5231_0; /* ';' */
S_5230_1: /* 3 */
S_5228_0: /* 2 */
		/* else */;
S_5229_0: /* 2 */
		goto S_5237_0;	/* 'goto' */
S_5230_2: /* 3 */
		Uerror("blocking sel in d_step (nr.226, near line 112)");
S_5232_0: /* 2 */
		goto S_5237_0;	/* 'break' */
		goto S_5236_0;
S_5235_1: /* 3 */
S_5234_0: /* 2 */
		/* else */;
		goto S_5236_0;
S_5235_2: /* 3 */
		Uerror("blocking sel in d_step (nr.227, near line 301)");
S_5236_0: /* 2 */
S_5237_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_5238_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5246_0;
S_5246_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 229: // STATE 2387 - /tmp/w/models/conformance/models/close.pml:423 - [want = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2387] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 230: // STATE 2388 - /tmp/w/models/conformance/models/close.pml:423 - [(run finisher())] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2388] = 1;
		if (!(addproc(II, 1, 0, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 231: // STATE 2392 - /tmp/w/models/conformance/models/close.pml:425 - [((want&&token))] (3166:0:2 - 1)
		IfNotBlocked
		reached[3][2392] = 1;
		if (!((((int)((P3 *)_this)->want)&&((int)now.token))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: want = 0(0, 2393, 3166) */
		reached[3][2393] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		/* merge: goto :b236(0, 2395, 3166) */
		reached[3][2395] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 232: // STATE 2396 - /tmp/w/models/conformance/models/close.pml:426 - [(!(want))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2396] = 1;
		if (!( !(((int)((P3 *)_this)->want))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.oval = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		_m = 3; goto P999; /* 0 */
	case 233: // STATE 2406 - /tmp/w/models/conformance/models/close.pml:698 - [((why==END))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2406] = 1;
		if (!((((P3 *)_this)->why==3)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: why */  (trpt+1)->bup.oval = ((P3 *)_this)->why;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->why = 0;
		_m = 3; goto P999; /* 0 */
	case 234: // STATE 2427 - /tmp/w/models/conformance/models/close.pml:270 - [D_STEP270]
		IfNotBlocked

		reached[3][2427] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5262_0: /* 2 */
		now.peerClosed = 1;
#ifdef VAR_RANGES
		logval("peerClosed", ((int)now.peerClosed));
#endif
		;
S_5280_0: /* 2 */
S_5263_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_5280_1;
S_5277_0: /* 2 */
S_5264_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5275_0: /* 2 */
S_5274_0: /* 2 */
S_5265_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_5274_1;
S_5269_0: /* 2 */
S_5266_0: /* 2 */
		if (!((((int)now.isRead[ Index(((int)((P3 *)_this)->i), 2) ])||(0&&(now.progress[ Index(((int)((P3 *)_this)->i), 2) ]==13)))))
			goto S_5269_1;
S_5267_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_5270_0;
S_5269_1: /* 3 */
S_5268_0: /* 2 */
		/* else */;
		goto S_5270_0;
S_5269_2: /* 3 */
		Uerror("blocking sel in d_step (nr.228, near line 130)");
S_5270_0: /* 2 */
S_5271_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5275_0; /* ';' */
S_5274_1: /* 3 */
S_5272_0: /* 2 */
		/* else */;
S_5273_0: /* 2 */
		goto S_5278_0;	/* 'goto' */
S_5274_2: /* 3 */
		Uerror("blocking sel in d_step (nr.229, near line 128)");
S_5276_0: /* 2 */
		goto S_5278_0;	/* 'break' */
		goto S_5278_0;
S_5278_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_5281_0;
S_5280_1: /* 3 */
S_5279_0: /* 2 */
		/* else */;
		goto S_5281_0;
S_5280_2: /* 3 */
		Uerror("blocking sel in d_step (nr.230, near line 273)");
S_5281_0: /* 2 */
		goto S_5343_0;
S_5343_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 235: // STATE 2428 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2428] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 236: // STATE 2471 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][2471] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5284_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5290_0: /* 2 */
S_5289_0: /* 2 */
S_5285_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_5289_1;
S_5286_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5290_0; /* ';' */
S_5289_1: /* 3 */
S_5287_0: /* 2 */
		/* else */;
S_5288_0: /* 2 */
		goto S_5324_0;	/* 'goto' */
S_5289_2: /* 3 */
		Uerror("blocking sel in d_step (nr.231, near line 174)");
S_5291_0: /* 2 */
		goto S_5324_0;	/* 'break' */
S_5324_0: /* 2 */
S_5292_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_5324_1;
S_5293_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_5294_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5322_0: /* 2 */
S_5320_0: /* 2 */
S_5319_0: /* 2 */
S_5295_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_5319_1;
S_5304_0: /* 2 */
S_5302_0: /* 2 */
S_5296_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_5302_1;
S_5297_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_5298_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_5299_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_5300_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_5303_0;
S_5302_1: /* 3 */
S_5301_0: /* 2 */
		/* else */;
		goto S_5303_0;
S_5302_2: /* 3 */
		Uerror("blocking sel in d_step (nr.232, near line 81)");
S_5303_0: /* 2 */
		goto S_5305_0;
S_5305_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_5306_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_5310_0: /* 2 */
S_5307_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_5310_1;
S_5308_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5311_0;
S_5310_1: /* 3 */
S_5309_0: /* 2 */
		/* else */;
		goto S_5311_0;
S_5310_2: /* 3 */
		Uerror("blocking sel in d_step (nr.233, near line 105)");
S_5311_0: /* 2 */
S_5315_0: /* 2 */
S_5312_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_5315_1;
S_5313_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5316_0;
S_5315_1: /* 3 */
S_5314_0: /* 2 */
		/* else */;
		goto S_5316_0;
S_5315_2: /* 3 */
		Uerror("blocking sel in d_step (nr.234, near line 106)");
S_5316_0: /* 2 */
		goto S_5320_0; /* '.' */
		goto S_5320_0; /* ';' */
S_5319_1: /* 3 */
S_5317_0: /* 2 */
		/* else */;
S_5318_0: /* 2 */
		goto S_5321_0;	/* 'goto' */
S_5319_2: /* 3 */
		Uerror("blocking sel in d_step (nr.235, near line 92)");
S_5321_0: /* 2 */
		goto S_5325_0;	/* 'break' */
S_5324_1: /* 3 */
S_5323_0: /* 2 */
		/* else */;
		goto S_5325_0;
S_5324_2: /* 3 */
		Uerror("blocking sel in d_step (nr.236, near line 181)");
S_5325_0: /* 2 */
		goto S_5335_0;
S_5335_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 237: // STATE 2472 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2472] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 238: // STATE 2475 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][2475] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5328_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_5329_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_5333_0;
S_5333_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 239: // STATE 2478 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][2478] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5331_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5332_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5336_0;
S_5336_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 240: // STATE 2541 - /tmp/w/models/conformance/models/close.pml:280 - [D_STEP280]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][2541] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;


		reached[3][2541] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		sv_save();
		S_5395_0: /* 2 */
S_5355_0: /* 2 */
S_5344_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_5355_1;
S_5353_0: /* 2 */
S_5351_0: /* 2 */
S_5350_0: /* 2 */
S_5345_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_5350_1;
S_5346_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_5347_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5351_0; /* ';' */
S_5350_1: /* 3 */
S_5348_0: /* 2 */
		/* else */;
S_5349_0: /* 2 */
		goto S_5393_0;	/* 'goto' */
S_5350_2: /* 3 */
		Uerror("blocking sel in d_step (nr.237, near line 112)");
S_5352_0: /* 2 */
		goto S_5393_0;	/* 'break' */
		goto S_5356_0;
S_5355_1: /* 3 */
S_5354_0: /* 2 */
		/* else */;
		goto S_5356_0;
S_5355_2: /* 3 */
		Uerror("blocking sel in d_step (nr.238, near line 153)");
S_5356_0: /* 2 */
S_5393_0: /* 2 */
S_5357_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_5393_1;
S_5390_0: /* 2 */
S_5358_0: /* 2 */
		if (!((now.state==8)))
			goto S_5390_1;
S_5386_0: /* 2 */
S_5359_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_5360_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_5361_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_5362_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_5372_0: /* 2 */
S_5363_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5370_0: /* 2 */
S_5369_0: /* 2 */
S_5364_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_5369_1;
S_5365_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5366_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5370_0; /* ';' */
S_5369_1: /* 3 */
S_5367_0: /* 2 */
		/* else */;
S_5368_0: /* 2 */
		goto S_5382_0;	/* 'goto' */
S_5369_2: /* 3 */
		Uerror("blocking sel in d_step (nr.239, near line 120)");
S_5371_0: /* 2 */
		goto S_5382_0;	/* 'break' */
		goto S_5383_0;
S_5383_0: /* 2 */
S_5382_0: /* 2 */
S_5373_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_5382_1;
S_5377_0: /* 2 */
S_5374_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_5377_1;
S_5375_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_5378_0;
S_5377_1: /* 3 */
S_5376_0: /* 2 */
		/* else */;
		goto S_5378_0;
S_5377_2: /* 3 */
		Uerror("blocking sel in d_step (nr.240, near line 145)");
S_5378_0: /* 2 */
S_5379_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5383_0; /* ';' */
S_5382_1: /* 3 */
S_5380_0: /* 2 */
		/* else */;
S_5381_0: /* 2 */
		goto S_5385_0;	/* 'goto' */
S_5382_2: /* 3 */
		Uerror("blocking sel in d_step (nr.241, near line 143)");
S_5384_0: /* 2 */
		goto S_5385_0;	/* 'break' */
S_5385_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_5391_0;
S_5390_1: /* 3 */
S_5387_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_5390_2;
S_5388_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_5391_0;
S_5390_2: /* 3 */
S_5389_0: /* 2 */
		/* else */;
		goto S_5391_0;
S_5390_3: /* 3 */
		Uerror("blocking sel in d_step (nr.242, near line 159)");
S_5391_0: /* 2 */
		goto S_5394_0;
S_5393_1: /* 3 */
S_5392_0: /* 2 */
		/* else */;
		goto S_5394_0;
S_5393_2: /* 3 */
		Uerror("blocking sel in d_step (nr.243, near line 157)");
S_5394_0: /* 2 */
		goto S_5457_0;
S_5457_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 241: // STATE 2542 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2542] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 242: // STATE 2585 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][2585] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5398_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5404_0: /* 2 */
S_5403_0: /* 2 */
S_5399_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_5403_1;
S_5400_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5404_0; /* ';' */
S_5403_1: /* 3 */
S_5401_0: /* 2 */
		/* else */;
S_5402_0: /* 2 */
		goto S_5438_0;	/* 'goto' */
S_5403_2: /* 3 */
		Uerror("blocking sel in d_step (nr.244, near line 174)");
S_5405_0: /* 2 */
		goto S_5438_0;	/* 'break' */
S_5438_0: /* 2 */
S_5406_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_5438_1;
S_5407_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_5408_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5436_0: /* 2 */
S_5434_0: /* 2 */
S_5433_0: /* 2 */
S_5409_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_5433_1;
S_5418_0: /* 2 */
S_5416_0: /* 2 */
S_5410_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_5416_1;
S_5411_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_5412_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_5413_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_5414_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_5417_0;
S_5416_1: /* 3 */
S_5415_0: /* 2 */
		/* else */;
		goto S_5417_0;
S_5416_2: /* 3 */
		Uerror("blocking sel in d_step (nr.245, near line 81)");
S_5417_0: /* 2 */
		goto S_5419_0;
S_5419_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_5420_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_5424_0: /* 2 */
S_5421_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_5424_1;
S_5422_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5425_0;
S_5424_1: /* 3 */
S_5423_0: /* 2 */
		/* else */;
		goto S_5425_0;
S_5424_2: /* 3 */
		Uerror("blocking sel in d_step (nr.246, near line 105)");
S_5425_0: /* 2 */
S_5429_0: /* 2 */
S_5426_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_5429_1;
S_5427_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5430_0;
S_5429_1: /* 3 */
S_5428_0: /* 2 */
		/* else */;
		goto S_5430_0;
S_5429_2: /* 3 */
		Uerror("blocking sel in d_step (nr.247, near line 106)");
S_5430_0: /* 2 */
		goto S_5434_0; /* '.' */
		goto S_5434_0; /* ';' */
S_5433_1: /* 3 */
S_5431_0: /* 2 */
		/* else */;
S_5432_0: /* 2 */
		goto S_5435_0;	/* 'goto' */
S_5433_2: /* 3 */
		Uerror("blocking sel in d_step (nr.248, near line 92)");
S_5435_0: /* 2 */
		goto S_5439_0;	/* 'break' */
S_5438_1: /* 3 */
S_5437_0: /* 2 */
		/* else */;
		goto S_5439_0;
S_5438_2: /* 3 */
		Uerror("blocking sel in d_step (nr.249, near line 181)");
S_5439_0: /* 2 */
		goto S_5449_0;
S_5449_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 243: // STATE 2586 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2586] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 244: // STATE 2589 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][2589] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5442_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_5443_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_5447_0;
S_5447_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 245: // STATE 2592 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][2592] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5445_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5446_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5450_0;
S_5450_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 246: // STATE 2608 - /tmp/w/models/conformance/models/close.pml:443 - [D_STEP443]
		IfNotBlocked

		reached[3][2608] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5460_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_5461_0: /* 2 */
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
S_5462_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
		goto S_6015_0;
S_6015_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 247: // STATE 2624 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][2624] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5475_0: /* 2 */
S_5464_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_5475_1;
S_5473_0: /* 2 */
S_5471_0: /* 2 */
S_5470_0: /* 2 */
S_5465_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_5470_1;
S_5466_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_5467_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5471_0; /* ';' */
S_5470_1: /* 3 */
S_5468_0: /* 2 */
		/* else */;
S_5469_0: /* 2 */
		goto S_5477_0;	/* 'goto' */
S_5470_2: /* 3 */
		Uerror("blocking sel in d_step (nr.250, near line 112)");
S_5472_0: /* 2 */
		goto S_5477_0;	/* 'break' */
		goto S_5476_0;
S_5475_1: /* 3 */
S_5474_0: /* 2 */
		/* else */;
		goto S_5476_0;
S_5475_2: /* 3 */
		Uerror("blocking sel in d_step (nr.251, near line 301)");
S_5476_0: /* 2 */
S_5477_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_5478_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6013_0;
S_6013_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 248: // STATE 2626 - /tmp/w/models/conformance/models/close.pml:413 - [((want&&!(token)))] (3123:0:2 - 1)
		IfNotBlocked
		reached[3][2626] = 1;
		if (!((((int)((P3 *)_this)->want)&& !(((int)now.token)))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: token = 1(0, 2627, 3123) */
		reached[3][2627] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.token);
		now.token = 1;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 249: // STATE 2629 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2629] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 250: // STATE 2630 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2630] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 251: // STATE 2663 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[3][2663] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5516_0: /* 2 */
S_5515_0: /* 2 */
S_5486_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_5515_1;
S_5487_0: /* 2 */
		goto S_5517_0;	/* 'goto' */
S_5515_1: /* 3 */
S_5488_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_5515_2;
S_5489_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_5490_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_5491_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_5516_0; /* ';' */
S_5515_2: /* 3 */
S_5492_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_5515_3;
S_5501_0: /* 2 */
S_5499_0: /* 2 */
S_5498_0: /* 2 */
S_5493_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_5498_1;
S_5494_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_5495_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5499_0; /* ';' */
S_5498_1: /* 3 */
S_5496_0: /* 2 */
		/* else */;
S_5497_0: /* 2 */
		goto S_5511_0;	/* 'goto' */
S_5498_2: /* 3 */
		Uerror("blocking sel in d_step (nr.252, near line 112)");
S_5500_0: /* 2 */
		goto S_5511_0;	/* 'break' */
		goto S_5511_0;
S_5511_0: /* 2 */
S_5502_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_5511_1;
S_5503_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_5504_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_5505_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_5506_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_5507_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_5508_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_5512_0;
S_5511_1: /* 3 */
S_5509_0: /* 2 */
		/* else */;
S_5510_0: /* 2 */
		goto S_5517_0;	/* 'goto' */
		goto S_5512_0;
S_5511_2: /* 3 */
		Uerror("blocking sel in d_step (nr.253, near line 317)");
S_5512_0: /* 2 */
		goto S_5516_0; /* '.' */
		goto S_5516_0; /* ';' */
S_5515_3: /* 3 */
S_5513_0: /* 2 */
		/* else */;
S_5514_0: /* 2 */
		goto S_5517_0;	/* 'goto' */
		goto S_5516_0; /* ';' */
S_5515_4: /* 3 */
		Uerror("blocking sel in d_step (nr.254, near line 312)");
S_5517_0: /* 2 */
		goto S_5972_0;	/* 'break' */
S_5522_0: /* 1 */
S_5972_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 252: // STATE 2668 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2668] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 253: // STATE 2669 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2669] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 254: // STATE 2702 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][2702] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5555_0: /* 2 */
S_5525_0: /* 2 */
		if (!((now.state!=5)))
			goto S_5555_1;
S_5553_0: /* 2 */
S_5526_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_5527_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_5528_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_5529_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_5539_0: /* 2 */
S_5530_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5537_0: /* 2 */
S_5536_0: /* 2 */
S_5531_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_5536_1;
S_5532_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5533_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5537_0; /* ';' */
S_5536_1: /* 3 */
S_5534_0: /* 2 */
		/* else */;
S_5535_0: /* 2 */
		goto S_5549_0;	/* 'goto' */
S_5536_2: /* 3 */
		Uerror("blocking sel in d_step (nr.255, near line 120)");
S_5538_0: /* 2 */
		goto S_5549_0;	/* 'break' */
		goto S_5550_0;
S_5550_0: /* 2 */
S_5549_0: /* 2 */
S_5540_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_5549_1;
S_5544_0: /* 2 */
S_5541_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_5544_1;
S_5542_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_5545_0;
S_5544_1: /* 3 */
S_5543_0: /* 2 */
		/* else */;
		goto S_5545_0;
S_5544_2: /* 3 */
		Uerror("blocking sel in d_step (nr.256, near line 145)");
S_5545_0: /* 2 */
S_5546_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5550_0; /* ';' */
S_5549_1: /* 3 */
S_5547_0: /* 2 */
		/* else */;
S_5548_0: /* 2 */
		goto S_5552_0;	/* 'goto' */
S_5549_2: /* 3 */
		Uerror("blocking sel in d_step (nr.257, near line 143)");
S_5551_0: /* 2 */
		goto S_5552_0;	/* 'break' */
S_5552_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_5556_0;
S_5555_1: /* 3 */
S_5554_0: /* 2 */
		/* else */;
		goto S_5556_0;
S_5555_2: /* 3 */
		Uerror("blocking sel in d_step (nr.258, near line 240)");
S_5556_0: /* 2 */
		goto S_5618_0;
S_5618_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 255: // STATE 2703 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2703] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 256: // STATE 2746 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][2746] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5559_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5565_0: /* 2 */
S_5564_0: /* 2 */
S_5560_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_5564_1;
S_5561_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5565_0; /* ';' */
S_5564_1: /* 3 */
S_5562_0: /* 2 */
		/* else */;
S_5563_0: /* 2 */
		goto S_5599_0;	/* 'goto' */
S_5564_2: /* 3 */
		Uerror("blocking sel in d_step (nr.259, near line 174)");
S_5566_0: /* 2 */
		goto S_5599_0;	/* 'break' */
S_5599_0: /* 2 */
S_5567_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_5599_1;
S_5568_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_5569_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5597_0: /* 2 */
S_5595_0: /* 2 */
S_5594_0: /* 2 */
S_5570_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_5594_1;
S_5579_0: /* 2 */
S_5577_0: /* 2 */
S_5571_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_5577_1;
S_5572_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_5573_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_5574_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_5575_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_5578_0;
S_5577_1: /* 3 */
S_5576_0: /* 2 */
		/* else */;
		goto S_5578_0;
S_5577_2: /* 3 */
		Uerror("blocking sel in d_step (nr.260, near line 81)");
S_5578_0: /* 2 */
		goto S_5580_0;
S_5580_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_5581_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_5585_0: /* 2 */
S_5582_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_5585_1;
S_5583_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5586_0;
S_5585_1: /* 3 */
S_5584_0: /* 2 */
		/* else */;
		goto S_5586_0;
S_5585_2: /* 3 */
		Uerror("blocking sel in d_step (nr.261, near line 105)");
S_5586_0: /* 2 */
S_5590_0: /* 2 */
S_5587_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_5590_1;
S_5588_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5591_0;
S_5590_1: /* 3 */
S_5589_0: /* 2 */
		/* else */;
		goto S_5591_0;
S_5590_2: /* 3 */
		Uerror("blocking sel in d_step (nr.262, near line 106)");
S_5591_0: /* 2 */
		goto S_5595_0; /* '.' */
		goto S_5595_0; /* ';' */
S_5594_1: /* 3 */
S_5592_0: /* 2 */
		/* else */;
S_5593_0: /* 2 */
		goto S_5596_0;	/* 'goto' */
S_5594_2: /* 3 */
		Uerror("blocking sel in d_step (nr.263, near line 92)");
S_5596_0: /* 2 */
		goto S_5600_0;	/* 'break' */
S_5599_1: /* 3 */
S_5598_0: /* 2 */
		/* else */;
		goto S_5600_0;
S_5599_2: /* 3 */
		Uerror("blocking sel in d_step (nr.264, near line 181)");
S_5600_0: /* 2 */
		goto S_5610_0;
S_5610_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 257: // STATE 2747 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2747] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 258: // STATE 2750 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][2750] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5603_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_5604_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_5608_0;
S_5608_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 259: // STATE 2753 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][2753] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5606_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5607_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5611_0;
S_5611_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 260: // STATE 2783 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][2783] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5634_0: /* 2 */
S_5623_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_5634_1;
S_5632_0: /* 2 */
S_5630_0: /* 2 */
S_5629_0: /* 2 */
S_5624_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_5629_1;
S_5625_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_5626_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5630_0; /* ';' */
S_5629_1: /* 3 */
S_5627_0: /* 2 */
		/* else */;
S_5628_0: /* 2 */
		goto S_5636_0;	/* 'goto' */
S_5629_2: /* 3 */
		Uerror("blocking sel in d_step (nr.265, near line 112)");
S_5631_0: /* 2 */
		goto S_5636_0;	/* 'break' */
		goto S_5635_0;
S_5634_1: /* 3 */
S_5633_0: /* 2 */
		/* else */;
		goto S_5635_0;
S_5634_2: /* 3 */
		Uerror("blocking sel in d_step (nr.266, near line 301)");
S_5635_0: /* 2 */
S_5636_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_5637_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5750_0;
S_5750_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 261: // STATE 2785 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2785] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 262: // STATE 2786 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2786] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 263: // STATE 2787 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2787] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 264: // STATE 2790 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[3][2790] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5643_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_5644_0: /* 2 */
		((P3 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_5746_0;
S_5746_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 265: // STATE 2791 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][2791] = 1;
		if (!(((int)((P3 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P3 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 266: // STATE 2794 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[3][2794] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5647_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_5648_0: /* 2 */
		((P3 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_5744_0;
S_5744_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 267: // STATE 2827 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][2827] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5680_0: /* 2 */
S_5650_0: /* 2 */
		if (!((now.state!=5)))
			goto S_5680_1;
S_5678_0: /* 2 */
S_5651_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_5652_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_5653_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_5654_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_5664_0: /* 2 */
S_5655_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5662_0: /* 2 */
S_5661_0: /* 2 */
S_5656_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_5661_1;
S_5657_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5658_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5662_0; /* ';' */
S_5661_1: /* 3 */
S_5659_0: /* 2 */
		/* else */;
S_5660_0: /* 2 */
		goto S_5674_0;	/* 'goto' */
S_5661_2: /* 3 */
		Uerror("blocking sel in d_step (nr.267, near line 120)");
S_5663_0: /* 2 */
		goto S_5674_0;	/* 'break' */
		goto S_5675_0;
S_5675_0: /* 2 */
S_5674_0: /* 2 */
S_5665_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_5674_1;
S_5669_0: /* 2 */
S_5666_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_5669_1;
S_5667_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_5670_0;
S_5669_1: /* 3 */
S_5668_0: /* 2 */
		/* else */;
		goto S_5670_0;
S_5669_2: /* 3 */
		Uerror("blocking sel in d_step (nr.268, near line 145)");
S_5670_0: /* 2 */
S_5671_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5675_0; /* ';' */
S_5674_1: /* 3 */
S_5672_0: /* 2 */
		/* else */;
S_5673_0: /* 2 */
		goto S_5677_0;	/* 'goto' */
S_5674_2: /* 3 */
		Uerror("blocking sel in d_step (nr.269, near line 143)");
S_5676_0: /* 2 */
		goto S_5677_0;	/* 'break' */
S_5677_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_5681_0;
S_5680_1: /* 3 */
S_5679_0: /* 2 */
		/* else */;
		goto S_5681_0;
S_5680_2: /* 3 */
		Uerror("blocking sel in d_step (nr.270, near line 240)");
S_5681_0: /* 2 */
		goto S_5743_0;
S_5743_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 268: // STATE 2828 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2828] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 269: // STATE 2871 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][2871] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5684_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5690_0: /* 2 */
S_5689_0: /* 2 */
S_5685_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_5689_1;
S_5686_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5690_0; /* ';' */
S_5689_1: /* 3 */
S_5687_0: /* 2 */
		/* else */;
S_5688_0: /* 2 */
		goto S_5724_0;	/* 'goto' */
S_5689_2: /* 3 */
		Uerror("blocking sel in d_step (nr.271, near line 174)");
S_5691_0: /* 2 */
		goto S_5724_0;	/* 'break' */
S_5724_0: /* 2 */
S_5692_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_5724_1;
S_5693_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_5694_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5722_0: /* 2 */
S_5720_0: /* 2 */
S_5719_0: /* 2 */
S_5695_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_5719_1;
S_5704_0: /* 2 */
S_5702_0: /* 2 */
S_5696_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_5702_1;
S_5697_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_5698_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_5699_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_5700_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_5703_0;
S_5702_1: /* 3 */
S_5701_0: /* 2 */
		/* else */;
		goto S_5703_0;
S_5702_2: /* 3 */
		Uerror("blocking sel in d_step (nr.272, near line 81)");
S_5703_0: /* 2 */
		goto S_5705_0;
S_5705_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_5706_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_5710_0: /* 2 */
S_5707_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_5710_1;
S_5708_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5711_0;
S_5710_1: /* 3 */
S_5709_0: /* 2 */
		/* else */;
		goto S_5711_0;
S_5710_2: /* 3 */
		Uerror("blocking sel in d_step (nr.273, near line 105)");
S_5711_0: /* 2 */
S_5715_0: /* 2 */
S_5712_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_5715_1;
S_5713_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5716_0;
S_5715_1: /* 3 */
S_5714_0: /* 2 */
		/* else */;
		goto S_5716_0;
S_5715_2: /* 3 */
		Uerror("blocking sel in d_step (nr.274, near line 106)");
S_5716_0: /* 2 */
		goto S_5720_0; /* '.' */
		goto S_5720_0; /* ';' */
S_5719_1: /* 3 */
S_5717_0: /* 2 */
		/* else */;
S_5718_0: /* 2 */
		goto S_5721_0;	/* 'goto' */
S_5719_2: /* 3 */
		Uerror("blocking sel in d_step (nr.275, near line 92)");
S_5721_0: /* 2 */
		goto S_5725_0;	/* 'break' */
S_5724_1: /* 3 */
S_5723_0: /* 2 */
		/* else */;
		goto S_5725_0;
S_5724_2: /* 3 */
		Uerror("blocking sel in d_step (nr.276, near line 181)");
S_5725_0: /* 2 */
		goto S_5735_0;
S_5735_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 270: // STATE 2872 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2872] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 271: // STATE 2875 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][2875] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5728_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_5729_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_5733_0;
S_5733_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 272: // STATE 2878 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][2878] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5731_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5732_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5736_0;
S_5736_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 273: // STATE 2900 - /tmp/w/models/conformance/models/close.pml:387 - [(!(0))] (3122:0:1 - 1)
		IfNotBlocked
		reached[3][2900] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 2901, 3122) */
		reached[3][2901] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b275(0, 2902, 3122) */
		reached[3][2902] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 274: // STATE 2903 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][2903] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 275: // STATE 2918 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[3][2918] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5759_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5767_0: /* 2 */
S_5766_0: /* 2 */
S_5760_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_5766_1;
S_5761_0: /* 2 */
		now.wire[ Index(((P3 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[receiver:i]", ((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5762_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5763_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5767_0; /* ';' */
S_5766_1: /* 3 */
S_5764_0: /* 2 */
		/* else */;
S_5765_0: /* 2 */
		goto S_5769_0;	/* 'goto' */
S_5766_2: /* 3 */
		Uerror("blocking sel in d_step (nr.277, near line 391)");
S_5768_0: /* 2 */
		goto S_5769_0;	/* 'break' */
S_5769_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5770_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_5771_0: /* 2 */
		((P3 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_5772_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_5940_0;
S_5940_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 276: // STATE 3023 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[3][3023] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5794_0: /* 2 */
S_5793_0: /* 2 */
S_5774_0: /* 2 */
		if (!(((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_5793_1;
S_5780_0: /* 2 */
S_5779_0: /* 2 */
S_5775_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_5779_1;
S_5776_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5780_0; /* ';' */
S_5779_1: /* 3 */
S_5777_0: /* 2 */
		/* else */;
S_5778_0: /* 2 */
		goto S_5782_0;	/* 'goto' */
S_5779_2: /* 3 */
		Uerror("blocking sel in d_step (nr.278, near line 218)");
S_5781_0: /* 2 */
		goto S_5782_0;	/* 'break' */
S_5782_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_5786_0: /* 2 */
S_5783_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_5786_1;
S_5784_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_5787_0;
S_5786_1: /* 3 */
S_5785_0: /* 2 */
		/* else */;
		goto S_5787_0;
S_5786_2: /* 3 */
		Uerror("blocking sel in d_step (nr.279, near line 223)");
S_5787_0: /* 2 */
S_5788_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_5789_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_5790_0: /* 2 */
		((P3 *)_this)->n = (((int)((P3 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
		goto S_5794_0; /* ';' */
S_5793_1: /* 3 */
S_5791_0: /* 2 */
		/* else */;
S_5792_0: /* 2 */
		goto S_5796_0;	/* 'goto' */
S_5793_2: /* 3 */
		Uerror("blocking sel in d_step (nr.280, near line 216)");
S_5795_0: /* 2 */
		goto S_5796_0;	/* 'break' */
S_5796_0: /* 2 */
		((P3 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_5797_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_5825_0: /* 2 */
S_5823_0: /* 2 */
S_5822_0: /* 2 */
S_5798_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_5822_1;
S_5807_0: /* 2 */
S_5805_0: /* 2 */
S_5799_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_5805_1;
S_5800_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_5801_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_5802_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_5803_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_5806_0;
S_5805_1: /* 3 */
S_5804_0: /* 2 */
		/* else */;
		goto S_5806_0;
S_5805_2: /* 3 */
		Uerror("blocking sel in d_step (nr.281, near line 81)");
S_5806_0: /* 2 */
		goto S_5808_0;
S_5808_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_5809_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_5813_0: /* 2 */
S_5810_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_5813_1;
S_5811_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5814_0;
S_5813_1: /* 3 */
S_5812_0: /* 2 */
		/* else */;
		goto S_5814_0;
S_5813_2: /* 3 */
		Uerror("blocking sel in d_step (nr.282, near line 105)");
S_5814_0: /* 2 */
S_5818_0: /* 2 */
S_5815_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_5818_1;
S_5816_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5819_0;
S_5818_1: /* 3 */
S_5817_0: /* 2 */
		/* else */;
		goto S_5819_0;
S_5818_2: /* 3 */
		Uerror("blocking sel in d_step (nr.283, near line 106)");
S_5819_0: /* 2 */
		goto S_5823_0; /* '.' */
		goto S_5823_0; /* ';' */
S_5822_1: /* 3 */
S_5820_0: /* 2 */
		/* else */;
S_5821_0: /* 2 */
		goto S_5877_0;	/* 'goto' */
S_5822_2: /* 3 */
		Uerror("blocking sel in d_step (nr.284, near line 92)");
S_5824_0: /* 2 */
		goto S_5877_0;	/* 'break' */
		goto S_5877_0;
S_5877_0: /* 2 */
S_5837_0: /* 2 */
S_5826_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_5837_1;
S_5835_0: /* 2 */
S_5833_0: /* 2 */
S_5832_0: /* 2 */
S_5827_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_5832_1;
S_5828_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_5829_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5833_0; /* ';' */
S_5832_1: /* 3 */
S_5830_0: /* 2 */
		/* else */;
S_5831_0: /* 2 */
		goto S_5875_0;	/* 'goto' */
S_5832_2: /* 3 */
		Uerror("blocking sel in d_step (nr.285, near line 112)");
S_5834_0: /* 2 */
		goto S_5875_0;	/* 'break' */
		goto S_5838_0;
S_5837_1: /* 3 */
S_5836_0: /* 2 */
		/* else */;
		goto S_5838_0;
S_5837_2: /* 3 */
		Uerror("blocking sel in d_step (nr.286, near line 153)");
S_5838_0: /* 2 */
S_5875_0: /* 2 */
S_5839_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_5875_1;
S_5872_0: /* 2 */
S_5840_0: /* 2 */
		if (!((now.state==8)))
			goto S_5872_1;
S_5868_0: /* 2 */
S_5841_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_5842_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_5843_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_5844_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_5854_0: /* 2 */
S_5845_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5852_0: /* 2 */
S_5851_0: /* 2 */
S_5846_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_5851_1;
S_5847_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5848_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5852_0; /* ';' */
S_5851_1: /* 3 */
S_5849_0: /* 2 */
		/* else */;
S_5850_0: /* 2 */
		goto S_5864_0;	/* 'goto' */
S_5851_2: /* 3 */
		Uerror("blocking sel in d_step (nr.287, near line 120)");
S_5853_0: /* 2 */
		goto S_5864_0;	/* 'break' */
		goto S_5865_0;
S_5865_0: /* 2 */
S_5864_0: /* 2 */
S_5855_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_5864_1;
S_5859_0: /* 2 */
S_5856_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_5859_1;
S_5857_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_5860_0;
S_5859_1: /* 3 */
S_5858_0: /* 2 */
		/* else */;
		goto S_5860_0;
S_5859_2: /* 3 */
		Uerror("blocking sel in d_step (nr.288, near line 145)");
S_5860_0: /* 2 */
S_5861_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5865_0; /* ';' */
S_5864_1: /* 3 */
S_5862_0: /* 2 */
		/* else */;
S_5863_0: /* 2 */
		goto S_5867_0;	/* 'goto' */
S_5864_2: /* 3 */
		Uerror("blocking sel in d_step (nr.289, near line 143)");
S_5866_0: /* 2 */
		goto S_5867_0;	/* 'break' */
S_5867_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_5873_0;
S_5872_1: /* 3 */
S_5869_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_5872_2;
S_5870_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_5873_0;
S_5872_2: /* 3 */
S_5871_0: /* 2 */
		/* else */;
		goto S_5873_0;
S_5872_3: /* 3 */
		Uerror("blocking sel in d_step (nr.290, near line 159)");
S_5873_0: /* 2 */
		goto S_5876_0;
S_5875_1: /* 3 */
S_5874_0: /* 2 */
		/* else */;
		goto S_5876_0;
S_5875_2: /* 3 */
		Uerror("blocking sel in d_step (nr.291, near line 157)");
S_5876_0: /* 2 */
		goto S_5939_0;
S_5939_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 277: // STATE 3024 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3024] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 278: // STATE 3067 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][3067] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5880_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5886_0: /* 2 */
S_5885_0: /* 2 */
S_5881_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_5885_1;
S_5882_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5886_0; /* ';' */
S_5885_1: /* 3 */
S_5883_0: /* 2 */
		/* else */;
S_5884_0: /* 2 */
		goto S_5920_0;	/* 'goto' */
S_5885_2: /* 3 */
		Uerror("blocking sel in d_step (nr.292, near line 174)");
S_5887_0: /* 2 */
		goto S_5920_0;	/* 'break' */
S_5920_0: /* 2 */
S_5888_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_5920_1;
S_5889_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_5890_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5918_0: /* 2 */
S_5916_0: /* 2 */
S_5915_0: /* 2 */
S_5891_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_5915_1;
S_5900_0: /* 2 */
S_5898_0: /* 2 */
S_5892_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_5898_1;
S_5893_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_5894_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_5895_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_5896_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_5899_0;
S_5898_1: /* 3 */
S_5897_0: /* 2 */
		/* else */;
		goto S_5899_0;
S_5898_2: /* 3 */
		Uerror("blocking sel in d_step (nr.293, near line 81)");
S_5899_0: /* 2 */
		goto S_5901_0;
S_5901_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_5902_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_5906_0: /* 2 */
S_5903_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_5906_1;
S_5904_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_5907_0;
S_5906_1: /* 3 */
S_5905_0: /* 2 */
		/* else */;
		goto S_5907_0;
S_5906_2: /* 3 */
		Uerror("blocking sel in d_step (nr.294, near line 105)");
S_5907_0: /* 2 */
S_5911_0: /* 2 */
S_5908_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_5911_1;
S_5909_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5912_0;
S_5911_1: /* 3 */
S_5910_0: /* 2 */
		/* else */;
		goto S_5912_0;
S_5911_2: /* 3 */
		Uerror("blocking sel in d_step (nr.295, near line 106)");
S_5912_0: /* 2 */
		goto S_5916_0; /* '.' */
		goto S_5916_0; /* ';' */
S_5915_1: /* 3 */
S_5913_0: /* 2 */
		/* else */;
S_5914_0: /* 2 */
		goto S_5917_0;	/* 'goto' */
S_5915_2: /* 3 */
		Uerror("blocking sel in d_step (nr.296, near line 92)");
S_5917_0: /* 2 */
		goto S_5921_0;	/* 'break' */
S_5920_1: /* 3 */
S_5919_0: /* 2 */
		/* else */;
		goto S_5921_0;
S_5920_2: /* 3 */
		Uerror("blocking sel in d_step (nr.297, near line 181)");
S_5921_0: /* 2 */
		goto S_5931_0;
S_5931_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 279: // STATE 3068 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3068] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 280: // STATE 3071 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][3071] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5924_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_5925_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_5929_0;
S_5929_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 281: // STATE 3074 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][3074] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5927_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5928_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5932_0;
S_5932_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 282: // STATE 3086 - /tmp/w/models/conformance/models/close.pml:400 - [(!(0))] (3122:0:1 - 1)
		IfNotBlocked
		reached[3][3086] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 3087, 3122) */
		reached[3][3087] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b275(0, 3088, 3122) */
		reached[3][3088] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 283: // STATE 3092 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3092] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 284: // STATE 3104 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[3][3104] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5948_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_5949_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_5956_0: /* 2 */
S_5955_0: /* 2 */
S_5950_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_5955_1;
S_5951_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_5952_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5956_0; /* ';' */
S_5955_1: /* 3 */
S_5953_0: /* 2 */
		/* else */;
S_5954_0: /* 2 */
		goto S_5957_0;	/* 'goto' */
S_5955_2: /* 3 */
		Uerror("blocking sel in d_step (nr.298, near line 330)");
S_5957_0: /* 2 */
		goto S_5958_0;	/* 'break' */
S_5958_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_5969_0;
S_5969_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 285: // STATE 3108 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[3][3108] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5961_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_5962_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_5967_0;
S_5967_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 286: // STATE 3109 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3109] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 287: // STATE 3110 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3110] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 288: // STATE 3124 - /tmp/w/models/conformance/models/close.pml:416 - [(whole)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3124] = 1;
		if (!(((int)((P3 *)_this)->whole)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: whole */  (trpt+1)->bup.oval = ((P3 *)_this)->whole;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 289: // STATE 3127 - /tmp/w/models/conformance/models/close.pml:417 - [D_STEP417]
		IfNotBlocked

		reached[3][3127] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5980_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_5981_0: /* 2 */
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		goto S_5999_0;
S_5999_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 290: // STATE 3143 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][3143] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_5994_0: /* 2 */
S_5983_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_5994_1;
S_5992_0: /* 2 */
S_5990_0: /* 2 */
S_5989_0: /* 2 */
S_5984_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_5989_1;
S_5985_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_5986_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_5990_0; /* ';' */
S_5989_1: /* 3 */
S_5987_0: /* 2 */
		/* else */;
S_5988_0: /* 2 */
		goto S_5996_0;	/* 'goto' */
S_5989_2: /* 3 */
		Uerror("blocking sel in d_step (nr.299, near line 112)");
S_5991_0: /* 2 */
		goto S_5996_0;	/* 'break' */
		goto S_5995_0;
S_5994_1: /* 3 */
S_5993_0: /* 2 */
		/* else */;
		goto S_5995_0;
S_5994_2: /* 3 */
		Uerror("blocking sel in d_step (nr.300, near line 301)");
S_5995_0: /* 2 */
S_5996_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_5997_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6005_0;
S_6005_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 291: // STATE 3146 - /tmp/w/models/conformance/models/close.pml:423 - [want = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3146] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 292: // STATE 3147 - /tmp/w/models/conformance/models/close.pml:423 - [(run finisher())] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3147] = 1;
		if (!(addproc(II, 1, 0, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 293: // STATE 3151 - /tmp/w/models/conformance/models/close.pml:425 - [((want&&token))] (3166:0:2 - 1)
		IfNotBlocked
		reached[3][3151] = 1;
		if (!((((int)((P3 *)_this)->want)&&((int)now.token))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: want = 0(0, 3152, 3166) */
		reached[3][3152] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		/* merge: goto :b274(0, 3154, 3166) */
		reached[3][3154] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 294: // STATE 3155 - /tmp/w/models/conformance/models/close.pml:426 - [(!(want))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3155] = 1;
		if (!( !(((int)((P3 *)_this)->want))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.oval = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		_m = 3; goto P999; /* 0 */
	case 295: // STATE 3166 - /tmp/w/models/conformance/models/close.pml:702 - [readEnded = 1] (0:0:1 - 19)
		IfNotBlocked
		reached[3][3166] = 1;
		(trpt+1)->bup.oval = ((int)now.readEnded);
		now.readEnded = 1;
#ifdef VAR_RANGES
		logval("readEnded", ((int)now.readEnded));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 296: // STATE 3167 - /tmp/w/models/conformance/models/close.pml:705 - [(failed)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3167] = 1;
		if (!(((int)now.failed)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 297: // STATE 3171 - /tmp/w/models/conformance/models/close.pml:443 - [D_STEP443]
		IfNotBlocked

		reached[3][3171] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6023_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_6024_0: /* 2 */
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
S_6025_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
		goto S_6578_0;
S_6578_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 298: // STATE 3187 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][3187] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6038_0: /* 2 */
S_6027_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_6038_1;
S_6036_0: /* 2 */
S_6034_0: /* 2 */
S_6033_0: /* 2 */
S_6028_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_6033_1;
S_6029_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6030_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6034_0; /* ';' */
S_6033_1: /* 3 */
S_6031_0: /* 2 */
		/* else */;
S_6032_0: /* 2 */
		goto S_6040_0;	/* 'goto' */
S_6033_2: /* 3 */
		Uerror("blocking sel in d_step (nr.301, near line 112)");
S_6035_0: /* 2 */
		goto S_6040_0;	/* 'break' */
		goto S_6039_0;
S_6038_1: /* 3 */
S_6037_0: /* 2 */
		/* else */;
		goto S_6039_0;
S_6038_2: /* 3 */
		Uerror("blocking sel in d_step (nr.302, near line 301)");
S_6039_0: /* 2 */
S_6040_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_6041_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6576_0;
S_6576_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 299: // STATE 3189 - /tmp/w/models/conformance/models/close.pml:413 - [((want&&!(token)))] (3686:0:2 - 1)
		IfNotBlocked
		reached[3][3189] = 1;
		if (!((((int)((P3 *)_this)->want)&& !(((int)now.token)))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: token = 1(0, 3190, 3686) */
		reached[3][3190] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.token);
		now.token = 1;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 300: // STATE 3192 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3192] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 301: // STATE 3193 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3193] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 302: // STATE 3226 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[3][3226] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6079_0: /* 2 */
S_6078_0: /* 2 */
S_6049_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_6078_1;
S_6050_0: /* 2 */
		goto S_6080_0;	/* 'goto' */
S_6078_1: /* 3 */
S_6051_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_6078_2;
S_6052_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_6053_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_6054_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_6079_0; /* ';' */
S_6078_2: /* 3 */
S_6055_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_6078_3;
S_6064_0: /* 2 */
S_6062_0: /* 2 */
S_6061_0: /* 2 */
S_6056_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_6061_1;
S_6057_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6058_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6062_0; /* ';' */
S_6061_1: /* 3 */
S_6059_0: /* 2 */
		/* else */;
S_6060_0: /* 2 */
		goto S_6074_0;	/* 'goto' */
S_6061_2: /* 3 */
		Uerror("blocking sel in d_step (nr.303, near line 112)");
S_6063_0: /* 2 */
		goto S_6074_0;	/* 'break' */
		goto S_6074_0;
S_6074_0: /* 2 */
S_6065_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_6074_1;
S_6066_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6067_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_6068_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_6069_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_6070_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_6071_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_6075_0;
S_6074_1: /* 3 */
S_6072_0: /* 2 */
		/* else */;
S_6073_0: /* 2 */
		goto S_6080_0;	/* 'goto' */
		goto S_6075_0;
S_6074_2: /* 3 */
		Uerror("blocking sel in d_step (nr.304, near line 317)");
S_6075_0: /* 2 */
		goto S_6079_0; /* '.' */
		goto S_6079_0; /* ';' */
S_6078_3: /* 3 */
S_6076_0: /* 2 */
		/* else */;
S_6077_0: /* 2 */
		goto S_6080_0;	/* 'goto' */
		goto S_6079_0; /* ';' */
S_6078_4: /* 3 */
		Uerror("blocking sel in d_step (nr.305, near line 312)");
S_6080_0: /* 2 */
		goto S_6535_0;	/* 'break' */
S_6085_0: /* 1 */
S_6535_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 303: // STATE 3231 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3231] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 304: // STATE 3232 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3232] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 305: // STATE 3265 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][3265] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6118_0: /* 2 */
S_6088_0: /* 2 */
		if (!((now.state!=5)))
			goto S_6118_1;
S_6116_0: /* 2 */
S_6089_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_6090_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_6091_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_6092_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_6102_0: /* 2 */
S_6093_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6100_0: /* 2 */
S_6099_0: /* 2 */
S_6094_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_6099_1;
S_6095_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6096_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6100_0; /* ';' */
S_6099_1: /* 3 */
S_6097_0: /* 2 */
		/* else */;
S_6098_0: /* 2 */
		goto S_6112_0;	/* 'goto' */
S_6099_2: /* 3 */
		Uerror("blocking sel in d_step (nr.306, near line 120)");
S_6101_0: /* 2 */
		goto S_6112_0;	/* 'break' */
		goto S_6113_0;
S_6113_0: /* 2 */
S_6112_0: /* 2 */
S_6103_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_6112_1;
S_6107_0: /* 2 */
S_6104_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_6107_1;
S_6105_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_6108_0;
S_6107_1: /* 3 */
S_6106_0: /* 2 */
		/* else */;
		goto S_6108_0;
S_6107_2: /* 3 */
		Uerror("blocking sel in d_step (nr.307, near line 145)");
S_6108_0: /* 2 */
S_6109_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6113_0; /* ';' */
S_6112_1: /* 3 */
S_6110_0: /* 2 */
		/* else */;
S_6111_0: /* 2 */
		goto S_6115_0;	/* 'goto' */
S_6112_2: /* 3 */
		Uerror("blocking sel in d_step (nr.308, near line 143)");
S_6114_0: /* 2 */
		goto S_6115_0;	/* 'break' */
S_6115_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_6119_0;
S_6118_1: /* 3 */
S_6117_0: /* 2 */
		/* else */;
		goto S_6119_0;
S_6118_2: /* 3 */
		Uerror("blocking sel in d_step (nr.309, near line 240)");
S_6119_0: /* 2 */
		goto S_6181_0;
S_6181_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 306: // STATE 3266 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3266] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 307: // STATE 3309 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][3309] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6122_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6128_0: /* 2 */
S_6127_0: /* 2 */
S_6123_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_6127_1;
S_6124_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6128_0; /* ';' */
S_6127_1: /* 3 */
S_6125_0: /* 2 */
		/* else */;
S_6126_0: /* 2 */
		goto S_6162_0;	/* 'goto' */
S_6127_2: /* 3 */
		Uerror("blocking sel in d_step (nr.310, near line 174)");
S_6129_0: /* 2 */
		goto S_6162_0;	/* 'break' */
S_6162_0: /* 2 */
S_6130_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_6162_1;
S_6131_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_6132_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6160_0: /* 2 */
S_6158_0: /* 2 */
S_6157_0: /* 2 */
S_6133_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_6157_1;
S_6142_0: /* 2 */
S_6140_0: /* 2 */
S_6134_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_6140_1;
S_6135_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_6136_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_6137_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_6138_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_6141_0;
S_6140_1: /* 3 */
S_6139_0: /* 2 */
		/* else */;
		goto S_6141_0;
S_6140_2: /* 3 */
		Uerror("blocking sel in d_step (nr.311, near line 81)");
S_6141_0: /* 2 */
		goto S_6143_0;
S_6143_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_6144_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_6148_0: /* 2 */
S_6145_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_6148_1;
S_6146_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6149_0;
S_6148_1: /* 3 */
S_6147_0: /* 2 */
		/* else */;
		goto S_6149_0;
S_6148_2: /* 3 */
		Uerror("blocking sel in d_step (nr.312, near line 105)");
S_6149_0: /* 2 */
S_6153_0: /* 2 */
S_6150_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_6153_1;
S_6151_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6154_0;
S_6153_1: /* 3 */
S_6152_0: /* 2 */
		/* else */;
		goto S_6154_0;
S_6153_2: /* 3 */
		Uerror("blocking sel in d_step (nr.313, near line 106)");
S_6154_0: /* 2 */
		goto S_6158_0; /* '.' */
		goto S_6158_0; /* ';' */
S_6157_1: /* 3 */
S_6155_0: /* 2 */
		/* else */;
S_6156_0: /* 2 */
		goto S_6159_0;	/* 'goto' */
S_6157_2: /* 3 */
		Uerror("blocking sel in d_step (nr.314, near line 92)");
S_6159_0: /* 2 */
		goto S_6163_0;	/* 'break' */
S_6162_1: /* 3 */
S_6161_0: /* 2 */
		/* else */;
		goto S_6163_0;
S_6162_2: /* 3 */
		Uerror("blocking sel in d_step (nr.315, near line 181)");
S_6163_0: /* 2 */
		goto S_6173_0;
S_6173_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 308: // STATE 3310 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3310] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 309: // STATE 3313 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][3313] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6166_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_6167_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_6171_0;
S_6171_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 310: // STATE 3316 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][3316] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6169_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6170_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6174_0;
S_6174_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 311: // STATE 3346 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][3346] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6197_0: /* 2 */
S_6186_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_6197_1;
S_6195_0: /* 2 */
S_6193_0: /* 2 */
S_6192_0: /* 2 */
S_6187_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_6192_1;
S_6188_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6189_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6193_0; /* ';' */
S_6192_1: /* 3 */
S_6190_0: /* 2 */
		/* else */;
S_6191_0: /* 2 */
		goto S_6199_0;	/* 'goto' */
S_6192_2: /* 3 */
		Uerror("blocking sel in d_step (nr.316, near line 112)");
S_6194_0: /* 2 */
		goto S_6199_0;	/* 'break' */
		goto S_6198_0;
S_6197_1: /* 3 */
S_6196_0: /* 2 */
		/* else */;
		goto S_6198_0;
S_6197_2: /* 3 */
		Uerror("blocking sel in d_step (nr.317, near line 301)");
S_6198_0: /* 2 */
S_6199_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_6200_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6313_0;
S_6313_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 312: // STATE 3348 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3348] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 313: // STATE 3349 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3349] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 314: // STATE 3350 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3350] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 315: // STATE 3353 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[3][3353] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6206_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_6207_0: /* 2 */
		((P3 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_6309_0;
S_6309_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 316: // STATE 3354 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3354] = 1;
		if (!(((int)((P3 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P3 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 317: // STATE 3357 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[3][3357] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6210_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_6211_0: /* 2 */
		((P3 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_6307_0;
S_6307_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 318: // STATE 3390 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][3390] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6243_0: /* 2 */
S_6213_0: /* 2 */
		if (!((now.state!=5)))
			goto S_6243_1;
S_6241_0: /* 2 */
S_6214_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_6215_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_6216_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_6217_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_6227_0: /* 2 */
S_6218_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6225_0: /* 2 */
S_6224_0: /* 2 */
S_6219_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_6224_1;
S_6220_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6221_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6225_0; /* ';' */
S_6224_1: /* 3 */
S_6222_0: /* 2 */
		/* else */;
S_6223_0: /* 2 */
		goto S_6237_0;	/* 'goto' */
S_6224_2: /* 3 */
		Uerror("blocking sel in d_step (nr.318, near line 120)");
S_6226_0: /* 2 */
		goto S_6237_0;	/* 'break' */
		goto S_6238_0;
S_6238_0: /* 2 */
S_6237_0: /* 2 */
S_6228_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_6237_1;
S_6232_0: /* 2 */
S_6229_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_6232_1;
S_6230_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_6233_0;
S_6232_1: /* 3 */
S_6231_0: /* 2 */
		/* else */;
		goto S_6233_0;
S_6232_2: /* 3 */
		Uerror("blocking sel in d_step (nr.319, near line 145)");
S_6233_0: /* 2 */
S_6234_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6238_0; /* ';' */
S_6237_1: /* 3 */
S_6235_0: /* 2 */
		/* else */;
S_6236_0: /* 2 */
		goto S_6240_0;	/* 'goto' */
S_6237_2: /* 3 */
		Uerror("blocking sel in d_step (nr.320, near line 143)");
S_6239_0: /* 2 */
		goto S_6240_0;	/* 'break' */
S_6240_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_6244_0;
S_6243_1: /* 3 */
S_6242_0: /* 2 */
		/* else */;
		goto S_6244_0;
S_6243_2: /* 3 */
		Uerror("blocking sel in d_step (nr.321, near line 240)");
S_6244_0: /* 2 */
		goto S_6306_0;
S_6306_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 319: // STATE 3391 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3391] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 320: // STATE 3434 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][3434] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6247_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6253_0: /* 2 */
S_6252_0: /* 2 */
S_6248_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_6252_1;
S_6249_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6253_0; /* ';' */
S_6252_1: /* 3 */
S_6250_0: /* 2 */
		/* else */;
S_6251_0: /* 2 */
		goto S_6287_0;	/* 'goto' */
S_6252_2: /* 3 */
		Uerror("blocking sel in d_step (nr.322, near line 174)");
S_6254_0: /* 2 */
		goto S_6287_0;	/* 'break' */
S_6287_0: /* 2 */
S_6255_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_6287_1;
S_6256_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_6257_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6285_0: /* 2 */
S_6283_0: /* 2 */
S_6282_0: /* 2 */
S_6258_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_6282_1;
S_6267_0: /* 2 */
S_6265_0: /* 2 */
S_6259_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_6265_1;
S_6260_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_6261_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_6262_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_6263_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_6266_0;
S_6265_1: /* 3 */
S_6264_0: /* 2 */
		/* else */;
		goto S_6266_0;
S_6265_2: /* 3 */
		Uerror("blocking sel in d_step (nr.323, near line 81)");
S_6266_0: /* 2 */
		goto S_6268_0;
S_6268_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_6269_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_6273_0: /* 2 */
S_6270_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_6273_1;
S_6271_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6274_0;
S_6273_1: /* 3 */
S_6272_0: /* 2 */
		/* else */;
		goto S_6274_0;
S_6273_2: /* 3 */
		Uerror("blocking sel in d_step (nr.324, near line 105)");
S_6274_0: /* 2 */
S_6278_0: /* 2 */
S_6275_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_6278_1;
S_6276_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6279_0;
S_6278_1: /* 3 */
S_6277_0: /* 2 */
		/* else */;
		goto S_6279_0;
S_6278_2: /* 3 */
		Uerror("blocking sel in d_step (nr.325, near line 106)");
S_6279_0: /* 2 */
		goto S_6283_0; /* '.' */
		goto S_6283_0; /* ';' */
S_6282_1: /* 3 */
S_6280_0: /* 2 */
		/* else */;
S_6281_0: /* 2 */
		goto S_6284_0;	/* 'goto' */
S_6282_2: /* 3 */
		Uerror("blocking sel in d_step (nr.326, near line 92)");
S_6284_0: /* 2 */
		goto S_6288_0;	/* 'break' */
S_6287_1: /* 3 */
S_6286_0: /* 2 */
		/* else */;
		goto S_6288_0;
S_6287_2: /* 3 */
		Uerror("blocking sel in d_step (nr.327, near line 181)");
S_6288_0: /* 2 */
		goto S_6298_0;
S_6298_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 321: // STATE 3435 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3435] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 322: // STATE 3438 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][3438] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6291_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_6292_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_6296_0;
S_6296_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 323: // STATE 3441 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][3441] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6294_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6295_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6299_0;
S_6299_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 324: // STATE 3463 - /tmp/w/models/conformance/models/close.pml:387 - [(!(0))] (3685:0:1 - 1)
		IfNotBlocked
		reached[3][3463] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 3464, 3685) */
		reached[3][3464] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b303(0, 3465, 3685) */
		reached[3][3465] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 325: // STATE 3466 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3466] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 326: // STATE 3481 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[3][3481] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6322_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6330_0: /* 2 */
S_6329_0: /* 2 */
S_6323_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_6329_1;
S_6324_0: /* 2 */
		now.wire[ Index(((P3 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[receiver:i]", ((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6325_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6326_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6330_0; /* ';' */
S_6329_1: /* 3 */
S_6327_0: /* 2 */
		/* else */;
S_6328_0: /* 2 */
		goto S_6332_0;	/* 'goto' */
S_6329_2: /* 3 */
		Uerror("blocking sel in d_step (nr.328, near line 391)");
S_6331_0: /* 2 */
		goto S_6332_0;	/* 'break' */
S_6332_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6333_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_6334_0: /* 2 */
		((P3 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_6335_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_6503_0;
S_6503_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 327: // STATE 3586 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[3][3586] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6357_0: /* 2 */
S_6356_0: /* 2 */
S_6337_0: /* 2 */
		if (!(((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_6356_1;
S_6343_0: /* 2 */
S_6342_0: /* 2 */
S_6338_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_6342_1;
S_6339_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6343_0; /* ';' */
S_6342_1: /* 3 */
S_6340_0: /* 2 */
		/* else */;
S_6341_0: /* 2 */
		goto S_6345_0;	/* 'goto' */
S_6342_2: /* 3 */
		Uerror("blocking sel in d_step (nr.329, near line 218)");
S_6344_0: /* 2 */
		goto S_6345_0;	/* 'break' */
S_6345_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_6349_0: /* 2 */
S_6346_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_6349_1;
S_6347_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_6350_0;
S_6349_1: /* 3 */
S_6348_0: /* 2 */
		/* else */;
		goto S_6350_0;
S_6349_2: /* 3 */
		Uerror("blocking sel in d_step (nr.330, near line 223)");
S_6350_0: /* 2 */
S_6351_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_6352_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_6353_0: /* 2 */
		((P3 *)_this)->n = (((int)((P3 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
		goto S_6357_0; /* ';' */
S_6356_1: /* 3 */
S_6354_0: /* 2 */
		/* else */;
S_6355_0: /* 2 */
		goto S_6359_0;	/* 'goto' */
S_6356_2: /* 3 */
		Uerror("blocking sel in d_step (nr.331, near line 216)");
S_6358_0: /* 2 */
		goto S_6359_0;	/* 'break' */
S_6359_0: /* 2 */
		((P3 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_6360_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_6388_0: /* 2 */
S_6386_0: /* 2 */
S_6385_0: /* 2 */
S_6361_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_6385_1;
S_6370_0: /* 2 */
S_6368_0: /* 2 */
S_6362_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_6368_1;
S_6363_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_6364_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_6365_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_6366_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_6369_0;
S_6368_1: /* 3 */
S_6367_0: /* 2 */
		/* else */;
		goto S_6369_0;
S_6368_2: /* 3 */
		Uerror("blocking sel in d_step (nr.332, near line 81)");
S_6369_0: /* 2 */
		goto S_6371_0;
S_6371_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_6372_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_6376_0: /* 2 */
S_6373_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_6376_1;
S_6374_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6377_0;
S_6376_1: /* 3 */
S_6375_0: /* 2 */
		/* else */;
		goto S_6377_0;
S_6376_2: /* 3 */
		Uerror("blocking sel in d_step (nr.333, near line 105)");
S_6377_0: /* 2 */
S_6381_0: /* 2 */
S_6378_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_6381_1;
S_6379_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6382_0;
S_6381_1: /* 3 */
S_6380_0: /* 2 */
		/* else */;
		goto S_6382_0;
S_6381_2: /* 3 */
		Uerror("blocking sel in d_step (nr.334, near line 106)");
S_6382_0: /* 2 */
		goto S_6386_0; /* '.' */
		goto S_6386_0; /* ';' */
S_6385_1: /* 3 */
S_6383_0: /* 2 */
		/* else */;
S_6384_0: /* 2 */
		goto S_6440_0;	/* 'goto' */
S_6385_2: /* 3 */
		Uerror("blocking sel in d_step (nr.335, near line 92)");
S_6387_0: /* 2 */
		goto S_6440_0;	/* 'break' */
		goto S_6440_0;
S_6440_0: /* 2 */
S_6400_0: /* 2 */
S_6389_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_6400_1;
S_6398_0: /* 2 */
S_6396_0: /* 2 */
S_6395_0: /* 2 */
S_6390_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_6395_1;
S_6391_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6392_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6396_0; /* ';' */
S_6395_1: /* 3 */
S_6393_0: /* 2 */
		/* else */;
S_6394_0: /* 2 */
		goto S_6438_0;	/* 'goto' */
S_6395_2: /* 3 */
		Uerror("blocking sel in d_step (nr.336, near line 112)");
S_6397_0: /* 2 */
		goto S_6438_0;	/* 'break' */
		goto S_6401_0;
S_6400_1: /* 3 */
S_6399_0: /* 2 */
		/* else */;
		goto S_6401_0;
S_6400_2: /* 3 */
		Uerror("blocking sel in d_step (nr.337, near line 153)");
S_6401_0: /* 2 */
S_6438_0: /* 2 */
S_6402_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_6438_1;
S_6435_0: /* 2 */
S_6403_0: /* 2 */
		if (!((now.state==8)))
			goto S_6435_1;
S_6431_0: /* 2 */
S_6404_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_6405_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_6406_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_6407_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_6417_0: /* 2 */
S_6408_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6415_0: /* 2 */
S_6414_0: /* 2 */
S_6409_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_6414_1;
S_6410_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6411_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6415_0; /* ';' */
S_6414_1: /* 3 */
S_6412_0: /* 2 */
		/* else */;
S_6413_0: /* 2 */
		goto S_6427_0;	/* 'goto' */
S_6414_2: /* 3 */
		Uerror("blocking sel in d_step (nr.338, near line 120)");
S_6416_0: /* 2 */
		goto S_6427_0;	/* 'break' */
		goto S_6428_0;
S_6428_0: /* 2 */
S_6427_0: /* 2 */
S_6418_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_6427_1;
S_6422_0: /* 2 */
S_6419_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_6422_1;
S_6420_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_6423_0;
S_6422_1: /* 3 */
S_6421_0: /* 2 */
		/* else */;
		goto S_6423_0;
S_6422_2: /* 3 */
		Uerror("blocking sel in d_step (nr.339, near line 145)");
S_6423_0: /* 2 */
S_6424_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6428_0; /* ';' */
S_6427_1: /* 3 */
S_6425_0: /* 2 */
		/* else */;
S_6426_0: /* 2 */
		goto S_6430_0;	/* 'goto' */
S_6427_2: /* 3 */
		Uerror("blocking sel in d_step (nr.340, near line 143)");
S_6429_0: /* 2 */
		goto S_6430_0;	/* 'break' */
S_6430_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_6436_0;
S_6435_1: /* 3 */
S_6432_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_6435_2;
S_6433_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_6436_0;
S_6435_2: /* 3 */
S_6434_0: /* 2 */
		/* else */;
		goto S_6436_0;
S_6435_3: /* 3 */
		Uerror("blocking sel in d_step (nr.341, near line 159)");
S_6436_0: /* 2 */
		goto S_6439_0;
S_6438_1: /* 3 */
S_6437_0: /* 2 */
		/* else */;
		goto S_6439_0;
S_6438_2: /* 3 */
		Uerror("blocking sel in d_step (nr.342, near line 157)");
S_6439_0: /* 2 */
		goto S_6502_0;
S_6502_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 328: // STATE 3587 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3587] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 329: // STATE 3630 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][3630] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6443_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6449_0: /* 2 */
S_6448_0: /* 2 */
S_6444_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_6448_1;
S_6445_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6449_0; /* ';' */
S_6448_1: /* 3 */
S_6446_0: /* 2 */
		/* else */;
S_6447_0: /* 2 */
		goto S_6483_0;	/* 'goto' */
S_6448_2: /* 3 */
		Uerror("blocking sel in d_step (nr.343, near line 174)");
S_6450_0: /* 2 */
		goto S_6483_0;	/* 'break' */
S_6483_0: /* 2 */
S_6451_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_6483_1;
S_6452_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_6453_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6481_0: /* 2 */
S_6479_0: /* 2 */
S_6478_0: /* 2 */
S_6454_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_6478_1;
S_6463_0: /* 2 */
S_6461_0: /* 2 */
S_6455_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_6461_1;
S_6456_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_6457_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_6458_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_6459_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_6462_0;
S_6461_1: /* 3 */
S_6460_0: /* 2 */
		/* else */;
		goto S_6462_0;
S_6461_2: /* 3 */
		Uerror("blocking sel in d_step (nr.344, near line 81)");
S_6462_0: /* 2 */
		goto S_6464_0;
S_6464_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_6465_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_6469_0: /* 2 */
S_6466_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_6469_1;
S_6467_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6470_0;
S_6469_1: /* 3 */
S_6468_0: /* 2 */
		/* else */;
		goto S_6470_0;
S_6469_2: /* 3 */
		Uerror("blocking sel in d_step (nr.345, near line 105)");
S_6470_0: /* 2 */
S_6474_0: /* 2 */
S_6471_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_6474_1;
S_6472_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6475_0;
S_6474_1: /* 3 */
S_6473_0: /* 2 */
		/* else */;
		goto S_6475_0;
S_6474_2: /* 3 */
		Uerror("blocking sel in d_step (nr.346, near line 106)");
S_6475_0: /* 2 */
		goto S_6479_0; /* '.' */
		goto S_6479_0; /* ';' */
S_6478_1: /* 3 */
S_6476_0: /* 2 */
		/* else */;
S_6477_0: /* 2 */
		goto S_6480_0;	/* 'goto' */
S_6478_2: /* 3 */
		Uerror("blocking sel in d_step (nr.347, near line 92)");
S_6480_0: /* 2 */
		goto S_6484_0;	/* 'break' */
S_6483_1: /* 3 */
S_6482_0: /* 2 */
		/* else */;
		goto S_6484_0;
S_6483_2: /* 3 */
		Uerror("blocking sel in d_step (nr.348, near line 181)");
S_6484_0: /* 2 */
		goto S_6494_0;
S_6494_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 330: // STATE 3631 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3631] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 331: // STATE 3634 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][3634] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6487_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_6488_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_6492_0;
S_6492_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 332: // STATE 3637 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][3637] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6490_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6491_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6495_0;
S_6495_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 333: // STATE 3649 - /tmp/w/models/conformance/models/close.pml:400 - [(!(0))] (3685:0:1 - 1)
		IfNotBlocked
		reached[3][3649] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 3650, 3685) */
		reached[3][3650] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b303(0, 3651, 3685) */
		reached[3][3651] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 334: // STATE 3655 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3655] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 335: // STATE 3667 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[3][3667] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6511_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_6512_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6519_0: /* 2 */
S_6518_0: /* 2 */
S_6513_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_6518_1;
S_6514_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6515_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6519_0; /* ';' */
S_6518_1: /* 3 */
S_6516_0: /* 2 */
		/* else */;
S_6517_0: /* 2 */
		goto S_6520_0;	/* 'goto' */
S_6518_2: /* 3 */
		Uerror("blocking sel in d_step (nr.349, near line 330)");
S_6520_0: /* 2 */
		goto S_6521_0;	/* 'break' */
S_6521_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6532_0;
S_6532_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 336: // STATE 3671 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[3][3671] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6524_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_6525_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_6530_0;
S_6530_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 337: // STATE 3672 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3672] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 338: // STATE 3673 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3673] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 339: // STATE 3687 - /tmp/w/models/conformance/models/close.pml:416 - [(whole)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3687] = 1;
		if (!(((int)((P3 *)_this)->whole)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: whole */  (trpt+1)->bup.oval = ((P3 *)_this)->whole;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 340: // STATE 3690 - /tmp/w/models/conformance/models/close.pml:417 - [D_STEP417]
		IfNotBlocked

		reached[3][3690] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6543_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_6544_0: /* 2 */
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		goto S_6562_0;
S_6562_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 341: // STATE 3706 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][3706] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6557_0: /* 2 */
S_6546_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_6557_1;
S_6555_0: /* 2 */
S_6553_0: /* 2 */
S_6552_0: /* 2 */
S_6547_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_6552_1;
S_6548_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6549_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6553_0; /* ';' */
S_6552_1: /* 3 */
S_6550_0: /* 2 */
		/* else */;
S_6551_0: /* 2 */
		goto S_6559_0;	/* 'goto' */
S_6552_2: /* 3 */
		Uerror("blocking sel in d_step (nr.350, near line 112)");
S_6554_0: /* 2 */
		goto S_6559_0;	/* 'break' */
		goto S_6558_0;
S_6557_1: /* 3 */
S_6556_0: /* 2 */
		/* else */;
		goto S_6558_0;
S_6557_2: /* 3 */
		Uerror("blocking sel in d_step (nr.351, near line 301)");
S_6558_0: /* 2 */
S_6559_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_6560_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6568_0;
S_6568_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 342: // STATE 3709 - /tmp/w/models/conformance/models/close.pml:423 - [want = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3709] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 343: // STATE 3710 - /tmp/w/models/conformance/models/close.pml:423 - [(run finisher())] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3710] = 1;
		if (!(addproc(II, 1, 0, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 344: // STATE 3714 - /tmp/w/models/conformance/models/close.pml:425 - [((want&&token))] (4279:0:2 - 1)
		IfNotBlocked
		reached[3][3714] = 1;
		if (!((((int)((P3 *)_this)->want)&&((int)now.token))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: want = 0(0, 3715, 4279) */
		reached[3][3715] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		/* merge: goto :b302(0, 3717, 4279) */
		reached[3][3717] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 345: // STATE 3718 - /tmp/w/models/conformance/models/close.pml:426 - [(!(want))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3718] = 1;
		if (!( !(((int)((P3 *)_this)->want))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.oval = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		_m = 3; goto P999; /* 0 */
	case 346: // STATE 3743 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][3743] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6594_0: /* 2 */
S_6583_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_6594_1;
S_6592_0: /* 2 */
S_6590_0: /* 2 */
S_6589_0: /* 2 */
S_6584_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_6589_1;
S_6585_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6586_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6590_0; /* ';' */
S_6589_1: /* 3 */
S_6587_0: /* 2 */
		/* else */;
S_6588_0: /* 2 */
		goto S_6596_0;	/* 'goto' */
S_6589_2: /* 3 */
		Uerror("blocking sel in d_step (nr.352, near line 112)");
S_6591_0: /* 2 */
		goto S_6596_0;	/* 'break' */
		goto S_6595_0;
S_6594_1: /* 3 */
S_6593_0: /* 2 */
		/* else */;
		goto S_6595_0;
S_6594_2: /* 3 */
		Uerror("blocking sel in d_step (nr.353, near line 301)");
S_6595_0: /* 2 */
S_6596_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_6597_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_7132_0;
S_7132_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 347: // STATE 3745 - /tmp/w/models/conformance/models/close.pml:413 - [((want&&!(token)))] (4242:0:2 - 1)
		IfNotBlocked
		reached[3][3745] = 1;
		if (!((((int)((P3 *)_this)->want)&& !(((int)now.token)))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: token = 1(0, 3746, 4242) */
		reached[3][3746] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.token);
		now.token = 1;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 348: // STATE 3748 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3748] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 349: // STATE 3749 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3749] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 350: // STATE 3782 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[3][3782] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6635_0: /* 2 */
S_6634_0: /* 2 */
S_6605_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_6634_1;
S_6606_0: /* 2 */
		goto S_6636_0;	/* 'goto' */
S_6634_1: /* 3 */
S_6607_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_6634_2;
S_6608_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_6609_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_6610_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_6635_0; /* ';' */
S_6634_2: /* 3 */
S_6611_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_6634_3;
S_6620_0: /* 2 */
S_6618_0: /* 2 */
S_6617_0: /* 2 */
S_6612_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_6617_1;
S_6613_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6614_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6618_0; /* ';' */
S_6617_1: /* 3 */
S_6615_0: /* 2 */
		/* else */;
S_6616_0: /* 2 */
		goto S_6630_0;	/* 'goto' */
S_6617_2: /* 3 */
		Uerror("blocking sel in d_step (nr.354, near line 112)");
S_6619_0: /* 2 */
		goto S_6630_0;	/* 'break' */
		goto S_6630_0;
S_6630_0: /* 2 */
S_6621_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_6630_1;
S_6622_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6623_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_6624_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_6625_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_6626_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_6627_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_6631_0;
S_6630_1: /* 3 */
S_6628_0: /* 2 */
		/* else */;
S_6629_0: /* 2 */
		goto S_6636_0;	/* 'goto' */
		goto S_6631_0;
S_6630_2: /* 3 */
		Uerror("blocking sel in d_step (nr.355, near line 317)");
S_6631_0: /* 2 */
		goto S_6635_0; /* '.' */
		goto S_6635_0; /* ';' */
S_6634_3: /* 3 */
S_6632_0: /* 2 */
		/* else */;
S_6633_0: /* 2 */
		goto S_6636_0;	/* 'goto' */
		goto S_6635_0; /* ';' */
S_6634_4: /* 3 */
		Uerror("blocking sel in d_step (nr.356, near line 312)");
S_6636_0: /* 2 */
		goto S_7091_0;	/* 'break' */
S_6641_0: /* 1 */
S_7091_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 351: // STATE 3787 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3787] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 352: // STATE 3788 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3788] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 353: // STATE 3821 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][3821] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6674_0: /* 2 */
S_6644_0: /* 2 */
		if (!((now.state!=5)))
			goto S_6674_1;
S_6672_0: /* 2 */
S_6645_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_6646_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_6647_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_6648_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_6658_0: /* 2 */
S_6649_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6656_0: /* 2 */
S_6655_0: /* 2 */
S_6650_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_6655_1;
S_6651_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6652_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6656_0; /* ';' */
S_6655_1: /* 3 */
S_6653_0: /* 2 */
		/* else */;
S_6654_0: /* 2 */
		goto S_6668_0;	/* 'goto' */
S_6655_2: /* 3 */
		Uerror("blocking sel in d_step (nr.357, near line 120)");
S_6657_0: /* 2 */
		goto S_6668_0;	/* 'break' */
		goto S_6669_0;
S_6669_0: /* 2 */
S_6668_0: /* 2 */
S_6659_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_6668_1;
S_6663_0: /* 2 */
S_6660_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_6663_1;
S_6661_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_6664_0;
S_6663_1: /* 3 */
S_6662_0: /* 2 */
		/* else */;
		goto S_6664_0;
S_6663_2: /* 3 */
		Uerror("blocking sel in d_step (nr.358, near line 145)");
S_6664_0: /* 2 */
S_6665_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6669_0; /* ';' */
S_6668_1: /* 3 */
S_6666_0: /* 2 */
		/* else */;
S_6667_0: /* 2 */
		goto S_6671_0;	/* 'goto' */
S_6668_2: /* 3 */
		Uerror("blocking sel in d_step (nr.359, near line 143)");
S_6670_0: /* 2 */
		goto S_6671_0;	/* 'break' */
S_6671_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_6675_0;
S_6674_1: /* 3 */
S_6673_0: /* 2 */
		/* else */;
		goto S_6675_0;
S_6674_2: /* 3 */
		Uerror("blocking sel in d_step (nr.360, near line 240)");
S_6675_0: /* 2 */
		goto S_6737_0;
S_6737_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 354: // STATE 3822 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3822] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 355: // STATE 3865 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][3865] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6678_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6684_0: /* 2 */
S_6683_0: /* 2 */
S_6679_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_6683_1;
S_6680_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6684_0; /* ';' */
S_6683_1: /* 3 */
S_6681_0: /* 2 */
		/* else */;
S_6682_0: /* 2 */
		goto S_6718_0;	/* 'goto' */
S_6683_2: /* 3 */
		Uerror("blocking sel in d_step (nr.361, near line 174)");
S_6685_0: /* 2 */
		goto S_6718_0;	/* 'break' */
S_6718_0: /* 2 */
S_6686_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_6718_1;
S_6687_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_6688_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6716_0: /* 2 */
S_6714_0: /* 2 */
S_6713_0: /* 2 */
S_6689_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_6713_1;
S_6698_0: /* 2 */
S_6696_0: /* 2 */
S_6690_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_6696_1;
S_6691_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_6692_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_6693_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_6694_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_6697_0;
S_6696_1: /* 3 */
S_6695_0: /* 2 */
		/* else */;
		goto S_6697_0;
S_6696_2: /* 3 */
		Uerror("blocking sel in d_step (nr.362, near line 81)");
S_6697_0: /* 2 */
		goto S_6699_0;
S_6699_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_6700_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_6704_0: /* 2 */
S_6701_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_6704_1;
S_6702_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6705_0;
S_6704_1: /* 3 */
S_6703_0: /* 2 */
		/* else */;
		goto S_6705_0;
S_6704_2: /* 3 */
		Uerror("blocking sel in d_step (nr.363, near line 105)");
S_6705_0: /* 2 */
S_6709_0: /* 2 */
S_6706_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_6709_1;
S_6707_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6710_0;
S_6709_1: /* 3 */
S_6708_0: /* 2 */
		/* else */;
		goto S_6710_0;
S_6709_2: /* 3 */
		Uerror("blocking sel in d_step (nr.364, near line 106)");
S_6710_0: /* 2 */
		goto S_6714_0; /* '.' */
		goto S_6714_0; /* ';' */
S_6713_1: /* 3 */
S_6711_0: /* 2 */
		/* else */;
S_6712_0: /* 2 */
		goto S_6715_0;	/* 'goto' */
S_6713_2: /* 3 */
		Uerror("blocking sel in d_step (nr.365, near line 92)");
S_6715_0: /* 2 */
		goto S_6719_0;	/* 'break' */
S_6718_1: /* 3 */
S_6717_0: /* 2 */
		/* else */;
		goto S_6719_0;
S_6718_2: /* 3 */
		Uerror("blocking sel in d_step (nr.366, near line 181)");
S_6719_0: /* 2 */
		goto S_6729_0;
S_6729_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 356: // STATE 3866 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3866] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 357: // STATE 3869 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][3869] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6722_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_6723_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_6727_0;
S_6727_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 358: // STATE 3872 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][3872] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6725_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6726_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6730_0;
S_6730_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 359: // STATE 3902 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][3902] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6753_0: /* 2 */
S_6742_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_6753_1;
S_6751_0: /* 2 */
S_6749_0: /* 2 */
S_6748_0: /* 2 */
S_6743_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_6748_1;
S_6744_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6745_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6749_0; /* ';' */
S_6748_1: /* 3 */
S_6746_0: /* 2 */
		/* else */;
S_6747_0: /* 2 */
		goto S_6755_0;	/* 'goto' */
S_6748_2: /* 3 */
		Uerror("blocking sel in d_step (nr.367, near line 112)");
S_6750_0: /* 2 */
		goto S_6755_0;	/* 'break' */
		goto S_6754_0;
S_6753_1: /* 3 */
S_6752_0: /* 2 */
		/* else */;
		goto S_6754_0;
S_6753_2: /* 3 */
		Uerror("blocking sel in d_step (nr.368, near line 301)");
S_6754_0: /* 2 */
S_6755_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_6756_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6869_0;
S_6869_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 360: // STATE 3904 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3904] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 361: // STATE 3905 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3905] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 362: // STATE 3906 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3906] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 363: // STATE 3909 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[3][3909] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6762_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_6763_0: /* 2 */
		((P3 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_6865_0;
S_6865_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 364: // STATE 3910 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][3910] = 1;
		if (!(((int)((P3 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P3 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 365: // STATE 3913 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[3][3913] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6766_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_6767_0: /* 2 */
		((P3 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_6863_0;
S_6863_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 366: // STATE 3946 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][3946] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6799_0: /* 2 */
S_6769_0: /* 2 */
		if (!((now.state!=5)))
			goto S_6799_1;
S_6797_0: /* 2 */
S_6770_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_6771_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_6772_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_6773_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_6783_0: /* 2 */
S_6774_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6781_0: /* 2 */
S_6780_0: /* 2 */
S_6775_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_6780_1;
S_6776_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6777_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6781_0; /* ';' */
S_6780_1: /* 3 */
S_6778_0: /* 2 */
		/* else */;
S_6779_0: /* 2 */
		goto S_6793_0;	/* 'goto' */
S_6780_2: /* 3 */
		Uerror("blocking sel in d_step (nr.369, near line 120)");
S_6782_0: /* 2 */
		goto S_6793_0;	/* 'break' */
		goto S_6794_0;
S_6794_0: /* 2 */
S_6793_0: /* 2 */
S_6784_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_6793_1;
S_6788_0: /* 2 */
S_6785_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_6788_1;
S_6786_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_6789_0;
S_6788_1: /* 3 */
S_6787_0: /* 2 */
		/* else */;
		goto S_6789_0;
S_6788_2: /* 3 */
		Uerror("blocking sel in d_step (nr.370, near line 145)");
S_6789_0: /* 2 */
S_6790_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6794_0; /* ';' */
S_6793_1: /* 3 */
S_6791_0: /* 2 */
		/* else */;
S_6792_0: /* 2 */
		goto S_6796_0;	/* 'goto' */
S_6793_2: /* 3 */
		Uerror("blocking sel in d_step (nr.371, near line 143)");
S_6795_0: /* 2 */
		goto S_6796_0;	/* 'break' */
S_6796_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_6800_0;
S_6799_1: /* 3 */
S_6798_0: /* 2 */
		/* else */;
		goto S_6800_0;
S_6799_2: /* 3 */
		Uerror("blocking sel in d_step (nr.372, near line 240)");
S_6800_0: /* 2 */
		goto S_6862_0;
S_6862_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 367: // STATE 3947 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3947] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 368: // STATE 3990 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][3990] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6803_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6809_0: /* 2 */
S_6808_0: /* 2 */
S_6804_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_6808_1;
S_6805_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6809_0; /* ';' */
S_6808_1: /* 3 */
S_6806_0: /* 2 */
		/* else */;
S_6807_0: /* 2 */
		goto S_6843_0;	/* 'goto' */
S_6808_2: /* 3 */
		Uerror("blocking sel in d_step (nr.373, near line 174)");
S_6810_0: /* 2 */
		goto S_6843_0;	/* 'break' */
S_6843_0: /* 2 */
S_6811_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_6843_1;
S_6812_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_6813_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6841_0: /* 2 */
S_6839_0: /* 2 */
S_6838_0: /* 2 */
S_6814_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_6838_1;
S_6823_0: /* 2 */
S_6821_0: /* 2 */
S_6815_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_6821_1;
S_6816_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_6817_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_6818_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_6819_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_6822_0;
S_6821_1: /* 3 */
S_6820_0: /* 2 */
		/* else */;
		goto S_6822_0;
S_6821_2: /* 3 */
		Uerror("blocking sel in d_step (nr.374, near line 81)");
S_6822_0: /* 2 */
		goto S_6824_0;
S_6824_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_6825_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_6829_0: /* 2 */
S_6826_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_6829_1;
S_6827_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6830_0;
S_6829_1: /* 3 */
S_6828_0: /* 2 */
		/* else */;
		goto S_6830_0;
S_6829_2: /* 3 */
		Uerror("blocking sel in d_step (nr.375, near line 105)");
S_6830_0: /* 2 */
S_6834_0: /* 2 */
S_6831_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_6834_1;
S_6832_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6835_0;
S_6834_1: /* 3 */
S_6833_0: /* 2 */
		/* else */;
		goto S_6835_0;
S_6834_2: /* 3 */
		Uerror("blocking sel in d_step (nr.376, near line 106)");
S_6835_0: /* 2 */
		goto S_6839_0; /* '.' */
		goto S_6839_0; /* ';' */
S_6838_1: /* 3 */
S_6836_0: /* 2 */
		/* else */;
S_6837_0: /* 2 */
		goto S_6840_0;	/* 'goto' */
S_6838_2: /* 3 */
		Uerror("blocking sel in d_step (nr.377, near line 92)");
S_6840_0: /* 2 */
		goto S_6844_0;	/* 'break' */
S_6843_1: /* 3 */
S_6842_0: /* 2 */
		/* else */;
		goto S_6844_0;
S_6843_2: /* 3 */
		Uerror("blocking sel in d_step (nr.378, near line 181)");
S_6844_0: /* 2 */
		goto S_6854_0;
S_6854_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 369: // STATE 3991 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][3991] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 370: // STATE 3994 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][3994] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6847_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_6848_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_6852_0;
S_6852_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 371: // STATE 3997 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][3997] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6850_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6851_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6855_0;
S_6855_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 372: // STATE 4019 - /tmp/w/models/conformance/models/close.pml:387 - [(!(0))] (4241:0:1 - 1)
		IfNotBlocked
		reached[3][4019] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 4020, 4241) */
		reached[3][4020] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b331(0, 4021, 4241) */
		reached[3][4021] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 373: // STATE 4022 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][4022] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 374: // STATE 4037 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[3][4037] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6878_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6886_0: /* 2 */
S_6885_0: /* 2 */
S_6879_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_6885_1;
S_6880_0: /* 2 */
		now.wire[ Index(((P3 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[receiver:i]", ((int)now.wire[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6881_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6882_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6886_0; /* ';' */
S_6885_1: /* 3 */
S_6883_0: /* 2 */
		/* else */;
S_6884_0: /* 2 */
		goto S_6888_0;	/* 'goto' */
S_6885_2: /* 3 */
		Uerror("blocking sel in d_step (nr.379, near line 391)");
S_6887_0: /* 2 */
		goto S_6888_0;	/* 'break' */
S_6888_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6889_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_6890_0: /* 2 */
		((P3 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_6891_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_7059_0;
S_7059_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 375: // STATE 4142 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[3][4142] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6913_0: /* 2 */
S_6912_0: /* 2 */
S_6893_0: /* 2 */
		if (!(((((int)((P3 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_6912_1;
S_6899_0: /* 2 */
S_6898_0: /* 2 */
S_6894_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_6898_1;
S_6895_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6899_0; /* ';' */
S_6898_1: /* 3 */
S_6896_0: /* 2 */
		/* else */;
S_6897_0: /* 2 */
		goto S_6901_0;	/* 'goto' */
S_6898_2: /* 3 */
		Uerror("blocking sel in d_step (nr.380, near line 218)");
S_6900_0: /* 2 */
		goto S_6901_0;	/* 'break' */
S_6901_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_6905_0: /* 2 */
S_6902_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_6905_1;
S_6903_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_6906_0;
S_6905_1: /* 3 */
S_6904_0: /* 2 */
		/* else */;
		goto S_6906_0;
S_6905_2: /* 3 */
		Uerror("blocking sel in d_step (nr.381, near line 223)");
S_6906_0: /* 2 */
S_6907_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_6908_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_6909_0: /* 2 */
		((P3 *)_this)->n = (((int)((P3 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
		goto S_6913_0; /* ';' */
S_6912_1: /* 3 */
S_6910_0: /* 2 */
		/* else */;
S_6911_0: /* 2 */
		goto S_6915_0;	/* 'goto' */
S_6912_2: /* 3 */
		Uerror("blocking sel in d_step (nr.382, near line 216)");
S_6914_0: /* 2 */
		goto S_6915_0;	/* 'break' */
S_6915_0: /* 2 */
		((P3 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("receiver:n", ((int)((P3 *)_this)->n));
#endif
		;
S_6916_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_6944_0: /* 2 */
S_6942_0: /* 2 */
S_6941_0: /* 2 */
S_6917_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_6941_1;
S_6926_0: /* 2 */
S_6924_0: /* 2 */
S_6918_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_6924_1;
S_6919_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_6920_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_6921_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_6922_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_6925_0;
S_6924_1: /* 3 */
S_6923_0: /* 2 */
		/* else */;
		goto S_6925_0;
S_6924_2: /* 3 */
		Uerror("blocking sel in d_step (nr.383, near line 81)");
S_6925_0: /* 2 */
		goto S_6927_0;
S_6927_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_6928_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_6932_0: /* 2 */
S_6929_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_6932_1;
S_6930_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6933_0;
S_6932_1: /* 3 */
S_6931_0: /* 2 */
		/* else */;
		goto S_6933_0;
S_6932_2: /* 3 */
		Uerror("blocking sel in d_step (nr.384, near line 105)");
S_6933_0: /* 2 */
S_6937_0: /* 2 */
S_6934_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_6937_1;
S_6935_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6938_0;
S_6937_1: /* 3 */
S_6936_0: /* 2 */
		/* else */;
		goto S_6938_0;
S_6937_2: /* 3 */
		Uerror("blocking sel in d_step (nr.385, near line 106)");
S_6938_0: /* 2 */
		goto S_6942_0; /* '.' */
		goto S_6942_0; /* ';' */
S_6941_1: /* 3 */
S_6939_0: /* 2 */
		/* else */;
S_6940_0: /* 2 */
		goto S_6996_0;	/* 'goto' */
S_6941_2: /* 3 */
		Uerror("blocking sel in d_step (nr.386, near line 92)");
S_6943_0: /* 2 */
		goto S_6996_0;	/* 'break' */
		goto S_6996_0;
S_6996_0: /* 2 */
S_6956_0: /* 2 */
S_6945_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_6956_1;
S_6954_0: /* 2 */
S_6952_0: /* 2 */
S_6951_0: /* 2 */
S_6946_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_6951_1;
S_6947_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_6948_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_6952_0; /* ';' */
S_6951_1: /* 3 */
S_6949_0: /* 2 */
		/* else */;
S_6950_0: /* 2 */
		goto S_6994_0;	/* 'goto' */
S_6951_2: /* 3 */
		Uerror("blocking sel in d_step (nr.387, near line 112)");
S_6953_0: /* 2 */
		goto S_6994_0;	/* 'break' */
		goto S_6957_0;
S_6956_1: /* 3 */
S_6955_0: /* 2 */
		/* else */;
		goto S_6957_0;
S_6956_2: /* 3 */
		Uerror("blocking sel in d_step (nr.388, near line 153)");
S_6957_0: /* 2 */
S_6994_0: /* 2 */
S_6958_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_6994_1;
S_6991_0: /* 2 */
S_6959_0: /* 2 */
		if (!((now.state==8)))
			goto S_6991_1;
S_6987_0: /* 2 */
S_6960_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_6961_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_6962_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_6963_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_6973_0: /* 2 */
S_6964_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_6971_0: /* 2 */
S_6970_0: /* 2 */
S_6965_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_6970_1;
S_6966_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_6967_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_6971_0; /* ';' */
S_6970_1: /* 3 */
S_6968_0: /* 2 */
		/* else */;
S_6969_0: /* 2 */
		goto S_6983_0;	/* 'goto' */
S_6970_2: /* 3 */
		Uerror("blocking sel in d_step (nr.389, near line 120)");
S_6972_0: /* 2 */
		goto S_6983_0;	/* 'break' */
		goto S_6984_0;
S_6984_0: /* 2 */
S_6983_0: /* 2 */
S_6974_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_6983_1;
S_6978_0: /* 2 */
S_6975_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_6978_1;
S_6976_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_6979_0;
S_6978_1: /* 3 */
S_6977_0: /* 2 */
		/* else */;
		goto S_6979_0;
S_6978_2: /* 3 */
		Uerror("blocking sel in d_step (nr.390, near line 145)");
S_6979_0: /* 2 */
S_6980_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_6984_0; /* ';' */
S_6983_1: /* 3 */
S_6981_0: /* 2 */
		/* else */;
S_6982_0: /* 2 */
		goto S_6986_0;	/* 'goto' */
S_6983_2: /* 3 */
		Uerror("blocking sel in d_step (nr.391, near line 143)");
S_6985_0: /* 2 */
		goto S_6986_0;	/* 'break' */
S_6986_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_6992_0;
S_6991_1: /* 3 */
S_6988_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_6991_2;
S_6989_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_6992_0;
S_6991_2: /* 3 */
S_6990_0: /* 2 */
		/* else */;
		goto S_6992_0;
S_6991_3: /* 3 */
		Uerror("blocking sel in d_step (nr.392, near line 159)");
S_6992_0: /* 2 */
		goto S_6995_0;
S_6994_1: /* 3 */
S_6993_0: /* 2 */
		/* else */;
		goto S_6995_0;
S_6994_2: /* 3 */
		Uerror("blocking sel in d_step (nr.393, near line 157)");
S_6995_0: /* 2 */
		goto S_7058_0;
S_7058_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 376: // STATE 4143 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][4143] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 377: // STATE 4186 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][4186] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_6999_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_7005_0: /* 2 */
S_7004_0: /* 2 */
S_7000_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_7004_1;
S_7001_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_7005_0; /* ';' */
S_7004_1: /* 3 */
S_7002_0: /* 2 */
		/* else */;
S_7003_0: /* 2 */
		goto S_7039_0;	/* 'goto' */
S_7004_2: /* 3 */
		Uerror("blocking sel in d_step (nr.394, near line 174)");
S_7006_0: /* 2 */
		goto S_7039_0;	/* 'break' */
S_7039_0: /* 2 */
S_7007_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_7039_1;
S_7008_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_7009_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_7037_0: /* 2 */
S_7035_0: /* 2 */
S_7034_0: /* 2 */
S_7010_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_7034_1;
S_7019_0: /* 2 */
S_7017_0: /* 2 */
S_7011_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_7017_1;
S_7012_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_7013_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_7014_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_7015_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_7018_0;
S_7017_1: /* 3 */
S_7016_0: /* 2 */
		/* else */;
		goto S_7018_0;
S_7017_2: /* 3 */
		Uerror("blocking sel in d_step (nr.395, near line 81)");
S_7018_0: /* 2 */
		goto S_7020_0;
S_7020_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_7021_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_7025_0: /* 2 */
S_7022_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_7025_1;
S_7023_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_7026_0;
S_7025_1: /* 3 */
S_7024_0: /* 2 */
		/* else */;
		goto S_7026_0;
S_7025_2: /* 3 */
		Uerror("blocking sel in d_step (nr.396, near line 105)");
S_7026_0: /* 2 */
S_7030_0: /* 2 */
S_7027_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_7030_1;
S_7028_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_7031_0;
S_7030_1: /* 3 */
S_7029_0: /* 2 */
		/* else */;
		goto S_7031_0;
S_7030_2: /* 3 */
		Uerror("blocking sel in d_step (nr.397, near line 106)");
S_7031_0: /* 2 */
		goto S_7035_0; /* '.' */
		goto S_7035_0; /* ';' */
S_7034_1: /* 3 */
S_7032_0: /* 2 */
		/* else */;
S_7033_0: /* 2 */
		goto S_7036_0;	/* 'goto' */
S_7034_2: /* 3 */
		Uerror("blocking sel in d_step (nr.398, near line 92)");
S_7036_0: /* 2 */
		goto S_7040_0;	/* 'break' */
S_7039_1: /* 3 */
S_7038_0: /* 2 */
		/* else */;
		goto S_7040_0;
S_7039_2: /* 3 */
		Uerror("blocking sel in d_step (nr.399, near line 181)");
S_7040_0: /* 2 */
		goto S_7050_0;
S_7050_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 378: // STATE 4187 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][4187] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 379: // STATE 4190 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][4190] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7043_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_7044_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_7048_0;
S_7048_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 380: // STATE 4193 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][4193] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7046_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_7047_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_7051_0;
S_7051_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 381: // STATE 4205 - /tmp/w/models/conformance/models/close.pml:400 - [(!(0))] (4241:0:1 - 1)
		IfNotBlocked
		reached[3][4205] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 4206, 4241) */
		reached[3][4206] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->whole);
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		/* merge: goto :b331(0, 4207, 4241) */
		reached[3][4207] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 382: // STATE 4211 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[3][4211] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 383: // STATE 4223 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[3][4223] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7067_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_7068_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_7075_0: /* 2 */
S_7074_0: /* 2 */
S_7069_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<(1+1))))
			goto S_7074_1;
S_7070_0: /* 2 */
		now.refers[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[receiver:i]", ((int)now.refers[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_7071_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_7075_0; /* ';' */
S_7074_1: /* 3 */
S_7072_0: /* 2 */
		/* else */;
S_7073_0: /* 2 */
		goto S_7076_0;	/* 'goto' */
S_7074_2: /* 3 */
		Uerror("blocking sel in d_step (nr.400, near line 330)");
S_7076_0: /* 2 */
		goto S_7077_0;	/* 'break' */
S_7077_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_7088_0;
S_7088_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 384: // STATE 4227 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[3][4227] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7080_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_7081_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_7086_0;
S_7086_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 385: // STATE 4228 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][4228] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 386: // STATE 4229 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[3][4229] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 387: // STATE 4243 - /tmp/w/models/conformance/models/close.pml:416 - [(whole)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][4243] = 1;
		if (!(((int)((P3 *)_this)->whole)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: whole */  (trpt+1)->bup.oval = ((P3 *)_this)->whole;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 388: // STATE 4246 - /tmp/w/models/conformance/models/close.pml:417 - [D_STEP417]
		IfNotBlocked

		reached[3][4246] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7099_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_7100_0: /* 2 */
		((P3 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("receiver:whole", ((int)((P3 *)_this)->whole));
#endif
		;
		goto S_7118_0;
S_7118_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 389: // STATE 4262 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[3][4262] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7113_0: /* 2 */
S_7102_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_7113_1;
S_7111_0: /* 2 */
S_7109_0: /* 2 */
S_7108_0: /* 2 */
S_7103_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_7108_1;
S_7104_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_7105_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_7109_0; /* ';' */
S_7108_1: /* 3 */
S_7106_0: /* 2 */
		/* else */;
S_7107_0: /* 2 */
		goto S_7115_0;	/* 'goto' */
S_7108_2: /* 3 */
		Uerror("blocking sel in d_step (nr.401, near line 112)");
S_7110_0: /* 2 */
		goto S_7115_0;	/* 'break' */
		goto S_7114_0;
S_7113_1: /* 3 */
S_7112_0: /* 2 */
		/* else */;
		goto S_7114_0;
S_7113_2: /* 3 */
		Uerror("blocking sel in d_step (nr.402, near line 301)");
S_7114_0: /* 2 */
S_7115_0: /* 2 */
		((P3 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
S_7116_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_7124_0;
S_7124_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 390: // STATE 4265 - /tmp/w/models/conformance/models/close.pml:423 - [want = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[3][4265] = 1;
		(trpt+1)->bup.oval = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 391: // STATE 4266 - /tmp/w/models/conformance/models/close.pml:423 - [(run finisher())] (0:0:0 - 1)
		IfNotBlocked
		reached[3][4266] = 1;
		if (!(addproc(II, 1, 0, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 392: // STATE 4270 - /tmp/w/models/conformance/models/close.pml:425 - [((want&&token))] (4385:0:2 - 1)
		IfNotBlocked
		reached[3][4270] = 1;
		if (!((((int)((P3 *)_this)->want)&&((int)now.token))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		/* merge: want = 0(0, 4271, 4385) */
		reached[3][4271] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P3 *)_this)->want);
		((P3 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("receiver:want", ((int)((P3 *)_this)->want));
#endif
		;
		/* merge: goto :b330(0, 4273, 4385) */
		reached[3][4273] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 393: // STATE 4274 - /tmp/w/models/conformance/models/close.pml:426 - [(!(want))] (0:0:1 - 1)
		IfNotBlocked
		reached[3][4274] = 1;
		if (!( !(((int)((P3 *)_this)->want))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.oval = ((P3 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->want = 0;
		_m = 3; goto P999; /* 0 */
	case 394: // STATE 4282 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[3][4282] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7135_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_7136_0: /* 2 */
		((P3 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_7238_0;
S_7238_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 395: // STATE 4283 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[3][4283] = 1;
		if (!(((int)((P3 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P3 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P3 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 396: // STATE 4286 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[3][4286] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7139_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_7140_0: /* 2 */
		((P3 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("receiver:last", ((int)((P3 *)_this)->last));
#endif
		;
		goto S_7236_0;
S_7236_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 397: // STATE 4319 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[3][4319] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7172_0: /* 2 */
S_7142_0: /* 2 */
		if (!((now.state!=5)))
			goto S_7172_1;
S_7170_0: /* 2 */
S_7143_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_7144_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_7145_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_7146_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_7156_0: /* 2 */
S_7147_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_7154_0: /* 2 */
S_7153_0: /* 2 */
S_7148_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)<((int)now.tail))))
			goto S_7153_1;
S_7149_0: /* 2 */
		now.done[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[receiver:i]", ((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_7150_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_7154_0; /* ';' */
S_7153_1: /* 3 */
S_7151_0: /* 2 */
		/* else */;
S_7152_0: /* 2 */
		goto S_7166_0;	/* 'goto' */
S_7153_2: /* 3 */
		Uerror("blocking sel in d_step (nr.403, near line 120)");
S_7155_0: /* 2 */
		goto S_7166_0;	/* 'break' */
		goto S_7167_0;
S_7167_0: /* 2 */
S_7166_0: /* 2 */
S_7157_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_7166_1;
S_7161_0: /* 2 */
S_7158_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_7161_1;
S_7159_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_7162_0;
S_7161_1: /* 3 */
S_7160_0: /* 2 */
		/* else */;
		goto S_7162_0;
S_7161_2: /* 3 */
		Uerror("blocking sel in d_step (nr.404, near line 145)");
S_7162_0: /* 2 */
S_7163_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_7167_0; /* ';' */
S_7166_1: /* 3 */
S_7164_0: /* 2 */
		/* else */;
S_7165_0: /* 2 */
		goto S_7169_0;	/* 'goto' */
S_7166_2: /* 3 */
		Uerror("blocking sel in d_step (nr.405, near line 143)");
S_7168_0: /* 2 */
		goto S_7169_0;	/* 'break' */
S_7169_0: /* 2 */
		((P3 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
		goto S_7173_0;
S_7172_1: /* 3 */
S_7171_0: /* 2 */
		/* else */;
		goto S_7173_0;
S_7172_2: /* 3 */
		Uerror("blocking sel in d_step (nr.406, near line 240)");
S_7173_0: /* 2 */
		goto S_7235_0;
S_7235_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 398: // STATE 4320 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][4320] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 399: // STATE 4363 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[3][4363] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7176_0: /* 2 */
		((P3 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_7182_0: /* 2 */
S_7181_0: /* 2 */
S_7177_0: /* 2 */
		if (!(((((int)((P3 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P3 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]))))))
			goto S_7181_1;
S_7178_0: /* 2 */
		((P3 *)_this)->i = (((int)((P3 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_7182_0; /* ';' */
S_7181_1: /* 3 */
S_7179_0: /* 2 */
		/* else */;
S_7180_0: /* 2 */
		goto S_7216_0;	/* 'goto' */
S_7181_2: /* 3 */
		Uerror("blocking sel in d_step (nr.407, near line 174)");
S_7183_0: /* 2 */
		goto S_7216_0;	/* 'break' */
S_7216_0: /* 2 */
S_7184_0: /* 2 */
		if (!((((int)((P3 *)_this)->i)==((int)now.tail))))
			goto S_7216_1;
S_7185_0: /* 2 */
		((P3 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("receiver:settles", ((int)((P3 *)_this)->settles));
#endif
		;
S_7186_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
S_7214_0: /* 2 */
S_7212_0: /* 2 */
S_7211_0: /* 2 */
S_7187_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_7211_1;
S_7196_0: /* 2 */
S_7194_0: /* 2 */
S_7188_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_7194_1;
S_7189_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_7190_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_7191_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_7192_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_7195_0;
S_7194_1: /* 3 */
S_7193_0: /* 2 */
		/* else */;
		goto S_7195_0;
S_7194_2: /* 3 */
		Uerror("blocking sel in d_step (nr.408, near line 81)");
S_7195_0: /* 2 */
		goto S_7197_0;
S_7197_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_7198_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_7202_0: /* 2 */
S_7199_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_7202_1;
S_7200_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_7203_0;
S_7202_1: /* 3 */
S_7201_0: /* 2 */
		/* else */;
		goto S_7203_0;
S_7202_2: /* 3 */
		Uerror("blocking sel in d_step (nr.409, near line 105)");
S_7203_0: /* 2 */
S_7207_0: /* 2 */
S_7204_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_7207_1;
S_7205_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_7208_0;
S_7207_1: /* 3 */
S_7206_0: /* 2 */
		/* else */;
		goto S_7208_0;
S_7207_2: /* 3 */
		Uerror("blocking sel in d_step (nr.410, near line 106)");
S_7208_0: /* 2 */
		goto S_7212_0; /* '.' */
		goto S_7212_0; /* ';' */
S_7211_1: /* 3 */
S_7209_0: /* 2 */
		/* else */;
S_7210_0: /* 2 */
		goto S_7213_0;	/* 'goto' */
S_7211_2: /* 3 */
		Uerror("blocking sel in d_step (nr.411, near line 92)");
S_7213_0: /* 2 */
		goto S_7217_0;	/* 'break' */
S_7216_1: /* 3 */
S_7215_0: /* 2 */
		/* else */;
		goto S_7217_0;
S_7216_2: /* 3 */
		Uerror("blocking sel in d_step (nr.412, near line 181)");
S_7217_0: /* 2 */
		goto S_7227_0;
S_7227_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 400: // STATE 4364 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[3][4364] = 1;
		if (!(((int)((P3 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 401: // STATE 4367 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			continue;

		reached[3][4367] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7220_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P3 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_7221_0: /* 2 */
		now.gone[ Index(((P3 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[receiver:i]", ((int)now.gone[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
		goto S_7225_0;
S_7225_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 402: // STATE 4370 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[3][4370] = 1;
		reached[3][t->st] = 1;
		reached[3][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_7223_0: /* 2 */
		now.sink[ Index(((P3 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[receiver:i]", ((int)now.sink[ Index(((int)((P3 *)_this)->i), 2) ]));
#endif
		;
S_7224_0: /* 2 */
		((P3 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("receiver:i", ((int)((P3 *)_this)->i));
#endif
		;
		goto S_7228_0;
S_7228_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 403: // STATE 4386 - /tmp/w/models/conformance/models/close.pml:711 - [-end-] (0:0:0 - 3)
		IfNotBlocked
		reached[3][4386] = 1;
		if (!delproc(1, II)) continue;
		_m = 3; goto P999; /* 0 */

		 /* PROC closer */
	case 404: // STATE 1 - /tmp/w/models/conformance/models/close.pml:568 - [(good)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][1] = 1;
		if (!(((int)now.good)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 405: // STATE 2 - /tmp/w/models/conformance/models/close.pml:568 - [((undone==0))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][2] = 1;
		if (!((((int)now.undone)==0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 406: // STATE 3 - /tmp/w/models/conformance/models/close.pml:569 - [(!(good))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][3] = 1;
		if (!( !(((int)now.good))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 407: // STATE 63 - /tmp/w/models/conformance/models/close.pml:571 - [D_STEP571]
		if (!(((boq == -1 && (now.state==9))) || (boq == -1 /* else */)))
			continue;

		reached[2][63] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1678_0: /* 2 */
S_1623_0: /* 2 */
		if (!((now.state==9)))
			goto S_1678_1;
S_1624_0: /* 2 */
		now.state = 8;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_1676_0: /* 2 */
S_1636_0: /* 2 */
S_1625_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_1636_1;
S_1634_0: /* 2 */
S_1632_0: /* 2 */
S_1631_0: /* 2 */
S_1626_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_1631_1;
S_1627_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1628_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1632_0; /* ';' */
S_1631_1: /* 3 */
S_1629_0: /* 2 */
		/* else */;
S_1630_0: /* 2 */
		goto S_1674_0;	/* 'goto' */
S_1631_2: /* 3 */
		Uerror("blocking sel in d_step (nr.413, near line 112)");
S_1633_0: /* 2 */
		goto S_1674_0;	/* 'break' */
		goto S_1637_0;
S_1636_1: /* 3 */
S_1635_0: /* 2 */
		/* else */;
		goto S_1637_0;
S_1636_2: /* 3 */
		Uerror("blocking sel in d_step (nr.414, near line 153)");
S_1637_0: /* 2 */
S_1674_0: /* 2 */
S_1638_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_1674_1;
S_1671_0: /* 2 */
S_1639_0: /* 2 */
		if (!((now.state==8)))
			goto S_1671_1;
S_1667_0: /* 2 */
S_1640_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_1641_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_1642_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_1643_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_1653_0: /* 2 */
S_1644_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_1651_0: /* 2 */
S_1650_0: /* 2 */
S_1645_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<((int)now.tail))))
			goto S_1650_1;
S_1646_0: /* 2 */
		now.done[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[closer:i]", ((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_1647_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_1651_0; /* ';' */
S_1650_1: /* 3 */
S_1648_0: /* 2 */
		/* else */;
S_1649_0: /* 2 */
		goto S_1663_0;	/* 'goto' */
S_1650_2: /* 3 */
		Uerror("blocking sel in d_step (nr.415, near line 120)");
S_1652_0: /* 2 */
		goto S_1663_0;	/* 'break' */
		goto S_1664_0;
S_1664_0: /* 2 */
S_1663_0: /* 2 */
S_1654_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_1663_1;
S_1658_0: /* 2 */
S_1655_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_1658_1;
S_1656_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_1659_0;
S_1658_1: /* 3 */
S_1657_0: /* 2 */
		/* else */;
		goto S_1659_0;
S_1658_2: /* 3 */
		Uerror("blocking sel in d_step (nr.416, near line 145)");
S_1659_0: /* 2 */
S_1660_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1664_0; /* ';' */
S_1663_1: /* 3 */
S_1661_0: /* 2 */
		/* else */;
S_1662_0: /* 2 */
		goto S_1666_0;	/* 'goto' */
S_1663_2: /* 3 */
		Uerror("blocking sel in d_step (nr.417, near line 143)");
S_1665_0: /* 2 */
		goto S_1666_0;	/* 'break' */
S_1666_0: /* 2 */
		((P2 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
		goto S_1672_0;
S_1671_1: /* 3 */
S_1668_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_1671_2;
S_1669_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_1672_0;
S_1671_2: /* 3 */
S_1670_0: /* 2 */
		/* else */;
		goto S_1672_0;
S_1671_3: /* 3 */
		Uerror("blocking sel in d_step (nr.418, near line 159)");
S_1672_0: /* 2 */
		goto S_1675_0;
S_1674_1: /* 3 */
S_1673_0: /* 2 */
		/* else */;
		goto S_1675_0;
S_1674_2: /* 3 */
		Uerror("blocking sel in d_step (nr.419, near line 157)");
S_1675_0: /* 2 */
		goto S_1679_0;
S_1678_1: /* 3 */
S_1677_0: /* 2 */
		/* else */;
		goto S_1679_0;
S_1678_2: /* 3 */
		Uerror("blocking sel in d_step (nr.420, near line 572)");
S_1679_0: /* 2 */
		goto S_1741_0;
S_1741_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 408: // STATE 64 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][64] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 409: // STATE 107 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[2][107] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1682_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_1688_0: /* 2 */
S_1687_0: /* 2 */
S_1683_0: /* 2 */
		if (!(((((int)((P2 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]))))))
			goto S_1687_1;
S_1684_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_1688_0; /* ';' */
S_1687_1: /* 3 */
S_1685_0: /* 2 */
		/* else */;
S_1686_0: /* 2 */
		goto S_1722_0;	/* 'goto' */
S_1687_2: /* 3 */
		Uerror("blocking sel in d_step (nr.421, near line 174)");
S_1689_0: /* 2 */
		goto S_1722_0;	/* 'break' */
S_1722_0: /* 2 */
S_1690_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)==((int)now.tail))))
			goto S_1722_1;
S_1691_0: /* 2 */
		((P2 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
S_1692_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_1720_0: /* 2 */
S_1718_0: /* 2 */
S_1717_0: /* 2 */
S_1693_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_1717_1;
S_1702_0: /* 2 */
S_1700_0: /* 2 */
S_1694_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_1700_1;
S_1695_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_1696_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_1697_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_1698_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_1701_0;
S_1700_1: /* 3 */
S_1699_0: /* 2 */
		/* else */;
		goto S_1701_0;
S_1700_2: /* 3 */
		Uerror("blocking sel in d_step (nr.422, near line 81)");
S_1701_0: /* 2 */
		goto S_1703_0;
S_1703_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_1704_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_1708_0: /* 2 */
S_1705_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_1708_1;
S_1706_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1709_0;
S_1708_1: /* 3 */
S_1707_0: /* 2 */
		/* else */;
		goto S_1709_0;
S_1708_2: /* 3 */
		Uerror("blocking sel in d_step (nr.423, near line 105)");
S_1709_0: /* 2 */
S_1713_0: /* 2 */
S_1710_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_1713_1;
S_1711_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1714_0;
S_1713_1: /* 3 */
S_1712_0: /* 2 */
		/* else */;
		goto S_1714_0;
S_1713_2: /* 3 */
		Uerror("blocking sel in d_step (nr.424, near line 106)");
S_1714_0: /* 2 */
		goto S_1718_0; /* '.' */
		goto S_1718_0; /* ';' */
S_1717_1: /* 3 */
S_1715_0: /* 2 */
		/* else */;
S_1716_0: /* 2 */
		goto S_1719_0;	/* 'goto' */
S_1717_2: /* 3 */
		Uerror("blocking sel in d_step (nr.425, near line 92)");
S_1719_0: /* 2 */
		goto S_1723_0;	/* 'break' */
S_1722_1: /* 3 */
S_1721_0: /* 2 */
		/* else */;
		goto S_1723_0;
S_1722_2: /* 3 */
		Uerror("blocking sel in d_step (nr.426, near line 181)");
S_1723_0: /* 2 */
		goto S_1733_0;
S_1733_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 410: // STATE 108 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][108] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 411: // STATE 111 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			continue;

		reached[2][111] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1726_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_1727_0: /* 2 */
		now.gone[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[closer:i]", ((int)now.gone[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
		goto S_1731_0;
S_1731_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 412: // STATE 114 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[2][114] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1729_0: /* 2 */
		now.sink[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[closer:i]", ((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_1730_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_1734_0;
S_1734_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 413: // STATE 140 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[2][140] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1753_0: /* 2 */
S_1742_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_1753_1;
S_1751_0: /* 2 */
S_1749_0: /* 2 */
S_1748_0: /* 2 */
S_1743_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_1748_1;
S_1744_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1745_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1749_0; /* ';' */
S_1748_1: /* 3 */
S_1746_0: /* 2 */
		/* else */;
S_1747_0: /* 2 */
		goto S_1755_0;	/* 'goto' */
S_1748_2: /* 3 */
		Uerror("blocking sel in d_step (nr.427, near line 112)");
S_1750_0: /* 2 */
		goto S_1755_0;	/* 'break' */
		goto S_1754_0;
S_1753_1: /* 3 */
S_1752_0: /* 2 */
		/* else */;
		goto S_1754_0;
S_1753_2: /* 3 */
		Uerror("blocking sel in d_step (nr.428, near line 301)");
S_1754_0: /* 2 */
S_1755_0: /* 2 */
		((P2 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("closer:want", ((int)((P2 *)_this)->want));
#endif
		;
S_1756_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2291_0;
S_2291_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 414: // STATE 142 - /tmp/w/models/conformance/models/close.pml:413 - [((want&&!(token)))] (639:0:2 - 1)
		IfNotBlocked
		reached[2][142] = 1;
		if (!((((int)((P2 *)_this)->want)&& !(((int)now.token)))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P2 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P2 *)_this)->want = 0;
		/* merge: token = 1(0, 143, 639) */
		reached[2][143] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.token);
		now.token = 1;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 415: // STATE 145 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[2][145] = 1;
		(trpt+1)->bup.oval = ((int)((P2 *)_this)->whole);
		((P2 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("closer:whole", ((int)((P2 *)_this)->whole));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 416: // STATE 146 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][146] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 417: // STATE 179 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[2][179] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1794_0: /* 2 */
S_1793_0: /* 2 */
S_1764_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_1793_1;
S_1765_0: /* 2 */
		goto S_1795_0;	/* 'goto' */
S_1793_1: /* 3 */
S_1766_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_1793_2;
S_1767_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_1768_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_1769_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_1794_0; /* ';' */
S_1793_2: /* 3 */
S_1770_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_1793_3;
S_1779_0: /* 2 */
S_1777_0: /* 2 */
S_1776_0: /* 2 */
S_1771_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_1776_1;
S_1772_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1773_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1777_0; /* ';' */
S_1776_1: /* 3 */
S_1774_0: /* 2 */
		/* else */;
S_1775_0: /* 2 */
		goto S_1789_0;	/* 'goto' */
S_1776_2: /* 3 */
		Uerror("blocking sel in d_step (nr.429, near line 112)");
S_1778_0: /* 2 */
		goto S_1789_0;	/* 'break' */
		goto S_1789_0;
S_1789_0: /* 2 */
S_1780_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_1789_1;
S_1781_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1782_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_1783_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_1784_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_1785_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_1786_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_1790_0;
S_1789_1: /* 3 */
S_1787_0: /* 2 */
		/* else */;
S_1788_0: /* 2 */
		goto S_1795_0;	/* 'goto' */
		goto S_1790_0;
S_1789_2: /* 3 */
		Uerror("blocking sel in d_step (nr.430, near line 317)");
S_1790_0: /* 2 */
		goto S_1794_0; /* '.' */
		goto S_1794_0; /* ';' */
S_1793_3: /* 3 */
S_1791_0: /* 2 */
		/* else */;
S_1792_0: /* 2 */
		goto S_1795_0;	/* 'goto' */
		goto S_1794_0; /* ';' */
S_1793_4: /* 3 */
		Uerror("blocking sel in d_step (nr.431, near line 312)");
S_1795_0: /* 2 */
		goto S_2250_0;	/* 'break' */
S_1800_0: /* 1 */
S_2250_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 418: // STATE 184 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][184] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 419: // STATE 185 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][185] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 420: // STATE 218 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[2][218] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1833_0: /* 2 */
S_1803_0: /* 2 */
		if (!((now.state!=5)))
			goto S_1833_1;
S_1831_0: /* 2 */
S_1804_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_1805_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_1806_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_1807_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_1817_0: /* 2 */
S_1808_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_1815_0: /* 2 */
S_1814_0: /* 2 */
S_1809_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<((int)now.tail))))
			goto S_1814_1;
S_1810_0: /* 2 */
		now.done[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[closer:i]", ((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_1811_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_1815_0; /* ';' */
S_1814_1: /* 3 */
S_1812_0: /* 2 */
		/* else */;
S_1813_0: /* 2 */
		goto S_1827_0;	/* 'goto' */
S_1814_2: /* 3 */
		Uerror("blocking sel in d_step (nr.432, near line 120)");
S_1816_0: /* 2 */
		goto S_1827_0;	/* 'break' */
		goto S_1828_0;
S_1828_0: /* 2 */
S_1827_0: /* 2 */
S_1818_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_1827_1;
S_1822_0: /* 2 */
S_1819_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_1822_1;
S_1820_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_1823_0;
S_1822_1: /* 3 */
S_1821_0: /* 2 */
		/* else */;
		goto S_1823_0;
S_1822_2: /* 3 */
		Uerror("blocking sel in d_step (nr.433, near line 145)");
S_1823_0: /* 2 */
S_1824_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1828_0; /* ';' */
S_1827_1: /* 3 */
S_1825_0: /* 2 */
		/* else */;
S_1826_0: /* 2 */
		goto S_1830_0;	/* 'goto' */
S_1827_2: /* 3 */
		Uerror("blocking sel in d_step (nr.434, near line 143)");
S_1829_0: /* 2 */
		goto S_1830_0;	/* 'break' */
S_1830_0: /* 2 */
		((P2 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
		goto S_1834_0;
S_1833_1: /* 3 */
S_1832_0: /* 2 */
		/* else */;
		goto S_1834_0;
S_1833_2: /* 3 */
		Uerror("blocking sel in d_step (nr.435, near line 240)");
S_1834_0: /* 2 */
		goto S_1896_0;
S_1896_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 421: // STATE 219 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][219] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 422: // STATE 262 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[2][262] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1837_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_1843_0: /* 2 */
S_1842_0: /* 2 */
S_1838_0: /* 2 */
		if (!(((((int)((P2 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]))))))
			goto S_1842_1;
S_1839_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_1843_0; /* ';' */
S_1842_1: /* 3 */
S_1840_0: /* 2 */
		/* else */;
S_1841_0: /* 2 */
		goto S_1877_0;	/* 'goto' */
S_1842_2: /* 3 */
		Uerror("blocking sel in d_step (nr.436, near line 174)");
S_1844_0: /* 2 */
		goto S_1877_0;	/* 'break' */
S_1877_0: /* 2 */
S_1845_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)==((int)now.tail))))
			goto S_1877_1;
S_1846_0: /* 2 */
		((P2 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
S_1847_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_1875_0: /* 2 */
S_1873_0: /* 2 */
S_1872_0: /* 2 */
S_1848_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_1872_1;
S_1857_0: /* 2 */
S_1855_0: /* 2 */
S_1849_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_1855_1;
S_1850_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_1851_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_1852_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_1853_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_1856_0;
S_1855_1: /* 3 */
S_1854_0: /* 2 */
		/* else */;
		goto S_1856_0;
S_1855_2: /* 3 */
		Uerror("blocking sel in d_step (nr.437, near line 81)");
S_1856_0: /* 2 */
		goto S_1858_0;
S_1858_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_1859_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_1863_0: /* 2 */
S_1860_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_1863_1;
S_1861_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1864_0;
S_1863_1: /* 3 */
S_1862_0: /* 2 */
		/* else */;
		goto S_1864_0;
S_1863_2: /* 3 */
		Uerror("blocking sel in d_step (nr.438, near line 105)");
S_1864_0: /* 2 */
S_1868_0: /* 2 */
S_1865_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_1868_1;
S_1866_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1869_0;
S_1868_1: /* 3 */
S_1867_0: /* 2 */
		/* else */;
		goto S_1869_0;
S_1868_2: /* 3 */
		Uerror("blocking sel in d_step (nr.439, near line 106)");
S_1869_0: /* 2 */
		goto S_1873_0; /* '.' */
		goto S_1873_0; /* ';' */
S_1872_1: /* 3 */
S_1870_0: /* 2 */
		/* else */;
S_1871_0: /* 2 */
		goto S_1874_0;	/* 'goto' */
S_1872_2: /* 3 */
		Uerror("blocking sel in d_step (nr.440, near line 92)");
S_1874_0: /* 2 */
		goto S_1878_0;	/* 'break' */
S_1877_1: /* 3 */
S_1876_0: /* 2 */
		/* else */;
		goto S_1878_0;
S_1877_2: /* 3 */
		Uerror("blocking sel in d_step (nr.441, near line 181)");
S_1878_0: /* 2 */
		goto S_1888_0;
S_1888_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 423: // STATE 263 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][263] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 424: // STATE 266 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			continue;

		reached[2][266] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1881_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_1882_0: /* 2 */
		now.gone[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[closer:i]", ((int)now.gone[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
		goto S_1886_0;
S_1886_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 425: // STATE 269 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[2][269] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1884_0: /* 2 */
		now.sink[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[closer:i]", ((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_1885_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_1889_0;
S_1889_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 426: // STATE 299 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[2][299] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1912_0: /* 2 */
S_1901_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_1912_1;
S_1910_0: /* 2 */
S_1908_0: /* 2 */
S_1907_0: /* 2 */
S_1902_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_1907_1;
S_1903_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1904_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1908_0; /* ';' */
S_1907_1: /* 3 */
S_1905_0: /* 2 */
		/* else */;
S_1906_0: /* 2 */
		goto S_1914_0;	/* 'goto' */
S_1907_2: /* 3 */
		Uerror("blocking sel in d_step (nr.442, near line 112)");
S_1909_0: /* 2 */
		goto S_1914_0;	/* 'break' */
		goto S_1913_0;
S_1912_1: /* 3 */
S_1911_0: /* 2 */
		/* else */;
		goto S_1913_0;
S_1912_2: /* 3 */
		Uerror("blocking sel in d_step (nr.443, near line 301)");
S_1913_0: /* 2 */
S_1914_0: /* 2 */
		((P2 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("closer:want", ((int)((P2 *)_this)->want));
#endif
		;
S_1915_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2028_0;
S_2028_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 427: // STATE 301 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][301] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 428: // STATE 302 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[2][302] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 429: // STATE 303 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[2][303] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 430: // STATE 306 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[2][306] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1921_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_1922_0: /* 2 */
		((P2 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("closer:last", ((int)((P2 *)_this)->last));
#endif
		;
		goto S_2024_0;
S_2024_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 431: // STATE 307 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[2][307] = 1;
		if (!(((int)((P2 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P2 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P2 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 432: // STATE 310 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[2][310] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1925_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_1926_0: /* 2 */
		((P2 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("closer:last", ((int)((P2 *)_this)->last));
#endif
		;
		goto S_2022_0;
S_2022_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 433: // STATE 343 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[2][343] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1958_0: /* 2 */
S_1928_0: /* 2 */
		if (!((now.state!=5)))
			goto S_1958_1;
S_1956_0: /* 2 */
S_1929_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_1930_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_1931_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_1932_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_1942_0: /* 2 */
S_1933_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_1940_0: /* 2 */
S_1939_0: /* 2 */
S_1934_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<((int)now.tail))))
			goto S_1939_1;
S_1935_0: /* 2 */
		now.done[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[closer:i]", ((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_1936_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_1940_0; /* ';' */
S_1939_1: /* 3 */
S_1937_0: /* 2 */
		/* else */;
S_1938_0: /* 2 */
		goto S_1952_0;	/* 'goto' */
S_1939_2: /* 3 */
		Uerror("blocking sel in d_step (nr.444, near line 120)");
S_1941_0: /* 2 */
		goto S_1952_0;	/* 'break' */
		goto S_1953_0;
S_1953_0: /* 2 */
S_1952_0: /* 2 */
S_1943_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_1952_1;
S_1947_0: /* 2 */
S_1944_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_1947_1;
S_1945_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_1948_0;
S_1947_1: /* 3 */
S_1946_0: /* 2 */
		/* else */;
		goto S_1948_0;
S_1947_2: /* 3 */
		Uerror("blocking sel in d_step (nr.445, near line 145)");
S_1948_0: /* 2 */
S_1949_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1953_0; /* ';' */
S_1952_1: /* 3 */
S_1950_0: /* 2 */
		/* else */;
S_1951_0: /* 2 */
		goto S_1955_0;	/* 'goto' */
S_1952_2: /* 3 */
		Uerror("blocking sel in d_step (nr.446, near line 143)");
S_1954_0: /* 2 */
		goto S_1955_0;	/* 'break' */
S_1955_0: /* 2 */
		((P2 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
		goto S_1959_0;
S_1958_1: /* 3 */
S_1957_0: /* 2 */
		/* else */;
		goto S_1959_0;
S_1958_2: /* 3 */
		Uerror("blocking sel in d_step (nr.447, near line 240)");
S_1959_0: /* 2 */
		goto S_2021_0;
S_2021_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 434: // STATE 344 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][344] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 435: // STATE 387 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[2][387] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1962_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_1968_0: /* 2 */
S_1967_0: /* 2 */
S_1963_0: /* 2 */
		if (!(((((int)((P2 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]))))))
			goto S_1967_1;
S_1964_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_1968_0; /* ';' */
S_1967_1: /* 3 */
S_1965_0: /* 2 */
		/* else */;
S_1966_0: /* 2 */
		goto S_2002_0;	/* 'goto' */
S_1967_2: /* 3 */
		Uerror("blocking sel in d_step (nr.448, near line 174)");
S_1969_0: /* 2 */
		goto S_2002_0;	/* 'break' */
S_2002_0: /* 2 */
S_1970_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)==((int)now.tail))))
			goto S_2002_1;
S_1971_0: /* 2 */
		((P2 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
S_1972_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2000_0: /* 2 */
S_1998_0: /* 2 */
S_1997_0: /* 2 */
S_1973_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_1997_1;
S_1982_0: /* 2 */
S_1980_0: /* 2 */
S_1974_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_1980_1;
S_1975_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_1976_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_1977_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_1978_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_1981_0;
S_1980_1: /* 3 */
S_1979_0: /* 2 */
		/* else */;
		goto S_1981_0;
S_1980_2: /* 3 */
		Uerror("blocking sel in d_step (nr.449, near line 81)");
S_1981_0: /* 2 */
		goto S_1983_0;
S_1983_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_1984_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_1988_0: /* 2 */
S_1985_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_1988_1;
S_1986_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1989_0;
S_1988_1: /* 3 */
S_1987_0: /* 2 */
		/* else */;
		goto S_1989_0;
S_1988_2: /* 3 */
		Uerror("blocking sel in d_step (nr.450, near line 105)");
S_1989_0: /* 2 */
S_1993_0: /* 2 */
S_1990_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_1993_1;
S_1991_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1994_0;
S_1993_1: /* 3 */
S_1992_0: /* 2 */
		/* else */;
		goto S_1994_0;
S_1993_2: /* 3 */
		Uerror("blocking sel in d_step (nr.451, near line 106)");
S_1994_0: /* 2 */
		goto S_1998_0; /* '.' */
		goto S_1998_0; /* ';' */
S_1997_1: /* 3 */
S_1995_0: /* 2 */
		/* else */;
S_1996_0: /* 2 */
		goto S_1999_0;	/* 'goto' */
S_1997_2: /* 3 */
		Uerror("blocking sel in d_step (nr.452, near line 92)");
S_1999_0: /* 2 */
		goto S_2003_0;	/* 'break' */
S_2002_1: /* 3 */
S_2001_0: /* 2 */
		/* else */;
		goto S_2003_0;
S_2002_2: /* 3 */
		Uerror("blocking sel in d_step (nr.453, near line 181)");
S_2003_0: /* 2 */
		goto S_2013_0;
S_2013_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 436: // STATE 388 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][388] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 437: // STATE 391 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			continue;

		reached[2][391] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2006_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_2007_0: /* 2 */
		now.gone[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[closer:i]", ((int)now.gone[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
		goto S_2011_0;
S_2011_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 438: // STATE 394 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[2][394] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2009_0: /* 2 */
		now.sink[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[closer:i]", ((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2010_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2014_0;
S_2014_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 439: // STATE 416 - /tmp/w/models/conformance/models/close.pml:387 - [(!(0))] (638:0:1 - 1)
		IfNotBlocked
		reached[2][416] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 417, 638) */
		reached[2][417] = 1;
		(trpt+1)->bup.oval = ((int)((P2 *)_this)->whole);
		((P2 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("closer:whole", ((int)((P2 *)_this)->whole));
#endif
		;
		/* merge: goto :b89(0, 418, 638) */
		reached[2][418] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 440: // STATE 419 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][419] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 441: // STATE 434 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[2][434] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2037_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2045_0: /* 2 */
S_2044_0: /* 2 */
S_2038_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<(1+1))))
			goto S_2044_1;
S_2039_0: /* 2 */
		now.wire[ Index(((P2 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P2 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P2 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[closer:i]", ((int)now.wire[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2040_0: /* 2 */
		now.refers[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[closer:i]", ((int)now.refers[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2041_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2045_0; /* ';' */
S_2044_1: /* 3 */
S_2042_0: /* 2 */
		/* else */;
S_2043_0: /* 2 */
		goto S_2047_0;	/* 'goto' */
S_2044_2: /* 3 */
		Uerror("blocking sel in d_step (nr.454, near line 391)");
S_2046_0: /* 2 */
		goto S_2047_0;	/* 'break' */
S_2047_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2048_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_2049_0: /* 2 */
		((P2 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("closer:n", ((int)((P2 *)_this)->n));
#endif
		;
S_2050_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_2218_0;
S_2218_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 442: // STATE 539 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P2 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[2][539] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2072_0: /* 2 */
S_2071_0: /* 2 */
S_2052_0: /* 2 */
		if (!(((((int)((P2 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_2071_1;
S_2058_0: /* 2 */
S_2057_0: /* 2 */
S_2053_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_2057_1;
S_2054_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2058_0; /* ';' */
S_2057_1: /* 3 */
S_2055_0: /* 2 */
		/* else */;
S_2056_0: /* 2 */
		goto S_2060_0;	/* 'goto' */
S_2057_2: /* 3 */
		Uerror("blocking sel in d_step (nr.455, near line 218)");
S_2059_0: /* 2 */
		goto S_2060_0;	/* 'break' */
S_2060_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_2064_0: /* 2 */
S_2061_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_2064_1;
S_2062_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_2065_0;
S_2064_1: /* 3 */
S_2063_0: /* 2 */
		/* else */;
		goto S_2065_0;
S_2064_2: /* 3 */
		Uerror("blocking sel in d_step (nr.456, near line 223)");
S_2065_0: /* 2 */
S_2066_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_2067_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_2068_0: /* 2 */
		((P2 *)_this)->n = (((int)((P2 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("closer:n", ((int)((P2 *)_this)->n));
#endif
		;
		goto S_2072_0; /* ';' */
S_2071_1: /* 3 */
S_2069_0: /* 2 */
		/* else */;
S_2070_0: /* 2 */
		goto S_2074_0;	/* 'goto' */
S_2071_2: /* 3 */
		Uerror("blocking sel in d_step (nr.457, near line 216)");
S_2073_0: /* 2 */
		goto S_2074_0;	/* 'break' */
S_2074_0: /* 2 */
		((P2 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("closer:n", ((int)((P2 *)_this)->n));
#endif
		;
S_2075_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_2103_0: /* 2 */
S_2101_0: /* 2 */
S_2100_0: /* 2 */
S_2076_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_2100_1;
S_2085_0: /* 2 */
S_2083_0: /* 2 */
S_2077_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_2083_1;
S_2078_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_2079_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_2080_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_2081_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_2084_0;
S_2083_1: /* 3 */
S_2082_0: /* 2 */
		/* else */;
		goto S_2084_0;
S_2083_2: /* 3 */
		Uerror("blocking sel in d_step (nr.458, near line 81)");
S_2084_0: /* 2 */
		goto S_2086_0;
S_2086_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_2087_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_2091_0: /* 2 */
S_2088_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_2091_1;
S_2089_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2092_0;
S_2091_1: /* 3 */
S_2090_0: /* 2 */
		/* else */;
		goto S_2092_0;
S_2091_2: /* 3 */
		Uerror("blocking sel in d_step (nr.459, near line 105)");
S_2092_0: /* 2 */
S_2096_0: /* 2 */
S_2093_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_2096_1;
S_2094_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2097_0;
S_2096_1: /* 3 */
S_2095_0: /* 2 */
		/* else */;
		goto S_2097_0;
S_2096_2: /* 3 */
		Uerror("blocking sel in d_step (nr.460, near line 106)");
S_2097_0: /* 2 */
		goto S_2101_0; /* '.' */
		goto S_2101_0; /* ';' */
S_2100_1: /* 3 */
S_2098_0: /* 2 */
		/* else */;
S_2099_0: /* 2 */
		goto S_2155_0;	/* 'goto' */
S_2100_2: /* 3 */
		Uerror("blocking sel in d_step (nr.461, near line 92)");
S_2102_0: /* 2 */
		goto S_2155_0;	/* 'break' */
		goto S_2155_0;
S_2155_0: /* 2 */
S_2115_0: /* 2 */
S_2104_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_2115_1;
S_2113_0: /* 2 */
S_2111_0: /* 2 */
S_2110_0: /* 2 */
S_2105_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_2110_1;
S_2106_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_2107_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2111_0; /* ';' */
S_2110_1: /* 3 */
S_2108_0: /* 2 */
		/* else */;
S_2109_0: /* 2 */
		goto S_2153_0;	/* 'goto' */
S_2110_2: /* 3 */
		Uerror("blocking sel in d_step (nr.462, near line 112)");
S_2112_0: /* 2 */
		goto S_2153_0;	/* 'break' */
		goto S_2116_0;
S_2115_1: /* 3 */
S_2114_0: /* 2 */
		/* else */;
		goto S_2116_0;
S_2115_2: /* 3 */
		Uerror("blocking sel in d_step (nr.463, near line 153)");
S_2116_0: /* 2 */
S_2153_0: /* 2 */
S_2117_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_2153_1;
S_2150_0: /* 2 */
S_2118_0: /* 2 */
		if (!((now.state==8)))
			goto S_2150_1;
S_2146_0: /* 2 */
S_2119_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_2120_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_2121_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_2122_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_2132_0: /* 2 */
S_2123_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2130_0: /* 2 */
S_2129_0: /* 2 */
S_2124_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<((int)now.tail))))
			goto S_2129_1;
S_2125_0: /* 2 */
		now.done[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[closer:i]", ((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2126_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2130_0; /* ';' */
S_2129_1: /* 3 */
S_2127_0: /* 2 */
		/* else */;
S_2128_0: /* 2 */
		goto S_2142_0;	/* 'goto' */
S_2129_2: /* 3 */
		Uerror("blocking sel in d_step (nr.464, near line 120)");
S_2131_0: /* 2 */
		goto S_2142_0;	/* 'break' */
		goto S_2143_0;
S_2143_0: /* 2 */
S_2142_0: /* 2 */
S_2133_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_2142_1;
S_2137_0: /* 2 */
S_2134_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_2137_1;
S_2135_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_2138_0;
S_2137_1: /* 3 */
S_2136_0: /* 2 */
		/* else */;
		goto S_2138_0;
S_2137_2: /* 3 */
		Uerror("blocking sel in d_step (nr.465, near line 145)");
S_2138_0: /* 2 */
S_2139_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2143_0; /* ';' */
S_2142_1: /* 3 */
S_2140_0: /* 2 */
		/* else */;
S_2141_0: /* 2 */
		goto S_2145_0;	/* 'goto' */
S_2142_2: /* 3 */
		Uerror("blocking sel in d_step (nr.466, near line 143)");
S_2144_0: /* 2 */
		goto S_2145_0;	/* 'break' */
S_2145_0: /* 2 */
		((P2 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
		goto S_2151_0;
S_2150_1: /* 3 */
S_2147_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_2150_2;
S_2148_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_2151_0;
S_2150_2: /* 3 */
S_2149_0: /* 2 */
		/* else */;
		goto S_2151_0;
S_2150_3: /* 3 */
		Uerror("blocking sel in d_step (nr.467, near line 159)");
S_2151_0: /* 2 */
		goto S_2154_0;
S_2153_1: /* 3 */
S_2152_0: /* 2 */
		/* else */;
		goto S_2154_0;
S_2153_2: /* 3 */
		Uerror("blocking sel in d_step (nr.468, near line 157)");
S_2154_0: /* 2 */
		goto S_2217_0;
S_2217_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 443: // STATE 540 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][540] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 444: // STATE 583 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[2][583] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2158_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2164_0: /* 2 */
S_2163_0: /* 2 */
S_2159_0: /* 2 */
		if (!(((((int)((P2 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]))))))
			goto S_2163_1;
S_2160_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2164_0; /* ';' */
S_2163_1: /* 3 */
S_2161_0: /* 2 */
		/* else */;
S_2162_0: /* 2 */
		goto S_2198_0;	/* 'goto' */
S_2163_2: /* 3 */
		Uerror("blocking sel in d_step (nr.469, near line 174)");
S_2165_0: /* 2 */
		goto S_2198_0;	/* 'break' */
S_2198_0: /* 2 */
S_2166_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)==((int)now.tail))))
			goto S_2198_1;
S_2167_0: /* 2 */
		((P2 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
S_2168_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2196_0: /* 2 */
S_2194_0: /* 2 */
S_2193_0: /* 2 */
S_2169_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_2193_1;
S_2178_0: /* 2 */
S_2176_0: /* 2 */
S_2170_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_2176_1;
S_2171_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_2172_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_2173_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_2174_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_2177_0;
S_2176_1: /* 3 */
S_2175_0: /* 2 */
		/* else */;
		goto S_2177_0;
S_2176_2: /* 3 */
		Uerror("blocking sel in d_step (nr.470, near line 81)");
S_2177_0: /* 2 */
		goto S_2179_0;
S_2179_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_2180_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_2184_0: /* 2 */
S_2181_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_2184_1;
S_2182_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2185_0;
S_2184_1: /* 3 */
S_2183_0: /* 2 */
		/* else */;
		goto S_2185_0;
S_2184_2: /* 3 */
		Uerror("blocking sel in d_step (nr.471, near line 105)");
S_2185_0: /* 2 */
S_2189_0: /* 2 */
S_2186_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_2189_1;
S_2187_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2190_0;
S_2189_1: /* 3 */
S_2188_0: /* 2 */
		/* else */;
		goto S_2190_0;
S_2189_2: /* 3 */
		Uerror("blocking sel in d_step (nr.472, near line 106)");
S_2190_0: /* 2 */
		goto S_2194_0; /* '.' */
		goto S_2194_0; /* ';' */
S_2193_1: /* 3 */
S_2191_0: /* 2 */
		/* else */;
S_2192_0: /* 2 */
		goto S_2195_0;	/* 'goto' */
S_2193_2: /* 3 */
		Uerror("blocking sel in d_step (nr.473, near line 92)");
S_2195_0: /* 2 */
		goto S_2199_0;	/* 'break' */
S_2198_1: /* 3 */
S_2197_0: /* 2 */
		/* else */;
		goto S_2199_0;
S_2198_2: /* 3 */
		Uerror("blocking sel in d_step (nr.474, near line 181)");
S_2199_0: /* 2 */
		goto S_2209_0;
S_2209_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 445: // STATE 584 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][584] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 446: // STATE 587 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			continue;

		reached[2][587] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2202_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_2203_0: /* 2 */
		now.gone[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[closer:i]", ((int)now.gone[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
		goto S_2207_0;
S_2207_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 447: // STATE 590 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[2][590] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2205_0: /* 2 */
		now.sink[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[closer:i]", ((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2206_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2210_0;
S_2210_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 448: // STATE 602 - /tmp/w/models/conformance/models/close.pml:400 - [(!(0))] (638:0:1 - 1)
		IfNotBlocked
		reached[2][602] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 603, 638) */
		reached[2][603] = 1;
		(trpt+1)->bup.oval = ((int)((P2 *)_this)->whole);
		((P2 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("closer:whole", ((int)((P2 *)_this)->whole));
#endif
		;
		/* merge: goto :b89(0, 604, 638) */
		reached[2][604] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 449: // STATE 608 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][608] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 450: // STATE 620 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[2][620] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2226_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_2227_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2234_0: /* 2 */
S_2233_0: /* 2 */
S_2228_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<(1+1))))
			goto S_2233_1;
S_2229_0: /* 2 */
		now.refers[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[closer:i]", ((int)now.refers[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2230_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2234_0; /* ';' */
S_2233_1: /* 3 */
S_2231_0: /* 2 */
		/* else */;
S_2232_0: /* 2 */
		goto S_2235_0;	/* 'goto' */
S_2233_2: /* 3 */
		Uerror("blocking sel in d_step (nr.475, near line 330)");
S_2235_0: /* 2 */
		goto S_2236_0;	/* 'break' */
S_2236_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2247_0;
S_2247_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 451: // STATE 624 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[2][624] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2239_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_2240_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_2245_0;
S_2245_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 452: // STATE 625 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][625] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 453: // STATE 626 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[2][626] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 454: // STATE 640 - /tmp/w/models/conformance/models/close.pml:416 - [(whole)] (0:0:1 - 1)
		IfNotBlocked
		reached[2][640] = 1;
		if (!(((int)((P2 *)_this)->whole)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: whole */  (trpt+1)->bup.oval = ((P2 *)_this)->whole;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P2 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 455: // STATE 643 - /tmp/w/models/conformance/models/close.pml:417 - [D_STEP417]
		IfNotBlocked

		reached[2][643] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2258_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_2259_0: /* 2 */
		((P2 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("closer:whole", ((int)((P2 *)_this)->whole));
#endif
		;
		goto S_2277_0;
S_2277_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 456: // STATE 659 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[2][659] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2272_0: /* 2 */
S_2261_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_2272_1;
S_2270_0: /* 2 */
S_2268_0: /* 2 */
S_2267_0: /* 2 */
S_2262_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_2267_1;
S_2263_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_2264_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2268_0; /* ';' */
S_2267_1: /* 3 */
S_2265_0: /* 2 */
		/* else */;
S_2266_0: /* 2 */
		goto S_2274_0;	/* 'goto' */
S_2267_2: /* 3 */
		Uerror("blocking sel in d_step (nr.476, near line 112)");
S_2269_0: /* 2 */
		goto S_2274_0;	/* 'break' */
		goto S_2273_0;
S_2272_1: /* 3 */
S_2271_0: /* 2 */
		/* else */;
		goto S_2273_0;
S_2272_2: /* 3 */
		Uerror("blocking sel in d_step (nr.477, near line 301)");
S_2273_0: /* 2 */
S_2274_0: /* 2 */
		((P2 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("closer:want", ((int)((P2 *)_this)->want));
#endif
		;
S_2275_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2283_0;
S_2283_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 457: // STATE 662 - /tmp/w/models/conformance/models/close.pml:423 - [want = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[2][662] = 1;
		(trpt+1)->bup.oval = ((int)((P2 *)_this)->want);
		((P2 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("closer:want", ((int)((P2 *)_this)->want));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 458: // STATE 663 - /tmp/w/models/conformance/models/close.pml:423 - [(run finisher())] (0:0:0 - 1)
		IfNotBlocked
		reached[2][663] = 1;
		if (!(addproc(II, 1, 0, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 459: // STATE 667 - /tmp/w/models/conformance/models/close.pml:425 - [((want&&token))] (1236:0:2 - 1)
		IfNotBlocked
		reached[2][667] = 1;
		if (!((((int)((P2 *)_this)->want)&&((int)now.token))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P2 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P2 *)_this)->want = 0;
		/* merge: want = 0(0, 668, 1236) */
		reached[2][668] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P2 *)_this)->want);
		((P2 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("closer:want", ((int)((P2 *)_this)->want));
#endif
		;
		/* merge: goto :b88(0, 670, 1236) */
		reached[2][670] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 460: // STATE 671 - /tmp/w/models/conformance/models/close.pml:426 - [(!(want))] (0:0:1 - 1)
		IfNotBlocked
		reached[2][671] = 1;
		if (!( !(((int)((P2 *)_this)->want))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.oval = ((P2 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P2 *)_this)->want = 0;
		_m = 3; goto P999; /* 0 */
	case 461: // STATE 677 - /tmp/w/models/conformance/models/close.pml:580 - [(flushed)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][677] = 1;
		if (!(((int)now.flushed)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 462: // STATE 678 - /tmp/w/models/conformance/models/close.pml:581 - [((!(good)&&!(flushed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][678] = 1;
		if (!(( !(((int)now.good))&& !(((int)now.flushed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 463: // STATE 682 - /tmp/w/models/conformance/models/close.pml:443 - [D_STEP443]
		IfNotBlocked

		reached[2][682] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2296_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_2297_0: /* 2 */
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
S_2298_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
		goto S_2851_0;
S_2851_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 464: // STATE 698 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[2][698] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2311_0: /* 2 */
S_2300_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_2311_1;
S_2309_0: /* 2 */
S_2307_0: /* 2 */
S_2306_0: /* 2 */
S_2301_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_2306_1;
S_2302_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_2303_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2307_0; /* ';' */
S_2306_1: /* 3 */
S_2304_0: /* 2 */
		/* else */;
S_2305_0: /* 2 */
		goto S_2313_0;	/* 'goto' */
S_2306_2: /* 3 */
		Uerror("blocking sel in d_step (nr.478, near line 112)");
S_2308_0: /* 2 */
		goto S_2313_0;	/* 'break' */
		goto S_2312_0;
S_2311_1: /* 3 */
S_2310_0: /* 2 */
		/* else */;
		goto S_2312_0;
S_2311_2: /* 3 */
		Uerror("blocking sel in d_step (nr.479, near line 301)");
S_2312_0: /* 2 */
S_2313_0: /* 2 */
		((P2 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("closer:want", ((int)((P2 *)_this)->want));
#endif
		;
S_2314_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2849_0;
S_2849_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 465: // STATE 700 - /tmp/w/models/conformance/models/close.pml:413 - [((want&&!(token)))] (1197:0:2 - 1)
		IfNotBlocked
		reached[2][700] = 1;
		if (!((((int)((P2 *)_this)->want)&& !(((int)now.token)))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P2 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P2 *)_this)->want = 0;
		/* merge: token = 1(0, 701, 1197) */
		reached[2][701] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.token);
		now.token = 1;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 466: // STATE 703 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[2][703] = 1;
		(trpt+1)->bup.oval = ((int)((P2 *)_this)->whole);
		((P2 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("closer:whole", ((int)((P2 *)_this)->whole));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 467: // STATE 704 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][704] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 468: // STATE 737 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[2][737] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2352_0: /* 2 */
S_2351_0: /* 2 */
S_2322_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_2351_1;
S_2323_0: /* 2 */
		goto S_2353_0;	/* 'goto' */
S_2351_1: /* 3 */
S_2324_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_2351_2;
S_2325_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_2326_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_2327_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_2352_0; /* ';' */
S_2351_2: /* 3 */
S_2328_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_2351_3;
S_2337_0: /* 2 */
S_2335_0: /* 2 */
S_2334_0: /* 2 */
S_2329_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_2334_1;
S_2330_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_2331_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2335_0; /* ';' */
S_2334_1: /* 3 */
S_2332_0: /* 2 */
		/* else */;
S_2333_0: /* 2 */
		goto S_2347_0;	/* 'goto' */
S_2334_2: /* 3 */
		Uerror("blocking sel in d_step (nr.480, near line 112)");
S_2336_0: /* 2 */
		goto S_2347_0;	/* 'break' */
		goto S_2347_0;
S_2347_0: /* 2 */
S_2338_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_2347_1;
S_2339_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_2340_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_2341_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_2342_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_2343_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_2344_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_2348_0;
S_2347_1: /* 3 */
S_2345_0: /* 2 */
		/* else */;
S_2346_0: /* 2 */
		goto S_2353_0;	/* 'goto' */
		goto S_2348_0;
S_2347_2: /* 3 */
		Uerror("blocking sel in d_step (nr.481, near line 317)");
S_2348_0: /* 2 */
		goto S_2352_0; /* '.' */
		goto S_2352_0; /* ';' */
S_2351_3: /* 3 */
S_2349_0: /* 2 */
		/* else */;
S_2350_0: /* 2 */
		goto S_2353_0;	/* 'goto' */
		goto S_2352_0; /* ';' */
S_2351_4: /* 3 */
		Uerror("blocking sel in d_step (nr.482, near line 312)");
S_2353_0: /* 2 */
		goto S_2808_0;	/* 'break' */
S_2358_0: /* 1 */
S_2808_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 469: // STATE 742 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][742] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 470: // STATE 743 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][743] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 471: // STATE 776 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[2][776] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2391_0: /* 2 */
S_2361_0: /* 2 */
		if (!((now.state!=5)))
			goto S_2391_1;
S_2389_0: /* 2 */
S_2362_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_2363_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_2364_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_2365_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_2375_0: /* 2 */
S_2366_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2373_0: /* 2 */
S_2372_0: /* 2 */
S_2367_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<((int)now.tail))))
			goto S_2372_1;
S_2368_0: /* 2 */
		now.done[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[closer:i]", ((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2369_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2373_0; /* ';' */
S_2372_1: /* 3 */
S_2370_0: /* 2 */
		/* else */;
S_2371_0: /* 2 */
		goto S_2385_0;	/* 'goto' */
S_2372_2: /* 3 */
		Uerror("blocking sel in d_step (nr.483, near line 120)");
S_2374_0: /* 2 */
		goto S_2385_0;	/* 'break' */
		goto S_2386_0;
S_2386_0: /* 2 */
S_2385_0: /* 2 */
S_2376_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_2385_1;
S_2380_0: /* 2 */
S_2377_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_2380_1;
S_2378_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_2381_0;
S_2380_1: /* 3 */
S_2379_0: /* 2 */
		/* else */;
		goto S_2381_0;
S_2380_2: /* 3 */
		Uerror("blocking sel in d_step (nr.484, near line 145)");
S_2381_0: /* 2 */
S_2382_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2386_0; /* ';' */
S_2385_1: /* 3 */
S_2383_0: /* 2 */
		/* else */;
S_2384_0: /* 2 */
		goto S_2388_0;	/* 'goto' */
S_2385_2: /* 3 */
		Uerror("blocking sel in d_step (nr.485, near line 143)");
S_2387_0: /* 2 */
		goto S_2388_0;	/* 'break' */
S_2388_0: /* 2 */
		((P2 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
		goto S_2392_0;
S_2391_1: /* 3 */
S_2390_0: /* 2 */
		/* else */;
		goto S_2392_0;
S_2391_2: /* 3 */
		Uerror("blocking sel in d_step (nr.486, near line 240)");
S_2392_0: /* 2 */
		goto S_2454_0;
S_2454_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 472: // STATE 777 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][777] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 473: // STATE 820 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[2][820] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2395_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2401_0: /* 2 */
S_2400_0: /* 2 */
S_2396_0: /* 2 */
		if (!(((((int)((P2 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]))))))
			goto S_2400_1;
S_2397_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2401_0; /* ';' */
S_2400_1: /* 3 */
S_2398_0: /* 2 */
		/* else */;
S_2399_0: /* 2 */
		goto S_2435_0;	/* 'goto' */
S_2400_2: /* 3 */
		Uerror("blocking sel in d_step (nr.487, near line 174)");
S_2402_0: /* 2 */
		goto S_2435_0;	/* 'break' */
S_2435_0: /* 2 */
S_2403_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)==((int)now.tail))))
			goto S_2435_1;
S_2404_0: /* 2 */
		((P2 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
S_2405_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2433_0: /* 2 */
S_2431_0: /* 2 */
S_2430_0: /* 2 */
S_2406_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_2430_1;
S_2415_0: /* 2 */
S_2413_0: /* 2 */
S_2407_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_2413_1;
S_2408_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_2409_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_2410_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_2411_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_2414_0;
S_2413_1: /* 3 */
S_2412_0: /* 2 */
		/* else */;
		goto S_2414_0;
S_2413_2: /* 3 */
		Uerror("blocking sel in d_step (nr.488, near line 81)");
S_2414_0: /* 2 */
		goto S_2416_0;
S_2416_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_2417_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_2421_0: /* 2 */
S_2418_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_2421_1;
S_2419_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2422_0;
S_2421_1: /* 3 */
S_2420_0: /* 2 */
		/* else */;
		goto S_2422_0;
S_2421_2: /* 3 */
		Uerror("blocking sel in d_step (nr.489, near line 105)");
S_2422_0: /* 2 */
S_2426_0: /* 2 */
S_2423_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_2426_1;
S_2424_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2427_0;
S_2426_1: /* 3 */
S_2425_0: /* 2 */
		/* else */;
		goto S_2427_0;
S_2426_2: /* 3 */
		Uerror("blocking sel in d_step (nr.490, near line 106)");
S_2427_0: /* 2 */
		goto S_2431_0; /* '.' */
		goto S_2431_0; /* ';' */
S_2430_1: /* 3 */
S_2428_0: /* 2 */
		/* else */;
S_2429_0: /* 2 */
		goto S_2432_0;	/* 'goto' */
S_2430_2: /* 3 */
		Uerror("blocking sel in d_step (nr.491, near line 92)");
S_2432_0: /* 2 */
		goto S_2436_0;	/* 'break' */
S_2435_1: /* 3 */
S_2434_0: /* 2 */
		/* else */;
		goto S_2436_0;
S_2435_2: /* 3 */
		Uerror("blocking sel in d_step (nr.492, near line 181)");
S_2436_0: /* 2 */
		goto S_2446_0;
S_2446_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 474: // STATE 821 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][821] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 475: // STATE 824 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			continue;

		reached[2][824] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2439_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_2440_0: /* 2 */
		now.gone[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[closer:i]", ((int)now.gone[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
		goto S_2444_0;
S_2444_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 476: // STATE 827 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[2][827] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2442_0: /* 2 */
		now.sink[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[closer:i]", ((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2443_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2447_0;
S_2447_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 477: // STATE 857 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[2][857] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2470_0: /* 2 */
S_2459_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_2470_1;
S_2468_0: /* 2 */
S_2466_0: /* 2 */
S_2465_0: /* 2 */
S_2460_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_2465_1;
S_2461_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_2462_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2466_0; /* ';' */
S_2465_1: /* 3 */
S_2463_0: /* 2 */
		/* else */;
S_2464_0: /* 2 */
		goto S_2472_0;	/* 'goto' */
S_2465_2: /* 3 */
		Uerror("blocking sel in d_step (nr.493, near line 112)");
S_2467_0: /* 2 */
		goto S_2472_0;	/* 'break' */
		goto S_2471_0;
S_2470_1: /* 3 */
S_2469_0: /* 2 */
		/* else */;
		goto S_2471_0;
S_2470_2: /* 3 */
		Uerror("blocking sel in d_step (nr.494, near line 301)");
S_2471_0: /* 2 */
S_2472_0: /* 2 */
		((P2 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("closer:want", ((int)((P2 *)_this)->want));
#endif
		;
S_2473_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2586_0;
S_2586_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 478: // STATE 859 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][859] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 479: // STATE 860 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[2][860] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 480: // STATE 861 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[2][861] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 481: // STATE 864 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[2][864] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2479_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_2480_0: /* 2 */
		((P2 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("closer:last", ((int)((P2 *)_this)->last));
#endif
		;
		goto S_2582_0;
S_2582_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 482: // STATE 865 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[2][865] = 1;
		if (!(((int)((P2 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P2 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P2 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 483: // STATE 868 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[2][868] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2483_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_2484_0: /* 2 */
		((P2 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("closer:last", ((int)((P2 *)_this)->last));
#endif
		;
		goto S_2580_0;
S_2580_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 484: // STATE 901 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[2][901] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2516_0: /* 2 */
S_2486_0: /* 2 */
		if (!((now.state!=5)))
			goto S_2516_1;
S_2514_0: /* 2 */
S_2487_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_2488_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_2489_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_2490_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_2500_0: /* 2 */
S_2491_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2498_0: /* 2 */
S_2497_0: /* 2 */
S_2492_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<((int)now.tail))))
			goto S_2497_1;
S_2493_0: /* 2 */
		now.done[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[closer:i]", ((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2494_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2498_0; /* ';' */
S_2497_1: /* 3 */
S_2495_0: /* 2 */
		/* else */;
S_2496_0: /* 2 */
		goto S_2510_0;	/* 'goto' */
S_2497_2: /* 3 */
		Uerror("blocking sel in d_step (nr.495, near line 120)");
S_2499_0: /* 2 */
		goto S_2510_0;	/* 'break' */
		goto S_2511_0;
S_2511_0: /* 2 */
S_2510_0: /* 2 */
S_2501_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_2510_1;
S_2505_0: /* 2 */
S_2502_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_2505_1;
S_2503_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_2506_0;
S_2505_1: /* 3 */
S_2504_0: /* 2 */
		/* else */;
		goto S_2506_0;
S_2505_2: /* 3 */
		Uerror("blocking sel in d_step (nr.496, near line 145)");
S_2506_0: /* 2 */
S_2507_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2511_0; /* ';' */
S_2510_1: /* 3 */
S_2508_0: /* 2 */
		/* else */;
S_2509_0: /* 2 */
		goto S_2513_0;	/* 'goto' */
S_2510_2: /* 3 */
		Uerror("blocking sel in d_step (nr.497, near line 143)");
S_2512_0: /* 2 */
		goto S_2513_0;	/* 'break' */
S_2513_0: /* 2 */
		((P2 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
		goto S_2517_0;
S_2516_1: /* 3 */
S_2515_0: /* 2 */
		/* else */;
		goto S_2517_0;
S_2516_2: /* 3 */
		Uerror("blocking sel in d_step (nr.498, near line 240)");
S_2517_0: /* 2 */
		goto S_2579_0;
S_2579_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 485: // STATE 902 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][902] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 486: // STATE 945 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[2][945] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2520_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2526_0: /* 2 */
S_2525_0: /* 2 */
S_2521_0: /* 2 */
		if (!(((((int)((P2 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]))))))
			goto S_2525_1;
S_2522_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2526_0; /* ';' */
S_2525_1: /* 3 */
S_2523_0: /* 2 */
		/* else */;
S_2524_0: /* 2 */
		goto S_2560_0;	/* 'goto' */
S_2525_2: /* 3 */
		Uerror("blocking sel in d_step (nr.499, near line 174)");
S_2527_0: /* 2 */
		goto S_2560_0;	/* 'break' */
S_2560_0: /* 2 */
S_2528_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)==((int)now.tail))))
			goto S_2560_1;
S_2529_0: /* 2 */
		((P2 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
S_2530_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2558_0: /* 2 */
S_2556_0: /* 2 */
S_2555_0: /* 2 */
S_2531_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_2555_1;
S_2540_0: /* 2 */
S_2538_0: /* 2 */
S_2532_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_2538_1;
S_2533_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_2534_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_2535_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_2536_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_2539_0;
S_2538_1: /* 3 */
S_2537_0: /* 2 */
		/* else */;
		goto S_2539_0;
S_2538_2: /* 3 */
		Uerror("blocking sel in d_step (nr.500, near line 81)");
S_2539_0: /* 2 */
		goto S_2541_0;
S_2541_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_2542_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_2546_0: /* 2 */
S_2543_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_2546_1;
S_2544_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2547_0;
S_2546_1: /* 3 */
S_2545_0: /* 2 */
		/* else */;
		goto S_2547_0;
S_2546_2: /* 3 */
		Uerror("blocking sel in d_step (nr.501, near line 105)");
S_2547_0: /* 2 */
S_2551_0: /* 2 */
S_2548_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_2551_1;
S_2549_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2552_0;
S_2551_1: /* 3 */
S_2550_0: /* 2 */
		/* else */;
		goto S_2552_0;
S_2551_2: /* 3 */
		Uerror("blocking sel in d_step (nr.502, near line 106)");
S_2552_0: /* 2 */
		goto S_2556_0; /* '.' */
		goto S_2556_0; /* ';' */
S_2555_1: /* 3 */
S_2553_0: /* 2 */
		/* else */;
S_2554_0: /* 2 */
		goto S_2557_0;	/* 'goto' */
S_2555_2: /* 3 */
		Uerror("blocking sel in d_step (nr.503, near line 92)");
S_2557_0: /* 2 */
		goto S_2561_0;	/* 'break' */
S_2560_1: /* 3 */
S_2559_0: /* 2 */
		/* else */;
		goto S_2561_0;
S_2560_2: /* 3 */
		Uerror("blocking sel in d_step (nr.504, near line 181)");
S_2561_0: /* 2 */
		goto S_2571_0;
S_2571_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 487: // STATE 946 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][946] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 488: // STATE 949 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			continue;

		reached[2][949] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2564_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_2565_0: /* 2 */
		now.gone[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[closer:i]", ((int)now.gone[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
		goto S_2569_0;
S_2569_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 489: // STATE 952 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[2][952] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2567_0: /* 2 */
		now.sink[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[closer:i]", ((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2568_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2572_0;
S_2572_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 490: // STATE 974 - /tmp/w/models/conformance/models/close.pml:387 - [(!(0))] (1196:0:1 - 1)
		IfNotBlocked
		reached[2][974] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 975, 1196) */
		reached[2][975] = 1;
		(trpt+1)->bup.oval = ((int)((P2 *)_this)->whole);
		((P2 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("closer:whole", ((int)((P2 *)_this)->whole));
#endif
		;
		/* merge: goto :b117(0, 976, 1196) */
		reached[2][976] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 491: // STATE 977 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][977] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 492: // STATE 992 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[2][992] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2595_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2603_0: /* 2 */
S_2602_0: /* 2 */
S_2596_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<(1+1))))
			goto S_2602_1;
S_2597_0: /* 2 */
		now.wire[ Index(((P2 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P2 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P2 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[closer:i]", ((int)now.wire[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2598_0: /* 2 */
		now.refers[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[closer:i]", ((int)now.refers[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2599_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2603_0; /* ';' */
S_2602_1: /* 3 */
S_2600_0: /* 2 */
		/* else */;
S_2601_0: /* 2 */
		goto S_2605_0;	/* 'goto' */
S_2602_2: /* 3 */
		Uerror("blocking sel in d_step (nr.505, near line 391)");
S_2604_0: /* 2 */
		goto S_2605_0;	/* 'break' */
S_2605_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2606_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_2607_0: /* 2 */
		((P2 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("closer:n", ((int)((P2 *)_this)->n));
#endif
		;
S_2608_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_2776_0;
S_2776_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 493: // STATE 1097 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P2 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[2][1097] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2630_0: /* 2 */
S_2629_0: /* 2 */
S_2610_0: /* 2 */
		if (!(((((int)((P2 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_2629_1;
S_2616_0: /* 2 */
S_2615_0: /* 2 */
S_2611_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_2615_1;
S_2612_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2616_0; /* ';' */
S_2615_1: /* 3 */
S_2613_0: /* 2 */
		/* else */;
S_2614_0: /* 2 */
		goto S_2618_0;	/* 'goto' */
S_2615_2: /* 3 */
		Uerror("blocking sel in d_step (nr.506, near line 218)");
S_2617_0: /* 2 */
		goto S_2618_0;	/* 'break' */
S_2618_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_2622_0: /* 2 */
S_2619_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_2622_1;
S_2620_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_2623_0;
S_2622_1: /* 3 */
S_2621_0: /* 2 */
		/* else */;
		goto S_2623_0;
S_2622_2: /* 3 */
		Uerror("blocking sel in d_step (nr.507, near line 223)");
S_2623_0: /* 2 */
S_2624_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_2625_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_2626_0: /* 2 */
		((P2 *)_this)->n = (((int)((P2 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("closer:n", ((int)((P2 *)_this)->n));
#endif
		;
		goto S_2630_0; /* ';' */
S_2629_1: /* 3 */
S_2627_0: /* 2 */
		/* else */;
S_2628_0: /* 2 */
		goto S_2632_0;	/* 'goto' */
S_2629_2: /* 3 */
		Uerror("blocking sel in d_step (nr.508, near line 216)");
S_2631_0: /* 2 */
		goto S_2632_0;	/* 'break' */
S_2632_0: /* 2 */
		((P2 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("closer:n", ((int)((P2 *)_this)->n));
#endif
		;
S_2633_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_2661_0: /* 2 */
S_2659_0: /* 2 */
S_2658_0: /* 2 */
S_2634_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_2658_1;
S_2643_0: /* 2 */
S_2641_0: /* 2 */
S_2635_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_2641_1;
S_2636_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_2637_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_2638_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_2639_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_2642_0;
S_2641_1: /* 3 */
S_2640_0: /* 2 */
		/* else */;
		goto S_2642_0;
S_2641_2: /* 3 */
		Uerror("blocking sel in d_step (nr.509, near line 81)");
S_2642_0: /* 2 */
		goto S_2644_0;
S_2644_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_2645_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_2649_0: /* 2 */
S_2646_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_2649_1;
S_2647_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2650_0;
S_2649_1: /* 3 */
S_2648_0: /* 2 */
		/* else */;
		goto S_2650_0;
S_2649_2: /* 3 */
		Uerror("blocking sel in d_step (nr.510, near line 105)");
S_2650_0: /* 2 */
S_2654_0: /* 2 */
S_2651_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_2654_1;
S_2652_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2655_0;
S_2654_1: /* 3 */
S_2653_0: /* 2 */
		/* else */;
		goto S_2655_0;
S_2654_2: /* 3 */
		Uerror("blocking sel in d_step (nr.511, near line 106)");
S_2655_0: /* 2 */
		goto S_2659_0; /* '.' */
		goto S_2659_0; /* ';' */
S_2658_1: /* 3 */
S_2656_0: /* 2 */
		/* else */;
S_2657_0: /* 2 */
		goto S_2713_0;	/* 'goto' */
S_2658_2: /* 3 */
		Uerror("blocking sel in d_step (nr.512, near line 92)");
S_2660_0: /* 2 */
		goto S_2713_0;	/* 'break' */
		goto S_2713_0;
S_2713_0: /* 2 */
S_2673_0: /* 2 */
S_2662_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_2673_1;
S_2671_0: /* 2 */
S_2669_0: /* 2 */
S_2668_0: /* 2 */
S_2663_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_2668_1;
S_2664_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_2665_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2669_0; /* ';' */
S_2668_1: /* 3 */
S_2666_0: /* 2 */
		/* else */;
S_2667_0: /* 2 */
		goto S_2711_0;	/* 'goto' */
S_2668_2: /* 3 */
		Uerror("blocking sel in d_step (nr.513, near line 112)");
S_2670_0: /* 2 */
		goto S_2711_0;	/* 'break' */
		goto S_2674_0;
S_2673_1: /* 3 */
S_2672_0: /* 2 */
		/* else */;
		goto S_2674_0;
S_2673_2: /* 3 */
		Uerror("blocking sel in d_step (nr.514, near line 153)");
S_2674_0: /* 2 */
S_2711_0: /* 2 */
S_2675_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_2711_1;
S_2708_0: /* 2 */
S_2676_0: /* 2 */
		if (!((now.state==8)))
			goto S_2708_1;
S_2704_0: /* 2 */
S_2677_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_2678_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_2679_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_2680_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_2690_0: /* 2 */
S_2681_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2688_0: /* 2 */
S_2687_0: /* 2 */
S_2682_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<((int)now.tail))))
			goto S_2687_1;
S_2683_0: /* 2 */
		now.done[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[closer:i]", ((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2684_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2688_0; /* ';' */
S_2687_1: /* 3 */
S_2685_0: /* 2 */
		/* else */;
S_2686_0: /* 2 */
		goto S_2700_0;	/* 'goto' */
S_2687_2: /* 3 */
		Uerror("blocking sel in d_step (nr.515, near line 120)");
S_2689_0: /* 2 */
		goto S_2700_0;	/* 'break' */
		goto S_2701_0;
S_2701_0: /* 2 */
S_2700_0: /* 2 */
S_2691_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_2700_1;
S_2695_0: /* 2 */
S_2692_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_2695_1;
S_2693_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_2696_0;
S_2695_1: /* 3 */
S_2694_0: /* 2 */
		/* else */;
		goto S_2696_0;
S_2695_2: /* 3 */
		Uerror("blocking sel in d_step (nr.516, near line 145)");
S_2696_0: /* 2 */
S_2697_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2701_0; /* ';' */
S_2700_1: /* 3 */
S_2698_0: /* 2 */
		/* else */;
S_2699_0: /* 2 */
		goto S_2703_0;	/* 'goto' */
S_2700_2: /* 3 */
		Uerror("blocking sel in d_step (nr.517, near line 143)");
S_2702_0: /* 2 */
		goto S_2703_0;	/* 'break' */
S_2703_0: /* 2 */
		((P2 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
		goto S_2709_0;
S_2708_1: /* 3 */
S_2705_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_2708_2;
S_2706_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_2709_0;
S_2708_2: /* 3 */
S_2707_0: /* 2 */
		/* else */;
		goto S_2709_0;
S_2708_3: /* 3 */
		Uerror("blocking sel in d_step (nr.518, near line 159)");
S_2709_0: /* 2 */
		goto S_2712_0;
S_2711_1: /* 3 */
S_2710_0: /* 2 */
		/* else */;
		goto S_2712_0;
S_2711_2: /* 3 */
		Uerror("blocking sel in d_step (nr.519, near line 157)");
S_2712_0: /* 2 */
		goto S_2775_0;
S_2775_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 494: // STATE 1098 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][1098] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 495: // STATE 1141 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[2][1141] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2716_0: /* 2 */
		((P2 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2722_0: /* 2 */
S_2721_0: /* 2 */
S_2717_0: /* 2 */
		if (!(((((int)((P2 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P2 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]))))))
			goto S_2721_1;
S_2718_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2722_0; /* ';' */
S_2721_1: /* 3 */
S_2719_0: /* 2 */
		/* else */;
S_2720_0: /* 2 */
		goto S_2756_0;	/* 'goto' */
S_2721_2: /* 3 */
		Uerror("blocking sel in d_step (nr.520, near line 174)");
S_2723_0: /* 2 */
		goto S_2756_0;	/* 'break' */
S_2756_0: /* 2 */
S_2724_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)==((int)now.tail))))
			goto S_2756_1;
S_2725_0: /* 2 */
		((P2 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("closer:settles", ((int)((P2 *)_this)->settles));
#endif
		;
S_2726_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2754_0: /* 2 */
S_2752_0: /* 2 */
S_2751_0: /* 2 */
S_2727_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_2751_1;
S_2736_0: /* 2 */
S_2734_0: /* 2 */
S_2728_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_2734_1;
S_2729_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_2730_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_2731_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_2732_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_2735_0;
S_2734_1: /* 3 */
S_2733_0: /* 2 */
		/* else */;
		goto S_2735_0;
S_2734_2: /* 3 */
		Uerror("blocking sel in d_step (nr.521, near line 81)");
S_2735_0: /* 2 */
		goto S_2737_0;
S_2737_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_2738_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_2742_0: /* 2 */
S_2739_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_2742_1;
S_2740_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_2743_0;
S_2742_1: /* 3 */
S_2741_0: /* 2 */
		/* else */;
		goto S_2743_0;
S_2742_2: /* 3 */
		Uerror("blocking sel in d_step (nr.522, near line 105)");
S_2743_0: /* 2 */
S_2747_0: /* 2 */
S_2744_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_2747_1;
S_2745_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2748_0;
S_2747_1: /* 3 */
S_2746_0: /* 2 */
		/* else */;
		goto S_2748_0;
S_2747_2: /* 3 */
		Uerror("blocking sel in d_step (nr.523, near line 106)");
S_2748_0: /* 2 */
		goto S_2752_0; /* '.' */
		goto S_2752_0; /* ';' */
S_2751_1: /* 3 */
S_2749_0: /* 2 */
		/* else */;
S_2750_0: /* 2 */
		goto S_2753_0;	/* 'goto' */
S_2751_2: /* 3 */
		Uerror("blocking sel in d_step (nr.524, near line 92)");
S_2753_0: /* 2 */
		goto S_2757_0;	/* 'break' */
S_2756_1: /* 3 */
S_2755_0: /* 2 */
		/* else */;
		goto S_2757_0;
S_2756_2: /* 3 */
		Uerror("blocking sel in d_step (nr.525, near line 181)");
S_2757_0: /* 2 */
		goto S_2767_0;
S_2767_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 496: // STATE 1142 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][1142] = 1;
		if (!(((int)((P2 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 497: // STATE 1145 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			continue;

		reached[2][1145] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2760_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P2 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_2761_0: /* 2 */
		now.gone[ Index(((P2 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[closer:i]", ((int)now.gone[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
		goto S_2765_0;
S_2765_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 498: // STATE 1148 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[2][1148] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2763_0: /* 2 */
		now.sink[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[closer:i]", ((int)now.sink[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2764_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2768_0;
S_2768_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 499: // STATE 1160 - /tmp/w/models/conformance/models/close.pml:400 - [(!(0))] (1196:0:1 - 1)
		IfNotBlocked
		reached[2][1160] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 1161, 1196) */
		reached[2][1161] = 1;
		(trpt+1)->bup.oval = ((int)((P2 *)_this)->whole);
		((P2 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("closer:whole", ((int)((P2 *)_this)->whole));
#endif
		;
		/* merge: goto :b117(0, 1162, 1196) */
		reached[2][1162] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 500: // STATE 1166 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[2][1166] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 501: // STATE 1178 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[2][1178] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2784_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_2785_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
S_2792_0: /* 2 */
S_2791_0: /* 2 */
S_2786_0: /* 2 */
		if (!((((int)((P2 *)_this)->i)<(1+1))))
			goto S_2791_1;
S_2787_0: /* 2 */
		now.refers[ Index(((P2 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[closer:i]", ((int)now.refers[ Index(((int)((P2 *)_this)->i), 2) ]));
#endif
		;
S_2788_0: /* 2 */
		((P2 *)_this)->i = (((int)((P2 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2792_0; /* ';' */
S_2791_1: /* 3 */
S_2789_0: /* 2 */
		/* else */;
S_2790_0: /* 2 */
		goto S_2793_0;	/* 'goto' */
S_2791_2: /* 3 */
		Uerror("blocking sel in d_step (nr.526, near line 330)");
S_2793_0: /* 2 */
		goto S_2794_0;	/* 'break' */
S_2794_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2805_0;
S_2805_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 502: // STATE 1182 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[2][1182] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2797_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_2798_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_2803_0;
S_2803_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 503: // STATE 1183 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[2][1183] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 504: // STATE 1184 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[2][1184] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 505: // STATE 1198 - /tmp/w/models/conformance/models/close.pml:416 - [(whole)] (0:0:1 - 1)
		IfNotBlocked
		reached[2][1198] = 1;
		if (!(((int)((P2 *)_this)->whole)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: whole */  (trpt+1)->bup.oval = ((P2 *)_this)->whole;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P2 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 506: // STATE 1201 - /tmp/w/models/conformance/models/close.pml:417 - [D_STEP417]
		IfNotBlocked

		reached[2][1201] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2816_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_2817_0: /* 2 */
		((P2 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("closer:whole", ((int)((P2 *)_this)->whole));
#endif
		;
		goto S_2835_0;
S_2835_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 507: // STATE 1217 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[2][1217] = 1;
		reached[2][t->st] = 1;
		reached[2][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_2830_0: /* 2 */
S_2819_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_2830_1;
S_2828_0: /* 2 */
S_2826_0: /* 2 */
S_2825_0: /* 2 */
S_2820_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_2825_1;
S_2821_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_2822_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_2826_0; /* ';' */
S_2825_1: /* 3 */
S_2823_0: /* 2 */
		/* else */;
S_2824_0: /* 2 */
		goto S_2832_0;	/* 'goto' */
S_2825_2: /* 3 */
		Uerror("blocking sel in d_step (nr.527, near line 112)");
S_2827_0: /* 2 */
		goto S_2832_0;	/* 'break' */
		goto S_2831_0;
S_2830_1: /* 3 */
S_2829_0: /* 2 */
		/* else */;
		goto S_2831_0;
S_2830_2: /* 3 */
		Uerror("blocking sel in d_step (nr.528, near line 301)");
S_2831_0: /* 2 */
S_2832_0: /* 2 */
		((P2 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("closer:want", ((int)((P2 *)_this)->want));
#endif
		;
S_2833_0: /* 2 */
		((P2 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("closer:i", ((int)((P2 *)_this)->i));
#endif
		;
		goto S_2841_0;
S_2841_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 508: // STATE 1220 - /tmp/w/models/conformance/models/close.pml:423 - [want = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[2][1220] = 1;
		(trpt+1)->bup.oval = ((int)((P2 *)_this)->want);
		((P2 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("closer:want", ((int)((P2 *)_this)->want));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 509: // STATE 1221 - /tmp/w/models/conformance/models/close.pml:423 - [(run finisher())] (0:0:0 - 1)
		IfNotBlocked
		reached[2][1221] = 1;
		if (!(addproc(II, 1, 0, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 510: // STATE 1225 - /tmp/w/models/conformance/models/close.pml:425 - [((want&&token))] (1238:0:2 - 1)
		IfNotBlocked
		reached[2][1225] = 1;
		if (!((((int)((P2 *)_this)->want)&&((int)now.token))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P2 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P2 *)_this)->want = 0;
		/* merge: want = 0(0, 1226, 1238) */
		reached[2][1226] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P2 *)_this)->want);
		((P2 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("closer:want", ((int)((P2 *)_this)->want));
#endif
		;
		/* merge: goto :b116(0, 1228, 1238) */
		reached[2][1228] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 511: // STATE 1229 - /tmp/w/models/conformance/models/close.pml:426 - [(!(want))] (0:0:1 - 1)
		IfNotBlocked
		reached[2][1229] = 1;
		if (!( !(((int)((P2 *)_this)->want))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.oval = ((P2 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P2 *)_this)->want = 0;
		_m = 3; goto P999; /* 0 */
	case 512: // STATE 1238 - /tmp/w/models/conformance/models/close.pml:583 - [-end-] (0:0:0 - 9)
		IfNotBlocked
		reached[2][1238] = 1;
		if (!delproc(1, II)) continue;
		_m = 3; goto P999; /* 0 */

		 /* PROC poster */
	case 513: // STATE 13 - /tmp/w/models/conformance/models/close.pml:478 - [D_STEP478]
		if (!(((boq == -1 && ((now.state==9)&& !((((int)((P1 *)_this)->read)&&((int)now.peerClosed)))))) || (boq == -1 /* else */)))
			continue;

		reached[1][13] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;


		reached[1][13] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		sv_save();
		S_1062_0: /* 2 */
S_1060_0: /* 2 */
S_1051_0: /* 2 */
		if (!(((now.state==9)&& !((((int)((P1 *)_this)->read)&&((int)now.peerClosed))))))
			goto S_1060_1;
S_1052_0: /* 2 */
		((P1 *)_this)->mine = ((int)now.tail);
#ifdef VAR_RANGES
		logval("poster:mine", ((int)((P1 *)_this)->mine));
#endif
		;
S_1053_0: /* 2 */
		now.tail = (((int)now.tail)+1);
#ifdef VAR_RANGES
		logval("tail", ((int)now.tail));
#endif
		;
S_1054_0: /* 2 */
		now.isRead[ Index(((P1 *)_this)->mine, 2) ] = ((int)((P1 *)_this)->read);
#ifdef VAR_RANGES
		logval("isRead[poster:mine]", ((int)now.isRead[ Index(((int)((P1 *)_this)->mine), 2) ]));
#endif
		;
S_1055_0: /* 2 */
		now.sink[ Index(((P1 *)_this)->mine, 2) ] = ((int)((P1 *)_this)->read);
#ifdef VAR_RANGES
		logval("sink[poster:mine]", ((int)now.sink[ Index(((int)((P1 *)_this)->mine), 2) ]));
#endif
		;
S_1056_0: /* 2 */
		now.progress[ Index(((P1 *)_this)->mine, 2) ] = 13;
#ifdef VAR_RANGES
		logval("progress[poster:mine]", now.progress[ Index(((int)((P1 *)_this)->mine), 2) ]);
#endif
		;
S_1057_0: /* 2 */
		accepted[ Index(((P1 *)_this)->mine, 2) ] = (((int)accepted[ Index(((int)((P1 *)_this)->mine), 2) ])+1);
#ifdef VAR_RANGES
		logval("accepted[poster:mine]", ((int)accepted[ Index(((int)((P1 *)_this)->mine), 2) ]));
#endif
		;
S_1058_0: /* 2 */
		now.undone = (((int)now.undone)+1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
		goto S_1061_0;
S_1060_1: /* 3 */
S_1059_0: /* 2 */
		/* else */;
		goto S_1061_0;
S_1060_2: /* 3 */
		Uerror("blocking sel in d_step (nr.529, near line 459)");
S_1061_0: /* 2 */
		goto S_1064_0;
S_1064_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 514: // STATE 14 - /tmp/w/models/conformance/models/close.pml:480 - [mine = 0] (0:566:1 - 1)
		IfNotBlocked
		reached[1][14] = 1;
		(trpt+1)->bup.oval = ((int)((P1 *)_this)->mine);
		((P1 *)_this)->mine = 0;
#ifdef VAR_RANGES
		logval("poster:mine", ((int)((P1 *)_this)->mine));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 515: // STATE 30 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[1][30] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1076_0: /* 2 */
S_1065_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_1076_1;
S_1074_0: /* 2 */
S_1072_0: /* 2 */
S_1071_0: /* 2 */
S_1066_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_1071_1;
S_1067_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1068_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1072_0; /* ';' */
S_1071_1: /* 3 */
S_1069_0: /* 2 */
		/* else */;
S_1070_0: /* 2 */
		goto S_1078_0;	/* 'goto' */
S_1071_2: /* 3 */
		Uerror("blocking sel in d_step (nr.530, near line 112)");
S_1073_0: /* 2 */
		goto S_1078_0;	/* 'break' */
		goto S_1077_0;
S_1076_1: /* 3 */
S_1075_0: /* 2 */
		/* else */;
		goto S_1077_0;
S_1076_2: /* 3 */
		Uerror("blocking sel in d_step (nr.531, near line 301)");
S_1077_0: /* 2 */
S_1078_0: /* 2 */
		((P1 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("poster:want", ((int)((P1 *)_this)->want));
#endif
		;
S_1079_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1614_0;
S_1614_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 516: // STATE 32 - /tmp/w/models/conformance/models/close.pml:413 - [((want&&!(token)))] (529:0:2 - 1)
		IfNotBlocked
		reached[1][32] = 1;
		if (!((((int)((P1 *)_this)->want)&& !(((int)now.token)))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P1 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P1 *)_this)->want = 0;
		/* merge: token = 1(0, 33, 529) */
		reached[1][33] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.token);
		now.token = 1;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 517: // STATE 35 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[1][35] = 1;
		(trpt+1)->bup.oval = ((int)((P1 *)_this)->whole);
		((P1 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("poster:whole", ((int)((P1 *)_this)->whole));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 518: // STATE 36 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[1][36] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 519: // STATE 69 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[1][69] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1117_0: /* 2 */
S_1116_0: /* 2 */
S_1087_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_1116_1;
S_1088_0: /* 2 */
		goto S_1118_0;	/* 'goto' */
S_1116_1: /* 3 */
S_1089_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_1116_2;
S_1090_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_1091_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_1092_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_1117_0; /* ';' */
S_1116_2: /* 3 */
S_1093_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_1116_3;
S_1102_0: /* 2 */
S_1100_0: /* 2 */
S_1099_0: /* 2 */
S_1094_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_1099_1;
S_1095_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1096_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1100_0; /* ';' */
S_1099_1: /* 3 */
S_1097_0: /* 2 */
		/* else */;
S_1098_0: /* 2 */
		goto S_1112_0;	/* 'goto' */
S_1099_2: /* 3 */
		Uerror("blocking sel in d_step (nr.532, near line 112)");
S_1101_0: /* 2 */
		goto S_1112_0;	/* 'break' */
		goto S_1112_0;
S_1112_0: /* 2 */
S_1103_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_1112_1;
S_1104_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1105_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_1106_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_1107_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_1108_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_1109_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_1113_0;
S_1112_1: /* 3 */
S_1110_0: /* 2 */
		/* else */;
S_1111_0: /* 2 */
		goto S_1118_0;	/* 'goto' */
		goto S_1113_0;
S_1112_2: /* 3 */
		Uerror("blocking sel in d_step (nr.533, near line 317)");
S_1113_0: /* 2 */
		goto S_1117_0; /* '.' */
		goto S_1117_0; /* ';' */
S_1116_3: /* 3 */
S_1114_0: /* 2 */
		/* else */;
S_1115_0: /* 2 */
		goto S_1118_0;	/* 'goto' */
		goto S_1117_0; /* ';' */
S_1116_4: /* 3 */
		Uerror("blocking sel in d_step (nr.534, near line 312)");
S_1118_0: /* 2 */
		goto S_1573_0;	/* 'break' */
S_1123_0: /* 1 */
S_1573_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 520: // STATE 74 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[1][74] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 521: // STATE 75 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[1][75] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 522: // STATE 108 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[1][108] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1156_0: /* 2 */
S_1126_0: /* 2 */
		if (!((now.state!=5)))
			goto S_1156_1;
S_1154_0: /* 2 */
S_1127_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_1128_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_1129_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_1130_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_1140_0: /* 2 */
S_1131_0: /* 2 */
		((P1 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1138_0: /* 2 */
S_1137_0: /* 2 */
S_1132_0: /* 2 */
		if (!((((int)((P1 *)_this)->i)<((int)now.tail))))
			goto S_1137_1;
S_1133_0: /* 2 */
		now.done[ Index(((P1 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[poster:i]", ((int)now.done[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
S_1134_0: /* 2 */
		((P1 *)_this)->i = (((int)((P1 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1138_0; /* ';' */
S_1137_1: /* 3 */
S_1135_0: /* 2 */
		/* else */;
S_1136_0: /* 2 */
		goto S_1150_0;	/* 'goto' */
S_1137_2: /* 3 */
		Uerror("blocking sel in d_step (nr.535, near line 120)");
S_1139_0: /* 2 */
		goto S_1150_0;	/* 'break' */
		goto S_1151_0;
S_1151_0: /* 2 */
S_1150_0: /* 2 */
S_1141_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_1150_1;
S_1145_0: /* 2 */
S_1142_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_1145_1;
S_1143_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_1146_0;
S_1145_1: /* 3 */
S_1144_0: /* 2 */
		/* else */;
		goto S_1146_0;
S_1145_2: /* 3 */
		Uerror("blocking sel in d_step (nr.536, near line 145)");
S_1146_0: /* 2 */
S_1147_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1151_0; /* ';' */
S_1150_1: /* 3 */
S_1148_0: /* 2 */
		/* else */;
S_1149_0: /* 2 */
		goto S_1153_0;	/* 'goto' */
S_1150_2: /* 3 */
		Uerror("blocking sel in d_step (nr.537, near line 143)");
S_1152_0: /* 2 */
		goto S_1153_0;	/* 'break' */
S_1153_0: /* 2 */
		((P1 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("poster:settles", ((int)((P1 *)_this)->settles));
#endif
		;
		goto S_1157_0;
S_1156_1: /* 3 */
S_1155_0: /* 2 */
		/* else */;
		goto S_1157_0;
S_1156_2: /* 3 */
		Uerror("blocking sel in d_step (nr.538, near line 240)");
S_1157_0: /* 2 */
		goto S_1219_0;
S_1219_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 523: // STATE 109 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[1][109] = 1;
		if (!(((int)((P1 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 524: // STATE 152 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[1][152] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1160_0: /* 2 */
		((P1 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1166_0: /* 2 */
S_1165_0: /* 2 */
S_1161_0: /* 2 */
		if (!(((((int)((P1 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P1 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P1 *)_this)->i), 2) ]))))))
			goto S_1165_1;
S_1162_0: /* 2 */
		((P1 *)_this)->i = (((int)((P1 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1166_0; /* ';' */
S_1165_1: /* 3 */
S_1163_0: /* 2 */
		/* else */;
S_1164_0: /* 2 */
		goto S_1200_0;	/* 'goto' */
S_1165_2: /* 3 */
		Uerror("blocking sel in d_step (nr.539, near line 174)");
S_1167_0: /* 2 */
		goto S_1200_0;	/* 'break' */
S_1200_0: /* 2 */
S_1168_0: /* 2 */
		if (!((((int)((P1 *)_this)->i)==((int)now.tail))))
			goto S_1200_1;
S_1169_0: /* 2 */
		((P1 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("poster:settles", ((int)((P1 *)_this)->settles));
#endif
		;
S_1170_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1198_0: /* 2 */
S_1196_0: /* 2 */
S_1195_0: /* 2 */
S_1171_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_1195_1;
S_1180_0: /* 2 */
S_1178_0: /* 2 */
S_1172_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_1178_1;
S_1173_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_1174_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_1175_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_1176_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_1179_0;
S_1178_1: /* 3 */
S_1177_0: /* 2 */
		/* else */;
		goto S_1179_0;
S_1178_2: /* 3 */
		Uerror("blocking sel in d_step (nr.540, near line 81)");
S_1179_0: /* 2 */
		goto S_1181_0;
S_1181_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_1182_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_1186_0: /* 2 */
S_1183_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_1186_1;
S_1184_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1187_0;
S_1186_1: /* 3 */
S_1185_0: /* 2 */
		/* else */;
		goto S_1187_0;
S_1186_2: /* 3 */
		Uerror("blocking sel in d_step (nr.541, near line 105)");
S_1187_0: /* 2 */
S_1191_0: /* 2 */
S_1188_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_1191_1;
S_1189_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1192_0;
S_1191_1: /* 3 */
S_1190_0: /* 2 */
		/* else */;
		goto S_1192_0;
S_1191_2: /* 3 */
		Uerror("blocking sel in d_step (nr.542, near line 106)");
S_1192_0: /* 2 */
		goto S_1196_0; /* '.' */
		goto S_1196_0; /* ';' */
S_1195_1: /* 3 */
S_1193_0: /* 2 */
		/* else */;
S_1194_0: /* 2 */
		goto S_1197_0;	/* 'goto' */
S_1195_2: /* 3 */
		Uerror("blocking sel in d_step (nr.543, near line 92)");
S_1197_0: /* 2 */
		goto S_1201_0;	/* 'break' */
S_1200_1: /* 3 */
S_1199_0: /* 2 */
		/* else */;
		goto S_1201_0;
S_1200_2: /* 3 */
		Uerror("blocking sel in d_step (nr.544, near line 181)");
S_1201_0: /* 2 */
		goto S_1211_0;
S_1211_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 525: // STATE 153 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[1][153] = 1;
		if (!(((int)((P1 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 526: // STATE 156 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P1 *)_this)->i), 2) ]))))
			continue;

		reached[1][156] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1204_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P1 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_1205_0: /* 2 */
		now.gone[ Index(((P1 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[poster:i]", ((int)now.gone[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
		goto S_1209_0;
S_1209_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 527: // STATE 159 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[1][159] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1207_0: /* 2 */
		now.sink[ Index(((P1 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[poster:i]", ((int)now.sink[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
S_1208_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1212_0;
S_1212_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 528: // STATE 189 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[1][189] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1235_0: /* 2 */
S_1224_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_1235_1;
S_1233_0: /* 2 */
S_1231_0: /* 2 */
S_1230_0: /* 2 */
S_1225_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_1230_1;
S_1226_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1227_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1231_0; /* ';' */
S_1230_1: /* 3 */
S_1228_0: /* 2 */
		/* else */;
S_1229_0: /* 2 */
		goto S_1237_0;	/* 'goto' */
S_1230_2: /* 3 */
		Uerror("blocking sel in d_step (nr.545, near line 112)");
S_1232_0: /* 2 */
		goto S_1237_0;	/* 'break' */
		goto S_1236_0;
S_1235_1: /* 3 */
S_1234_0: /* 2 */
		/* else */;
		goto S_1236_0;
S_1235_2: /* 3 */
		Uerror("blocking sel in d_step (nr.546, near line 301)");
S_1236_0: /* 2 */
S_1237_0: /* 2 */
		((P1 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("poster:want", ((int)((P1 *)_this)->want));
#endif
		;
S_1238_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1351_0;
S_1351_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 529: // STATE 191 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[1][191] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 530: // STATE 192 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[1][192] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 531: // STATE 193 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[1][193] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 532: // STATE 196 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[1][196] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1244_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_1245_0: /* 2 */
		((P1 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("poster:last", ((int)((P1 *)_this)->last));
#endif
		;
		goto S_1347_0;
S_1347_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 533: // STATE 197 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[1][197] = 1;
		if (!(((int)((P1 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P1 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P1 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 534: // STATE 200 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[1][200] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1248_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_1249_0: /* 2 */
		((P1 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("poster:last", ((int)((P1 *)_this)->last));
#endif
		;
		goto S_1345_0;
S_1345_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 535: // STATE 233 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[1][233] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1281_0: /* 2 */
S_1251_0: /* 2 */
		if (!((now.state!=5)))
			goto S_1281_1;
S_1279_0: /* 2 */
S_1252_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_1253_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_1254_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_1255_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_1265_0: /* 2 */
S_1256_0: /* 2 */
		((P1 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1263_0: /* 2 */
S_1262_0: /* 2 */
S_1257_0: /* 2 */
		if (!((((int)((P1 *)_this)->i)<((int)now.tail))))
			goto S_1262_1;
S_1258_0: /* 2 */
		now.done[ Index(((P1 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[poster:i]", ((int)now.done[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
S_1259_0: /* 2 */
		((P1 *)_this)->i = (((int)((P1 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1263_0; /* ';' */
S_1262_1: /* 3 */
S_1260_0: /* 2 */
		/* else */;
S_1261_0: /* 2 */
		goto S_1275_0;	/* 'goto' */
S_1262_2: /* 3 */
		Uerror("blocking sel in d_step (nr.547, near line 120)");
S_1264_0: /* 2 */
		goto S_1275_0;	/* 'break' */
		goto S_1276_0;
S_1276_0: /* 2 */
S_1275_0: /* 2 */
S_1266_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_1275_1;
S_1270_0: /* 2 */
S_1267_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_1270_1;
S_1268_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_1271_0;
S_1270_1: /* 3 */
S_1269_0: /* 2 */
		/* else */;
		goto S_1271_0;
S_1270_2: /* 3 */
		Uerror("blocking sel in d_step (nr.548, near line 145)");
S_1271_0: /* 2 */
S_1272_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1276_0; /* ';' */
S_1275_1: /* 3 */
S_1273_0: /* 2 */
		/* else */;
S_1274_0: /* 2 */
		goto S_1278_0;	/* 'goto' */
S_1275_2: /* 3 */
		Uerror("blocking sel in d_step (nr.549, near line 143)");
S_1277_0: /* 2 */
		goto S_1278_0;	/* 'break' */
S_1278_0: /* 2 */
		((P1 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("poster:settles", ((int)((P1 *)_this)->settles));
#endif
		;
		goto S_1282_0;
S_1281_1: /* 3 */
S_1280_0: /* 2 */
		/* else */;
		goto S_1282_0;
S_1281_2: /* 3 */
		Uerror("blocking sel in d_step (nr.550, near line 240)");
S_1282_0: /* 2 */
		goto S_1344_0;
S_1344_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 536: // STATE 234 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[1][234] = 1;
		if (!(((int)((P1 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 537: // STATE 277 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[1][277] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1285_0: /* 2 */
		((P1 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1291_0: /* 2 */
S_1290_0: /* 2 */
S_1286_0: /* 2 */
		if (!(((((int)((P1 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P1 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P1 *)_this)->i), 2) ]))))))
			goto S_1290_1;
S_1287_0: /* 2 */
		((P1 *)_this)->i = (((int)((P1 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1291_0; /* ';' */
S_1290_1: /* 3 */
S_1288_0: /* 2 */
		/* else */;
S_1289_0: /* 2 */
		goto S_1325_0;	/* 'goto' */
S_1290_2: /* 3 */
		Uerror("blocking sel in d_step (nr.551, near line 174)");
S_1292_0: /* 2 */
		goto S_1325_0;	/* 'break' */
S_1325_0: /* 2 */
S_1293_0: /* 2 */
		if (!((((int)((P1 *)_this)->i)==((int)now.tail))))
			goto S_1325_1;
S_1294_0: /* 2 */
		((P1 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("poster:settles", ((int)((P1 *)_this)->settles));
#endif
		;
S_1295_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1323_0: /* 2 */
S_1321_0: /* 2 */
S_1320_0: /* 2 */
S_1296_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_1320_1;
S_1305_0: /* 2 */
S_1303_0: /* 2 */
S_1297_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_1303_1;
S_1298_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_1299_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_1300_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_1301_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_1304_0;
S_1303_1: /* 3 */
S_1302_0: /* 2 */
		/* else */;
		goto S_1304_0;
S_1303_2: /* 3 */
		Uerror("blocking sel in d_step (nr.552, near line 81)");
S_1304_0: /* 2 */
		goto S_1306_0;
S_1306_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_1307_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_1311_0: /* 2 */
S_1308_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_1311_1;
S_1309_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1312_0;
S_1311_1: /* 3 */
S_1310_0: /* 2 */
		/* else */;
		goto S_1312_0;
S_1311_2: /* 3 */
		Uerror("blocking sel in d_step (nr.553, near line 105)");
S_1312_0: /* 2 */
S_1316_0: /* 2 */
S_1313_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_1316_1;
S_1314_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1317_0;
S_1316_1: /* 3 */
S_1315_0: /* 2 */
		/* else */;
		goto S_1317_0;
S_1316_2: /* 3 */
		Uerror("blocking sel in d_step (nr.554, near line 106)");
S_1317_0: /* 2 */
		goto S_1321_0; /* '.' */
		goto S_1321_0; /* ';' */
S_1320_1: /* 3 */
S_1318_0: /* 2 */
		/* else */;
S_1319_0: /* 2 */
		goto S_1322_0;	/* 'goto' */
S_1320_2: /* 3 */
		Uerror("blocking sel in d_step (nr.555, near line 92)");
S_1322_0: /* 2 */
		goto S_1326_0;	/* 'break' */
S_1325_1: /* 3 */
S_1324_0: /* 2 */
		/* else */;
		goto S_1326_0;
S_1325_2: /* 3 */
		Uerror("blocking sel in d_step (nr.556, near line 181)");
S_1326_0: /* 2 */
		goto S_1336_0;
S_1336_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 538: // STATE 278 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[1][278] = 1;
		if (!(((int)((P1 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 539: // STATE 281 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P1 *)_this)->i), 2) ]))))
			continue;

		reached[1][281] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1329_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P1 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_1330_0: /* 2 */
		now.gone[ Index(((P1 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[poster:i]", ((int)now.gone[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
		goto S_1334_0;
S_1334_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 540: // STATE 284 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[1][284] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1332_0: /* 2 */
		now.sink[ Index(((P1 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[poster:i]", ((int)now.sink[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
S_1333_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1337_0;
S_1337_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 541: // STATE 306 - /tmp/w/models/conformance/models/close.pml:387 - [(!(0))] (528:0:1 - 1)
		IfNotBlocked
		reached[1][306] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 307, 528) */
		reached[1][307] = 1;
		(trpt+1)->bup.oval = ((int)((P1 *)_this)->whole);
		((P1 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("poster:whole", ((int)((P1 *)_this)->whole));
#endif
		;
		/* merge: goto :b55(0, 308, 528) */
		reached[1][308] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 542: // STATE 309 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[1][309] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 543: // STATE 324 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[1][324] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1360_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1368_0: /* 2 */
S_1367_0: /* 2 */
S_1361_0: /* 2 */
		if (!((((int)((P1 *)_this)->i)<(1+1))))
			goto S_1367_1;
S_1362_0: /* 2 */
		now.wire[ Index(((P1 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P1 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P1 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[poster:i]", ((int)now.wire[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
S_1363_0: /* 2 */
		now.refers[ Index(((P1 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[poster:i]", ((int)now.refers[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
S_1364_0: /* 2 */
		((P1 *)_this)->i = (((int)((P1 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1368_0; /* ';' */
S_1367_1: /* 3 */
S_1365_0: /* 2 */
		/* else */;
S_1366_0: /* 2 */
		goto S_1370_0;	/* 'goto' */
S_1367_2: /* 3 */
		Uerror("blocking sel in d_step (nr.557, near line 391)");
S_1369_0: /* 2 */
		goto S_1370_0;	/* 'break' */
S_1370_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1371_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_1372_0: /* 2 */
		((P1 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("poster:n", ((int)((P1 *)_this)->n));
#endif
		;
S_1373_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_1541_0;
S_1541_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 544: // STATE 429 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P1 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[1][429] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1395_0: /* 2 */
S_1394_0: /* 2 */
S_1375_0: /* 2 */
		if (!(((((int)((P1 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_1394_1;
S_1381_0: /* 2 */
S_1380_0: /* 2 */
S_1376_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_1380_1;
S_1377_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1381_0; /* ';' */
S_1380_1: /* 3 */
S_1378_0: /* 2 */
		/* else */;
S_1379_0: /* 2 */
		goto S_1383_0;	/* 'goto' */
S_1380_2: /* 3 */
		Uerror("blocking sel in d_step (nr.558, near line 218)");
S_1382_0: /* 2 */
		goto S_1383_0;	/* 'break' */
S_1383_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_1387_0: /* 2 */
S_1384_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_1387_1;
S_1385_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_1388_0;
S_1387_1: /* 3 */
S_1386_0: /* 2 */
		/* else */;
		goto S_1388_0;
S_1387_2: /* 3 */
		Uerror("blocking sel in d_step (nr.559, near line 223)");
S_1388_0: /* 2 */
S_1389_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_1390_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_1391_0: /* 2 */
		((P1 *)_this)->n = (((int)((P1 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("poster:n", ((int)((P1 *)_this)->n));
#endif
		;
		goto S_1395_0; /* ';' */
S_1394_1: /* 3 */
S_1392_0: /* 2 */
		/* else */;
S_1393_0: /* 2 */
		goto S_1397_0;	/* 'goto' */
S_1394_2: /* 3 */
		Uerror("blocking sel in d_step (nr.560, near line 216)");
S_1396_0: /* 2 */
		goto S_1397_0;	/* 'break' */
S_1397_0: /* 2 */
		((P1 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("poster:n", ((int)((P1 *)_this)->n));
#endif
		;
S_1398_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_1426_0: /* 2 */
S_1424_0: /* 2 */
S_1423_0: /* 2 */
S_1399_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_1423_1;
S_1408_0: /* 2 */
S_1406_0: /* 2 */
S_1400_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_1406_1;
S_1401_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_1402_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_1403_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_1404_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_1407_0;
S_1406_1: /* 3 */
S_1405_0: /* 2 */
		/* else */;
		goto S_1407_0;
S_1406_2: /* 3 */
		Uerror("blocking sel in d_step (nr.561, near line 81)");
S_1407_0: /* 2 */
		goto S_1409_0;
S_1409_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_1410_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_1414_0: /* 2 */
S_1411_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_1414_1;
S_1412_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1415_0;
S_1414_1: /* 3 */
S_1413_0: /* 2 */
		/* else */;
		goto S_1415_0;
S_1414_2: /* 3 */
		Uerror("blocking sel in d_step (nr.562, near line 105)");
S_1415_0: /* 2 */
S_1419_0: /* 2 */
S_1416_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_1419_1;
S_1417_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1420_0;
S_1419_1: /* 3 */
S_1418_0: /* 2 */
		/* else */;
		goto S_1420_0;
S_1419_2: /* 3 */
		Uerror("blocking sel in d_step (nr.563, near line 106)");
S_1420_0: /* 2 */
		goto S_1424_0; /* '.' */
		goto S_1424_0; /* ';' */
S_1423_1: /* 3 */
S_1421_0: /* 2 */
		/* else */;
S_1422_0: /* 2 */
		goto S_1478_0;	/* 'goto' */
S_1423_2: /* 3 */
		Uerror("blocking sel in d_step (nr.564, near line 92)");
S_1425_0: /* 2 */
		goto S_1478_0;	/* 'break' */
		goto S_1478_0;
S_1478_0: /* 2 */
S_1438_0: /* 2 */
S_1427_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_1438_1;
S_1436_0: /* 2 */
S_1434_0: /* 2 */
S_1433_0: /* 2 */
S_1428_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_1433_1;
S_1429_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1430_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1434_0; /* ';' */
S_1433_1: /* 3 */
S_1431_0: /* 2 */
		/* else */;
S_1432_0: /* 2 */
		goto S_1476_0;	/* 'goto' */
S_1433_2: /* 3 */
		Uerror("blocking sel in d_step (nr.565, near line 112)");
S_1435_0: /* 2 */
		goto S_1476_0;	/* 'break' */
		goto S_1439_0;
S_1438_1: /* 3 */
S_1437_0: /* 2 */
		/* else */;
		goto S_1439_0;
S_1438_2: /* 3 */
		Uerror("blocking sel in d_step (nr.566, near line 153)");
S_1439_0: /* 2 */
S_1476_0: /* 2 */
S_1440_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_1476_1;
S_1473_0: /* 2 */
S_1441_0: /* 2 */
		if (!((now.state==8)))
			goto S_1473_1;
S_1469_0: /* 2 */
S_1442_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_1443_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_1444_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_1445_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_1455_0: /* 2 */
S_1446_0: /* 2 */
		((P1 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1453_0: /* 2 */
S_1452_0: /* 2 */
S_1447_0: /* 2 */
		if (!((((int)((P1 *)_this)->i)<((int)now.tail))))
			goto S_1452_1;
S_1448_0: /* 2 */
		now.done[ Index(((P1 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[poster:i]", ((int)now.done[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
S_1449_0: /* 2 */
		((P1 *)_this)->i = (((int)((P1 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1453_0; /* ';' */
S_1452_1: /* 3 */
S_1450_0: /* 2 */
		/* else */;
S_1451_0: /* 2 */
		goto S_1465_0;	/* 'goto' */
S_1452_2: /* 3 */
		Uerror("blocking sel in d_step (nr.567, near line 120)");
S_1454_0: /* 2 */
		goto S_1465_0;	/* 'break' */
		goto S_1466_0;
S_1466_0: /* 2 */
S_1465_0: /* 2 */
S_1456_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_1465_1;
S_1460_0: /* 2 */
S_1457_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_1460_1;
S_1458_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_1461_0;
S_1460_1: /* 3 */
S_1459_0: /* 2 */
		/* else */;
		goto S_1461_0;
S_1460_2: /* 3 */
		Uerror("blocking sel in d_step (nr.568, near line 145)");
S_1461_0: /* 2 */
S_1462_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1466_0; /* ';' */
S_1465_1: /* 3 */
S_1463_0: /* 2 */
		/* else */;
S_1464_0: /* 2 */
		goto S_1468_0;	/* 'goto' */
S_1465_2: /* 3 */
		Uerror("blocking sel in d_step (nr.569, near line 143)");
S_1467_0: /* 2 */
		goto S_1468_0;	/* 'break' */
S_1468_0: /* 2 */
		((P1 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("poster:settles", ((int)((P1 *)_this)->settles));
#endif
		;
		goto S_1474_0;
S_1473_1: /* 3 */
S_1470_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_1473_2;
S_1471_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_1474_0;
S_1473_2: /* 3 */
S_1472_0: /* 2 */
		/* else */;
		goto S_1474_0;
S_1473_3: /* 3 */
		Uerror("blocking sel in d_step (nr.570, near line 159)");
S_1474_0: /* 2 */
		goto S_1477_0;
S_1476_1: /* 3 */
S_1475_0: /* 2 */
		/* else */;
		goto S_1477_0;
S_1476_2: /* 3 */
		Uerror("blocking sel in d_step (nr.571, near line 157)");
S_1477_0: /* 2 */
		goto S_1540_0;
S_1540_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 545: // STATE 430 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[1][430] = 1;
		if (!(((int)((P1 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 546: // STATE 473 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[1][473] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1481_0: /* 2 */
		((P1 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1487_0: /* 2 */
S_1486_0: /* 2 */
S_1482_0: /* 2 */
		if (!(((((int)((P1 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P1 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P1 *)_this)->i), 2) ]))))))
			goto S_1486_1;
S_1483_0: /* 2 */
		((P1 *)_this)->i = (((int)((P1 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1487_0; /* ';' */
S_1486_1: /* 3 */
S_1484_0: /* 2 */
		/* else */;
S_1485_0: /* 2 */
		goto S_1521_0;	/* 'goto' */
S_1486_2: /* 3 */
		Uerror("blocking sel in d_step (nr.572, near line 174)");
S_1488_0: /* 2 */
		goto S_1521_0;	/* 'break' */
S_1521_0: /* 2 */
S_1489_0: /* 2 */
		if (!((((int)((P1 *)_this)->i)==((int)now.tail))))
			goto S_1521_1;
S_1490_0: /* 2 */
		((P1 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("poster:settles", ((int)((P1 *)_this)->settles));
#endif
		;
S_1491_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1519_0: /* 2 */
S_1517_0: /* 2 */
S_1516_0: /* 2 */
S_1492_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_1516_1;
S_1501_0: /* 2 */
S_1499_0: /* 2 */
S_1493_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_1499_1;
S_1494_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_1495_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_1496_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_1497_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_1500_0;
S_1499_1: /* 3 */
S_1498_0: /* 2 */
		/* else */;
		goto S_1500_0;
S_1499_2: /* 3 */
		Uerror("blocking sel in d_step (nr.573, near line 81)");
S_1500_0: /* 2 */
		goto S_1502_0;
S_1502_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_1503_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_1507_0: /* 2 */
S_1504_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_1507_1;
S_1505_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_1508_0;
S_1507_1: /* 3 */
S_1506_0: /* 2 */
		/* else */;
		goto S_1508_0;
S_1507_2: /* 3 */
		Uerror("blocking sel in d_step (nr.574, near line 105)");
S_1508_0: /* 2 */
S_1512_0: /* 2 */
S_1509_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_1512_1;
S_1510_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1513_0;
S_1512_1: /* 3 */
S_1511_0: /* 2 */
		/* else */;
		goto S_1513_0;
S_1512_2: /* 3 */
		Uerror("blocking sel in d_step (nr.575, near line 106)");
S_1513_0: /* 2 */
		goto S_1517_0; /* '.' */
		goto S_1517_0; /* ';' */
S_1516_1: /* 3 */
S_1514_0: /* 2 */
		/* else */;
S_1515_0: /* 2 */
		goto S_1518_0;	/* 'goto' */
S_1516_2: /* 3 */
		Uerror("blocking sel in d_step (nr.576, near line 92)");
S_1518_0: /* 2 */
		goto S_1522_0;	/* 'break' */
S_1521_1: /* 3 */
S_1520_0: /* 2 */
		/* else */;
		goto S_1522_0;
S_1521_2: /* 3 */
		Uerror("blocking sel in d_step (nr.577, near line 181)");
S_1522_0: /* 2 */
		goto S_1532_0;
S_1532_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 547: // STATE 474 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[1][474] = 1;
		if (!(((int)((P1 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 548: // STATE 477 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P1 *)_this)->i), 2) ]))))
			continue;

		reached[1][477] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1525_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P1 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_1526_0: /* 2 */
		now.gone[ Index(((P1 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[poster:i]", ((int)now.gone[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
		goto S_1530_0;
S_1530_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 549: // STATE 480 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[1][480] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1528_0: /* 2 */
		now.sink[ Index(((P1 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[poster:i]", ((int)now.sink[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
S_1529_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1533_0;
S_1533_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 550: // STATE 492 - /tmp/w/models/conformance/models/close.pml:400 - [(!(0))] (528:0:1 - 1)
		IfNotBlocked
		reached[1][492] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 493, 528) */
		reached[1][493] = 1;
		(trpt+1)->bup.oval = ((int)((P1 *)_this)->whole);
		((P1 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("poster:whole", ((int)((P1 *)_this)->whole));
#endif
		;
		/* merge: goto :b55(0, 494, 528) */
		reached[1][494] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 551: // STATE 498 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[1][498] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 552: // STATE 510 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[1][510] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1549_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_1550_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
S_1557_0: /* 2 */
S_1556_0: /* 2 */
S_1551_0: /* 2 */
		if (!((((int)((P1 *)_this)->i)<(1+1))))
			goto S_1556_1;
S_1552_0: /* 2 */
		now.refers[ Index(((P1 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[poster:i]", ((int)now.refers[ Index(((int)((P1 *)_this)->i), 2) ]));
#endif
		;
S_1553_0: /* 2 */
		((P1 *)_this)->i = (((int)((P1 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1557_0; /* ';' */
S_1556_1: /* 3 */
S_1554_0: /* 2 */
		/* else */;
S_1555_0: /* 2 */
		goto S_1558_0;	/* 'goto' */
S_1556_2: /* 3 */
		Uerror("blocking sel in d_step (nr.578, near line 330)");
S_1558_0: /* 2 */
		goto S_1559_0;	/* 'break' */
S_1559_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1570_0;
S_1570_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 553: // STATE 514 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[1][514] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1562_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_1563_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_1568_0;
S_1568_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 554: // STATE 515 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[1][515] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 555: // STATE 516 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[1][516] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 556: // STATE 530 - /tmp/w/models/conformance/models/close.pml:416 - [(whole)] (0:0:1 - 1)
		IfNotBlocked
		reached[1][530] = 1;
		if (!(((int)((P1 *)_this)->whole)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: whole */  (trpt+1)->bup.oval = ((P1 *)_this)->whole;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P1 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 557: // STATE 533 - /tmp/w/models/conformance/models/close.pml:417 - [D_STEP417]
		IfNotBlocked

		reached[1][533] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1581_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_1582_0: /* 2 */
		((P1 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("poster:whole", ((int)((P1 *)_this)->whole));
#endif
		;
		goto S_1600_0;
S_1600_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 558: // STATE 549 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[1][549] = 1;
		reached[1][t->st] = 1;
		reached[1][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1595_0: /* 2 */
S_1584_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_1595_1;
S_1593_0: /* 2 */
S_1591_0: /* 2 */
S_1590_0: /* 2 */
S_1585_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_1590_1;
S_1586_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1587_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1591_0; /* ';' */
S_1590_1: /* 3 */
S_1588_0: /* 2 */
		/* else */;
S_1589_0: /* 2 */
		goto S_1597_0;	/* 'goto' */
S_1590_2: /* 3 */
		Uerror("blocking sel in d_step (nr.579, near line 112)");
S_1592_0: /* 2 */
		goto S_1597_0;	/* 'break' */
		goto S_1596_0;
S_1595_1: /* 3 */
S_1594_0: /* 2 */
		/* else */;
		goto S_1596_0;
S_1595_2: /* 3 */
		Uerror("blocking sel in d_step (nr.580, near line 301)");
S_1596_0: /* 2 */
S_1597_0: /* 2 */
		((P1 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("poster:want", ((int)((P1 *)_this)->want));
#endif
		;
S_1598_0: /* 2 */
		((P1 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("poster:i", ((int)((P1 *)_this)->i));
#endif
		;
		goto S_1606_0;
S_1606_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 559: // STATE 552 - /tmp/w/models/conformance/models/close.pml:423 - [want = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[1][552] = 1;
		(trpt+1)->bup.oval = ((int)((P1 *)_this)->want);
		((P1 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("poster:want", ((int)((P1 *)_this)->want));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 560: // STATE 553 - /tmp/w/models/conformance/models/close.pml:423 - [(run finisher())] (0:0:0 - 1)
		IfNotBlocked
		reached[1][553] = 1;
		if (!(addproc(II, 1, 0, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 561: // STATE 557 - /tmp/w/models/conformance/models/close.pml:425 - [((want&&token))] (567:0:2 - 1)
		IfNotBlocked
		reached[1][557] = 1;
		if (!((((int)((P1 *)_this)->want)&&((int)now.token))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P1 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P1 *)_this)->want = 0;
		/* merge: want = 0(0, 558, 567) */
		reached[1][558] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P1 *)_this)->want);
		((P1 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("poster:want", ((int)((P1 *)_this)->want));
#endif
		;
		/* merge: goto :b54(0, 560, 567) */
		reached[1][560] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 562: // STATE 561 - /tmp/w/models/conformance/models/close.pml:426 - [(!(want))] (0:0:1 - 1)
		IfNotBlocked
		reached[1][561] = 1;
		if (!( !(((int)((P1 *)_this)->want))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.oval = ((P1 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P1 *)_this)->want = 0;
		_m = 3; goto P999; /* 0 */
	case 563: // STATE 567 - /tmp/w/models/conformance/models/close.pml:482 - [-end-] (0:0:0 - 7)
		IfNotBlocked
		reached[1][567] = 1;
		if (!delproc(1, II)) continue;
		_m = 3; goto P999; /* 0 */

		 /* PROC finisher */
	case 564: // STATE 1 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:2 - 1)
		IfNotBlocked
		reached[0][1] = 1;
		(trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((int)((P0 *)_this)->whole);
		((P0 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("finisher:whole", ((int)((P0 *)_this)->whole));
#endif
		;
		if (TstOnly) return 1; /* TT */
		/* dead 2: whole */  
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P0 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 565: // STATE 2 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][2] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 566: // STATE 35 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[0][35] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_032_0: /* 2 */
S_031_0: /* 2 */
S_002_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_031_1;
S_003_0: /* 2 */
		goto S_033_0;	/* 'goto' */
S_031_1: /* 3 */
S_004_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_031_2;
S_005_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_006_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_007_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_032_0; /* ';' */
S_031_2: /* 3 */
S_008_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_031_3;
S_017_0: /* 2 */
S_015_0: /* 2 */
S_014_0: /* 2 */
S_009_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_014_1;
S_010_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_011_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_015_0; /* ';' */
S_014_1: /* 3 */
S_012_0: /* 2 */
		/* else */;
S_013_0: /* 2 */
		goto S_027_0;	/* 'goto' */
S_014_2: /* 3 */
		Uerror("blocking sel in d_step (nr.581, near line 112)");
S_016_0: /* 2 */
		goto S_027_0;	/* 'break' */
		goto S_027_0;
S_027_0: /* 2 */
S_018_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_027_1;
S_019_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_020_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_021_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_022_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_023_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_024_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_028_0;
S_027_1: /* 3 */
S_025_0: /* 2 */
		/* else */;
S_026_0: /* 2 */
		goto S_033_0;	/* 'goto' */
		goto S_028_0;
S_027_2: /* 3 */
		Uerror("blocking sel in d_step (nr.582, near line 317)");
S_028_0: /* 2 */
		goto S_032_0; /* '.' */
		goto S_032_0; /* ';' */
S_031_3: /* 3 */
S_029_0: /* 2 */
		/* else */;
S_030_0: /* 2 */
		goto S_033_0;	/* 'goto' */
		goto S_032_0; /* ';' */
S_031_4: /* 3 */
		Uerror("blocking sel in d_step (nr.583, near line 312)");
S_033_0: /* 2 */
		goto S_488_0;	/* 'break' */
S_038_0: /* 1 */
S_488_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 567: // STATE 40 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][40] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 568: // STATE 41 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][41] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 569: // STATE 74 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[0][74] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_071_0: /* 2 */
S_041_0: /* 2 */
		if (!((now.state!=5)))
			goto S_071_1;
S_069_0: /* 2 */
S_042_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_043_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_044_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_045_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_055_0: /* 2 */
S_046_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_053_0: /* 2 */
S_052_0: /* 2 */
S_047_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)<((int)now.tail))))
			goto S_052_1;
S_048_0: /* 2 */
		now.done[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[finisher:i]", ((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_049_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_053_0; /* ';' */
S_052_1: /* 3 */
S_050_0: /* 2 */
		/* else */;
S_051_0: /* 2 */
		goto S_065_0;	/* 'goto' */
S_052_2: /* 3 */
		Uerror("blocking sel in d_step (nr.584, near line 120)");
S_054_0: /* 2 */
		goto S_065_0;	/* 'break' */
		goto S_066_0;
S_066_0: /* 2 */
S_065_0: /* 2 */
S_056_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_065_1;
S_060_0: /* 2 */
S_057_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_060_1;
S_058_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_061_0;
S_060_1: /* 3 */
S_059_0: /* 2 */
		/* else */;
		goto S_061_0;
S_060_2: /* 3 */
		Uerror("blocking sel in d_step (nr.585, near line 145)");
S_061_0: /* 2 */
S_062_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_066_0; /* ';' */
S_065_1: /* 3 */
S_063_0: /* 2 */
		/* else */;
S_064_0: /* 2 */
		goto S_068_0;	/* 'goto' */
S_065_2: /* 3 */
		Uerror("blocking sel in d_step (nr.586, near line 143)");
S_067_0: /* 2 */
		goto S_068_0;	/* 'break' */
S_068_0: /* 2 */
		((P0 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
		goto S_072_0;
S_071_1: /* 3 */
S_070_0: /* 2 */
		/* else */;
		goto S_072_0;
S_071_2: /* 3 */
		Uerror("blocking sel in d_step (nr.587, near line 240)");
S_072_0: /* 2 */
		goto S_134_0;
S_134_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 570: // STATE 75 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][75] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 571: // STATE 118 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[0][118] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_075_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_081_0: /* 2 */
S_080_0: /* 2 */
S_076_0: /* 2 */
		if (!(((((int)((P0 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]))))))
			goto S_080_1;
S_077_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_081_0; /* ';' */
S_080_1: /* 3 */
S_078_0: /* 2 */
		/* else */;
S_079_0: /* 2 */
		goto S_115_0;	/* 'goto' */
S_080_2: /* 3 */
		Uerror("blocking sel in d_step (nr.588, near line 174)");
S_082_0: /* 2 */
		goto S_115_0;	/* 'break' */
S_115_0: /* 2 */
S_083_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)==((int)now.tail))))
			goto S_115_1;
S_084_0: /* 2 */
		((P0 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
S_085_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_113_0: /* 2 */
S_111_0: /* 2 */
S_110_0: /* 2 */
S_086_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_110_1;
S_095_0: /* 2 */
S_093_0: /* 2 */
S_087_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_093_1;
S_088_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_089_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_090_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_091_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_094_0;
S_093_1: /* 3 */
S_092_0: /* 2 */
		/* else */;
		goto S_094_0;
S_093_2: /* 3 */
		Uerror("blocking sel in d_step (nr.589, near line 81)");
S_094_0: /* 2 */
		goto S_096_0;
S_096_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_097_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_101_0: /* 2 */
S_098_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_101_1;
S_099_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_102_0;
S_101_1: /* 3 */
S_100_0: /* 2 */
		/* else */;
		goto S_102_0;
S_101_2: /* 3 */
		Uerror("blocking sel in d_step (nr.590, near line 105)");
S_102_0: /* 2 */
S_106_0: /* 2 */
S_103_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_106_1;
S_104_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_107_0;
S_106_1: /* 3 */
S_105_0: /* 2 */
		/* else */;
		goto S_107_0;
S_106_2: /* 3 */
		Uerror("blocking sel in d_step (nr.591, near line 106)");
S_107_0: /* 2 */
		goto S_111_0; /* '.' */
		goto S_111_0; /* ';' */
S_110_1: /* 3 */
S_108_0: /* 2 */
		/* else */;
S_109_0: /* 2 */
		goto S_112_0;	/* 'goto' */
S_110_2: /* 3 */
		Uerror("blocking sel in d_step (nr.592, near line 92)");
S_112_0: /* 2 */
		goto S_116_0;	/* 'break' */
S_115_1: /* 3 */
S_114_0: /* 2 */
		/* else */;
		goto S_116_0;
S_115_2: /* 3 */
		Uerror("blocking sel in d_step (nr.593, near line 181)");
S_116_0: /* 2 */
		goto S_126_0;
S_126_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 572: // STATE 119 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][119] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 573: // STATE 122 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			continue;

		reached[0][122] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_119_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_120_0: /* 2 */
		now.gone[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[finisher:i]", ((int)now.gone[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
		goto S_124_0;
S_124_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 574: // STATE 125 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[0][125] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_122_0: /* 2 */
		now.sink[ Index(((P0 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[finisher:i]", ((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_123_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_127_0;
S_127_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 575: // STATE 155 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[0][155] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_150_0: /* 2 */
S_139_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_150_1;
S_148_0: /* 2 */
S_146_0: /* 2 */
S_145_0: /* 2 */
S_140_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_145_1;
S_141_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_142_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_146_0; /* ';' */
S_145_1: /* 3 */
S_143_0: /* 2 */
		/* else */;
S_144_0: /* 2 */
		goto S_152_0;	/* 'goto' */
S_145_2: /* 3 */
		Uerror("blocking sel in d_step (nr.594, near line 112)");
S_147_0: /* 2 */
		goto S_152_0;	/* 'break' */
		goto S_151_0;
S_150_1: /* 3 */
S_149_0: /* 2 */
		/* else */;
		goto S_151_0;
S_150_2: /* 3 */
		Uerror("blocking sel in d_step (nr.595, near line 301)");
S_151_0: /* 2 */
S_152_0: /* 2 */
		((P0 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("finisher:want", ((int)((P0 *)_this)->want));
#endif
		;
S_153_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_266_0;
S_266_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 576: // STATE 157 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][157] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 577: // STATE 158 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][158] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 578: // STATE 159 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][159] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 579: // STATE 162 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[0][162] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_159_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_160_0: /* 2 */
		((P0 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("finisher:last", ((int)((P0 *)_this)->last));
#endif
		;
		goto S_262_0;
S_262_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 580: // STATE 163 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[0][163] = 1;
		if (!(((int)((P0 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P0 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P0 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 581: // STATE 166 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[0][166] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_163_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_164_0: /* 2 */
		((P0 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("finisher:last", ((int)((P0 *)_this)->last));
#endif
		;
		goto S_260_0;
S_260_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 582: // STATE 199 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[0][199] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_196_0: /* 2 */
S_166_0: /* 2 */
		if (!((now.state!=5)))
			goto S_196_1;
S_194_0: /* 2 */
S_167_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_168_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_169_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_170_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_180_0: /* 2 */
S_171_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_178_0: /* 2 */
S_177_0: /* 2 */
S_172_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)<((int)now.tail))))
			goto S_177_1;
S_173_0: /* 2 */
		now.done[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[finisher:i]", ((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_174_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_178_0; /* ';' */
S_177_1: /* 3 */
S_175_0: /* 2 */
		/* else */;
S_176_0: /* 2 */
		goto S_190_0;	/* 'goto' */
S_177_2: /* 3 */
		Uerror("blocking sel in d_step (nr.596, near line 120)");
S_179_0: /* 2 */
		goto S_190_0;	/* 'break' */
		goto S_191_0;
S_191_0: /* 2 */
S_190_0: /* 2 */
S_181_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_190_1;
S_185_0: /* 2 */
S_182_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_185_1;
S_183_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_186_0;
S_185_1: /* 3 */
S_184_0: /* 2 */
		/* else */;
		goto S_186_0;
S_185_2: /* 3 */
		Uerror("blocking sel in d_step (nr.597, near line 145)");
S_186_0: /* 2 */
S_187_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_191_0; /* ';' */
S_190_1: /* 3 */
S_188_0: /* 2 */
		/* else */;
S_189_0: /* 2 */
		goto S_193_0;	/* 'goto' */
S_190_2: /* 3 */
		Uerror("blocking sel in d_step (nr.598, near line 143)");
S_192_0: /* 2 */
		goto S_193_0;	/* 'break' */
S_193_0: /* 2 */
		((P0 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
		goto S_197_0;
S_196_1: /* 3 */
S_195_0: /* 2 */
		/* else */;
		goto S_197_0;
S_196_2: /* 3 */
		Uerror("blocking sel in d_step (nr.599, near line 240)");
S_197_0: /* 2 */
		goto S_259_0;
S_259_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 583: // STATE 200 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][200] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 584: // STATE 243 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[0][243] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_200_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_206_0: /* 2 */
S_205_0: /* 2 */
S_201_0: /* 2 */
		if (!(((((int)((P0 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]))))))
			goto S_205_1;
S_202_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_206_0; /* ';' */
S_205_1: /* 3 */
S_203_0: /* 2 */
		/* else */;
S_204_0: /* 2 */
		goto S_240_0;	/* 'goto' */
S_205_2: /* 3 */
		Uerror("blocking sel in d_step (nr.600, near line 174)");
S_207_0: /* 2 */
		goto S_240_0;	/* 'break' */
S_240_0: /* 2 */
S_208_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)==((int)now.tail))))
			goto S_240_1;
S_209_0: /* 2 */
		((P0 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
S_210_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_238_0: /* 2 */
S_236_0: /* 2 */
S_235_0: /* 2 */
S_211_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_235_1;
S_220_0: /* 2 */
S_218_0: /* 2 */
S_212_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_218_1;
S_213_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_214_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_215_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_216_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_219_0;
S_218_1: /* 3 */
S_217_0: /* 2 */
		/* else */;
		goto S_219_0;
S_218_2: /* 3 */
		Uerror("blocking sel in d_step (nr.601, near line 81)");
S_219_0: /* 2 */
		goto S_221_0;
S_221_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_222_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_226_0: /* 2 */
S_223_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_226_1;
S_224_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_227_0;
S_226_1: /* 3 */
S_225_0: /* 2 */
		/* else */;
		goto S_227_0;
S_226_2: /* 3 */
		Uerror("blocking sel in d_step (nr.602, near line 105)");
S_227_0: /* 2 */
S_231_0: /* 2 */
S_228_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_231_1;
S_229_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_232_0;
S_231_1: /* 3 */
S_230_0: /* 2 */
		/* else */;
		goto S_232_0;
S_231_2: /* 3 */
		Uerror("blocking sel in d_step (nr.603, near line 106)");
S_232_0: /* 2 */
		goto S_236_0; /* '.' */
		goto S_236_0; /* ';' */
S_235_1: /* 3 */
S_233_0: /* 2 */
		/* else */;
S_234_0: /* 2 */
		goto S_237_0;	/* 'goto' */
S_235_2: /* 3 */
		Uerror("blocking sel in d_step (nr.604, near line 92)");
S_237_0: /* 2 */
		goto S_241_0;	/* 'break' */
S_240_1: /* 3 */
S_239_0: /* 2 */
		/* else */;
		goto S_241_0;
S_240_2: /* 3 */
		Uerror("blocking sel in d_step (nr.605, near line 181)");
S_241_0: /* 2 */
		goto S_251_0;
S_251_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 585: // STATE 244 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][244] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 586: // STATE 247 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			continue;

		reached[0][247] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_244_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_245_0: /* 2 */
		now.gone[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[finisher:i]", ((int)now.gone[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
		goto S_249_0;
S_249_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 587: // STATE 250 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[0][250] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_247_0: /* 2 */
		now.sink[ Index(((P0 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[finisher:i]", ((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_248_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_252_0;
S_252_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 588: // STATE 272 - /tmp/w/models/conformance/models/close.pml:387 - [(!(1))] (494:0:1 - 1)
		IfNotBlocked
		reached[0][272] = 1;
		if (!( !(1)))
			continue;
		/* merge: whole = 0(0, 273, 494) */
		reached[0][273] = 1;
		(trpt+1)->bup.oval = ((int)((P0 *)_this)->whole);
		((P0 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("finisher:whole", ((int)((P0 *)_this)->whole));
#endif
		;
		/* merge: goto :b0(0, 274, 494) */
		reached[0][274] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 589: // STATE 275 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][275] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 590: // STATE 290 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[0][290] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_275_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_283_0: /* 2 */
S_282_0: /* 2 */
S_276_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)<(1+1))))
			goto S_282_1;
S_277_0: /* 2 */
		now.wire[ Index(((P0 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P0 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P0 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[finisher:i]", ((int)now.wire[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_278_0: /* 2 */
		now.refers[ Index(((P0 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[finisher:i]", ((int)now.refers[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_279_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_283_0; /* ';' */
S_282_1: /* 3 */
S_280_0: /* 2 */
		/* else */;
S_281_0: /* 2 */
		goto S_285_0;	/* 'goto' */
S_282_2: /* 3 */
		Uerror("blocking sel in d_step (nr.606, near line 391)");
S_284_0: /* 2 */
		goto S_285_0;	/* 'break' */
S_285_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_286_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_287_0: /* 2 */
		((P0 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("finisher:n", ((int)((P0 *)_this)->n));
#endif
		;
S_288_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_456_0;
S_456_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 591: // STATE 395 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P0 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[0][395] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_310_0: /* 2 */
S_309_0: /* 2 */
S_290_0: /* 2 */
		if (!(((((int)((P0 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_309_1;
S_296_0: /* 2 */
S_295_0: /* 2 */
S_291_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_295_1;
S_292_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_296_0; /* ';' */
S_295_1: /* 3 */
S_293_0: /* 2 */
		/* else */;
S_294_0: /* 2 */
		goto S_298_0;	/* 'goto' */
S_295_2: /* 3 */
		Uerror("blocking sel in d_step (nr.607, near line 218)");
S_297_0: /* 2 */
		goto S_298_0;	/* 'break' */
S_298_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_302_0: /* 2 */
S_299_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_302_1;
S_300_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_303_0;
S_302_1: /* 3 */
S_301_0: /* 2 */
		/* else */;
		goto S_303_0;
S_302_2: /* 3 */
		Uerror("blocking sel in d_step (nr.608, near line 223)");
S_303_0: /* 2 */
S_304_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_305_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_306_0: /* 2 */
		((P0 *)_this)->n = (((int)((P0 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("finisher:n", ((int)((P0 *)_this)->n));
#endif
		;
		goto S_310_0; /* ';' */
S_309_1: /* 3 */
S_307_0: /* 2 */
		/* else */;
S_308_0: /* 2 */
		goto S_312_0;	/* 'goto' */
S_309_2: /* 3 */
		Uerror("blocking sel in d_step (nr.609, near line 216)");
S_311_0: /* 2 */
		goto S_312_0;	/* 'break' */
S_312_0: /* 2 */
		((P0 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("finisher:n", ((int)((P0 *)_this)->n));
#endif
		;
S_313_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_341_0: /* 2 */
S_339_0: /* 2 */
S_338_0: /* 2 */
S_314_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_338_1;
S_323_0: /* 2 */
S_321_0: /* 2 */
S_315_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_321_1;
S_316_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_317_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_318_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_319_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_322_0;
S_321_1: /* 3 */
S_320_0: /* 2 */
		/* else */;
		goto S_322_0;
S_321_2: /* 3 */
		Uerror("blocking sel in d_step (nr.610, near line 81)");
S_322_0: /* 2 */
		goto S_324_0;
S_324_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_325_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_329_0: /* 2 */
S_326_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_329_1;
S_327_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_330_0;
S_329_1: /* 3 */
S_328_0: /* 2 */
		/* else */;
		goto S_330_0;
S_329_2: /* 3 */
		Uerror("blocking sel in d_step (nr.611, near line 105)");
S_330_0: /* 2 */
S_334_0: /* 2 */
S_331_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_334_1;
S_332_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_335_0;
S_334_1: /* 3 */
S_333_0: /* 2 */
		/* else */;
		goto S_335_0;
S_334_2: /* 3 */
		Uerror("blocking sel in d_step (nr.612, near line 106)");
S_335_0: /* 2 */
		goto S_339_0; /* '.' */
		goto S_339_0; /* ';' */
S_338_1: /* 3 */
S_336_0: /* 2 */
		/* else */;
S_337_0: /* 2 */
		goto S_393_0;	/* 'goto' */
S_338_2: /* 3 */
		Uerror("blocking sel in d_step (nr.613, near line 92)");
S_340_0: /* 2 */
		goto S_393_0;	/* 'break' */
		goto S_393_0;
S_393_0: /* 2 */
S_353_0: /* 2 */
S_342_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_353_1;
S_351_0: /* 2 */
S_349_0: /* 2 */
S_348_0: /* 2 */
S_343_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_348_1;
S_344_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_345_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_349_0; /* ';' */
S_348_1: /* 3 */
S_346_0: /* 2 */
		/* else */;
S_347_0: /* 2 */
		goto S_391_0;	/* 'goto' */
S_348_2: /* 3 */
		Uerror("blocking sel in d_step (nr.614, near line 112)");
S_350_0: /* 2 */
		goto S_391_0;	/* 'break' */
		goto S_354_0;
S_353_1: /* 3 */
S_352_0: /* 2 */
		/* else */;
		goto S_354_0;
S_353_2: /* 3 */
		Uerror("blocking sel in d_step (nr.615, near line 153)");
S_354_0: /* 2 */
S_391_0: /* 2 */
S_355_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_391_1;
S_388_0: /* 2 */
S_356_0: /* 2 */
		if (!((now.state==8)))
			goto S_388_1;
S_384_0: /* 2 */
S_357_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_358_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_359_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_360_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_370_0: /* 2 */
S_361_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_368_0: /* 2 */
S_367_0: /* 2 */
S_362_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)<((int)now.tail))))
			goto S_367_1;
S_363_0: /* 2 */
		now.done[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[finisher:i]", ((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_364_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_368_0; /* ';' */
S_367_1: /* 3 */
S_365_0: /* 2 */
		/* else */;
S_366_0: /* 2 */
		goto S_380_0;	/* 'goto' */
S_367_2: /* 3 */
		Uerror("blocking sel in d_step (nr.616, near line 120)");
S_369_0: /* 2 */
		goto S_380_0;	/* 'break' */
		goto S_381_0;
S_381_0: /* 2 */
S_380_0: /* 2 */
S_371_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_380_1;
S_375_0: /* 2 */
S_372_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_375_1;
S_373_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_376_0;
S_375_1: /* 3 */
S_374_0: /* 2 */
		/* else */;
		goto S_376_0;
S_375_2: /* 3 */
		Uerror("blocking sel in d_step (nr.617, near line 145)");
S_376_0: /* 2 */
S_377_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_381_0; /* ';' */
S_380_1: /* 3 */
S_378_0: /* 2 */
		/* else */;
S_379_0: /* 2 */
		goto S_383_0;	/* 'goto' */
S_380_2: /* 3 */
		Uerror("blocking sel in d_step (nr.618, near line 143)");
S_382_0: /* 2 */
		goto S_383_0;	/* 'break' */
S_383_0: /* 2 */
		((P0 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
		goto S_389_0;
S_388_1: /* 3 */
S_385_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_388_2;
S_386_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_389_0;
S_388_2: /* 3 */
S_387_0: /* 2 */
		/* else */;
		goto S_389_0;
S_388_3: /* 3 */
		Uerror("blocking sel in d_step (nr.619, near line 159)");
S_389_0: /* 2 */
		goto S_392_0;
S_391_1: /* 3 */
S_390_0: /* 2 */
		/* else */;
		goto S_392_0;
S_391_2: /* 3 */
		Uerror("blocking sel in d_step (nr.620, near line 157)");
S_392_0: /* 2 */
		goto S_455_0;
S_455_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 592: // STATE 396 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][396] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 593: // STATE 439 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[0][439] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_396_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_402_0: /* 2 */
S_401_0: /* 2 */
S_397_0: /* 2 */
		if (!(((((int)((P0 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]))))))
			goto S_401_1;
S_398_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_402_0; /* ';' */
S_401_1: /* 3 */
S_399_0: /* 2 */
		/* else */;
S_400_0: /* 2 */
		goto S_436_0;	/* 'goto' */
S_401_2: /* 3 */
		Uerror("blocking sel in d_step (nr.621, near line 174)");
S_403_0: /* 2 */
		goto S_436_0;	/* 'break' */
S_436_0: /* 2 */
S_404_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)==((int)now.tail))))
			goto S_436_1;
S_405_0: /* 2 */
		((P0 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
S_406_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_434_0: /* 2 */
S_432_0: /* 2 */
S_431_0: /* 2 */
S_407_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_431_1;
S_416_0: /* 2 */
S_414_0: /* 2 */
S_408_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_414_1;
S_409_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_410_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_411_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_412_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_415_0;
S_414_1: /* 3 */
S_413_0: /* 2 */
		/* else */;
		goto S_415_0;
S_414_2: /* 3 */
		Uerror("blocking sel in d_step (nr.622, near line 81)");
S_415_0: /* 2 */
		goto S_417_0;
S_417_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_418_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_422_0: /* 2 */
S_419_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_422_1;
S_420_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_423_0;
S_422_1: /* 3 */
S_421_0: /* 2 */
		/* else */;
		goto S_423_0;
S_422_2: /* 3 */
		Uerror("blocking sel in d_step (nr.623, near line 105)");
S_423_0: /* 2 */
S_427_0: /* 2 */
S_424_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_427_1;
S_425_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_428_0;
S_427_1: /* 3 */
S_426_0: /* 2 */
		/* else */;
		goto S_428_0;
S_427_2: /* 3 */
		Uerror("blocking sel in d_step (nr.624, near line 106)");
S_428_0: /* 2 */
		goto S_432_0; /* '.' */
		goto S_432_0; /* ';' */
S_431_1: /* 3 */
S_429_0: /* 2 */
		/* else */;
S_430_0: /* 2 */
		goto S_433_0;	/* 'goto' */
S_431_2: /* 3 */
		Uerror("blocking sel in d_step (nr.625, near line 92)");
S_433_0: /* 2 */
		goto S_437_0;	/* 'break' */
S_436_1: /* 3 */
S_435_0: /* 2 */
		/* else */;
		goto S_437_0;
S_436_2: /* 3 */
		Uerror("blocking sel in d_step (nr.626, near line 181)");
S_437_0: /* 2 */
		goto S_447_0;
S_447_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 594: // STATE 440 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][440] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 595: // STATE 443 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			continue;

		reached[0][443] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_440_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_441_0: /* 2 */
		now.gone[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[finisher:i]", ((int)now.gone[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
		goto S_445_0;
S_445_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 596: // STATE 446 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[0][446] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_443_0: /* 2 */
		now.sink[ Index(((P0 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[finisher:i]", ((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_444_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_448_0;
S_448_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 597: // STATE 458 - /tmp/w/models/conformance/models/close.pml:400 - [(!(1))] (494:0:1 - 1)
		IfNotBlocked
		reached[0][458] = 1;
		if (!( !(1)))
			continue;
		/* merge: whole = 0(0, 459, 494) */
		reached[0][459] = 1;
		(trpt+1)->bup.oval = ((int)((P0 *)_this)->whole);
		((P0 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("finisher:whole", ((int)((P0 *)_this)->whole));
#endif
		;
		/* merge: goto :b0(0, 460, 494) */
		reached[0][460] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 598: // STATE 464 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][464] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 599: // STATE 476 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[0][476] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_464_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_465_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_472_0: /* 2 */
S_471_0: /* 2 */
S_466_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)<(1+1))))
			goto S_471_1;
S_467_0: /* 2 */
		now.refers[ Index(((P0 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[finisher:i]", ((int)now.refers[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_468_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_472_0; /* ';' */
S_471_1: /* 3 */
S_469_0: /* 2 */
		/* else */;
S_470_0: /* 2 */
		goto S_473_0;	/* 'goto' */
S_471_2: /* 3 */
		Uerror("blocking sel in d_step (nr.627, near line 330)");
S_473_0: /* 2 */
		goto S_474_0;	/* 'break' */
S_474_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_485_0;
S_485_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 600: // STATE 480 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[0][480] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_477_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_478_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_483_0;
S_483_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 601: // STATE 481 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][481] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 602: // STATE 482 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][482] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 603: // STATE 498 - /tmp/w/models/conformance/models/close.pml:436 - [D_STEP436]
		IfNotBlocked

		reached[0][498] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_495_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_496_0: /* 2 */
		((P0 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("finisher:whole", ((int)((P0 *)_this)->whole));
#endif
		;
		goto S_1049_0;
S_1049_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 604: // STATE 514 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[0][514] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_509_0: /* 2 */
S_498_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_509_1;
S_507_0: /* 2 */
S_505_0: /* 2 */
S_504_0: /* 2 */
S_499_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_504_1;
S_500_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_501_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_505_0; /* ';' */
S_504_1: /* 3 */
S_502_0: /* 2 */
		/* else */;
S_503_0: /* 2 */
		goto S_511_0;	/* 'goto' */
S_504_2: /* 3 */
		Uerror("blocking sel in d_step (nr.628, near line 112)");
S_506_0: /* 2 */
		goto S_511_0;	/* 'break' */
		goto S_510_0;
S_509_1: /* 3 */
S_508_0: /* 2 */
		/* else */;
		goto S_510_0;
S_509_2: /* 3 */
		Uerror("blocking sel in d_step (nr.629, near line 301)");
S_510_0: /* 2 */
S_511_0: /* 2 */
		((P0 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("finisher:want", ((int)((P0 *)_this)->want));
#endif
		;
S_512_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_1047_0;
S_1047_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 605: // STATE 516 - /tmp/w/models/conformance/models/close.pml:413 - [((want&&!(token)))] (1013:0:2 - 1)
		IfNotBlocked
		reached[0][516] = 1;
		if (!((((int)((P0 *)_this)->want)&& !(((int)now.token)))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P0 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P0 *)_this)->want = 0;
		/* merge: token = 1(0, 517, 1013) */
		reached[0][517] = 1;
		(trpt+1)->bup.ovals[1] = ((int)now.token);
		now.token = 1;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
		_m = 3; goto P999; /* 1 */
	case 606: // STATE 519 - /tmp/w/models/conformance/models/close.pml:377 - [whole = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][519] = 1;
		(trpt+1)->bup.oval = ((int)((P0 *)_this)->whole);
		((P0 *)_this)->whole = 1;
#ifdef VAR_RANGES
		logval("finisher:whole", ((int)((P0 *)_this)->whole));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 607: // STATE 520 - /tmp/w/models/conformance/models/close.pml:380 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][520] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 608: // STATE 553 - /tmp/w/models/conformance/models/close.pml:311 - [D_STEP311]
		if (!(((boq == -1 && ((int)now.failed))) || ((boq == -1 && (( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate)))) || ((boq == -1 && ( !(((int)now.failed))&&((now.state==9)||(now.state==8))))) || (boq == -1 /* else */)))
			continue;

		reached[0][553] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_550_0: /* 2 */
S_549_0: /* 2 */
S_520_0: /* 2 */
		if (!(((int)now.failed)))
			goto S_549_1;
S_521_0: /* 2 */
		goto S_551_0;	/* 'goto' */
S_549_1: /* 3 */
S_522_0: /* 2 */
		if (!((( !(((int)now.failed))&&(now.state==7))&&((int)now.terminate))))
			goto S_549_2;
S_523_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_524_0: /* 2 */
		now.givenTerminate = 1;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_525_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_550_0; /* ';' */
S_549_2: /* 3 */
S_526_0: /* 2 */
		if (!(( !(((int)now.failed))&&((now.state==9)||(now.state==8)))))
			goto S_549_3;
S_535_0: /* 2 */
S_533_0: /* 2 */
S_532_0: /* 2 */
S_527_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_532_1;
S_528_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_529_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_533_0; /* ';' */
S_532_1: /* 3 */
S_530_0: /* 2 */
		/* else */;
S_531_0: /* 2 */
		goto S_545_0;	/* 'goto' */
S_532_2: /* 3 */
		Uerror("blocking sel in d_step (nr.630, near line 112)");
S_534_0: /* 2 */
		goto S_545_0;	/* 'break' */
		goto S_545_0;
S_545_0: /* 2 */
S_536_0: /* 2 */
		if (!((((int)now.next)<((int)now.tail))))
			goto S_545_1;
S_537_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 12;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_538_0: /* 2 */
		now.refers[ Index(now.next, 2) ] = 1;
#ifdef VAR_RANGES
		logval("refers[next]", ((int)now.refers[ Index(((int)now.next), 2) ]));
#endif
		;
S_539_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
S_540_0: /* 2 */
		now.given = (((int)now.given)+1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_541_0: /* 2 */
		now.batched = (((int)now.batched)+1);
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
S_542_0: /* 2 */
		now.left = 1;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
		goto S_546_0;
S_545_1: /* 3 */
S_543_0: /* 2 */
		/* else */;
S_544_0: /* 2 */
		goto S_551_0;	/* 'goto' */
		goto S_546_0;
S_545_2: /* 3 */
		Uerror("blocking sel in d_step (nr.631, near line 317)");
S_546_0: /* 2 */
		goto S_550_0; /* '.' */
		goto S_550_0; /* ';' */
S_549_3: /* 3 */
S_547_0: /* 2 */
		/* else */;
S_548_0: /* 2 */
		goto S_551_0;	/* 'goto' */
		goto S_550_0; /* ';' */
S_549_4: /* 3 */
		Uerror("blocking sel in d_step (nr.632, near line 312)");
S_551_0: /* 2 */
		goto S_1006_0;	/* 'break' */
S_556_0: /* 1 */
S_1006_0:	/* break-dest */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 609: // STATE 558 - /tmp/w/models/conformance/models/close.pml:384 - [(!(left))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][558] = 1;
		if (!( !(((int)now.left))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 610: // STATE 559 - /tmp/w/models/conformance/models/close.pml:348 - [(((killed&&(state!=ERROR))&&(state!=CLOSED)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][559] = 1;
		if (!(((((int)now.killed)&&(now.state!=6))&&(now.state!=5))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 611: // STATE 592 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[0][592] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_589_0: /* 2 */
S_559_0: /* 2 */
		if (!((now.state!=5)))
			goto S_589_1;
S_587_0: /* 2 */
S_560_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_561_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_562_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_563_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_573_0: /* 2 */
S_564_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_571_0: /* 2 */
S_570_0: /* 2 */
S_565_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)<((int)now.tail))))
			goto S_570_1;
S_566_0: /* 2 */
		now.done[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[finisher:i]", ((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_567_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_571_0; /* ';' */
S_570_1: /* 3 */
S_568_0: /* 2 */
		/* else */;
S_569_0: /* 2 */
		goto S_583_0;	/* 'goto' */
S_570_2: /* 3 */
		Uerror("blocking sel in d_step (nr.633, near line 120)");
S_572_0: /* 2 */
		goto S_583_0;	/* 'break' */
		goto S_584_0;
S_584_0: /* 2 */
S_583_0: /* 2 */
S_574_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_583_1;
S_578_0: /* 2 */
S_575_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_578_1;
S_576_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_579_0;
S_578_1: /* 3 */
S_577_0: /* 2 */
		/* else */;
		goto S_579_0;
S_578_2: /* 3 */
		Uerror("blocking sel in d_step (nr.634, near line 145)");
S_579_0: /* 2 */
S_580_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_584_0; /* ';' */
S_583_1: /* 3 */
S_581_0: /* 2 */
		/* else */;
S_582_0: /* 2 */
		goto S_586_0;	/* 'goto' */
S_583_2: /* 3 */
		Uerror("blocking sel in d_step (nr.635, near line 143)");
S_585_0: /* 2 */
		goto S_586_0;	/* 'break' */
S_586_0: /* 2 */
		((P0 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
		goto S_590_0;
S_589_1: /* 3 */
S_588_0: /* 2 */
		/* else */;
		goto S_590_0;
S_589_2: /* 3 */
		Uerror("blocking sel in d_step (nr.636, near line 240)");
S_590_0: /* 2 */
		goto S_652_0;
S_652_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 612: // STATE 593 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][593] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 613: // STATE 636 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[0][636] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_593_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_599_0: /* 2 */
S_598_0: /* 2 */
S_594_0: /* 2 */
		if (!(((((int)((P0 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]))))))
			goto S_598_1;
S_595_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_599_0; /* ';' */
S_598_1: /* 3 */
S_596_0: /* 2 */
		/* else */;
S_597_0: /* 2 */
		goto S_633_0;	/* 'goto' */
S_598_2: /* 3 */
		Uerror("blocking sel in d_step (nr.637, near line 174)");
S_600_0: /* 2 */
		goto S_633_0;	/* 'break' */
S_633_0: /* 2 */
S_601_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)==((int)now.tail))))
			goto S_633_1;
S_602_0: /* 2 */
		((P0 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
S_603_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_631_0: /* 2 */
S_629_0: /* 2 */
S_628_0: /* 2 */
S_604_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_628_1;
S_613_0: /* 2 */
S_611_0: /* 2 */
S_605_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_611_1;
S_606_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_607_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_608_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_609_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_612_0;
S_611_1: /* 3 */
S_610_0: /* 2 */
		/* else */;
		goto S_612_0;
S_611_2: /* 3 */
		Uerror("blocking sel in d_step (nr.638, near line 81)");
S_612_0: /* 2 */
		goto S_614_0;
S_614_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_615_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_619_0: /* 2 */
S_616_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_619_1;
S_617_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_620_0;
S_619_1: /* 3 */
S_618_0: /* 2 */
		/* else */;
		goto S_620_0;
S_619_2: /* 3 */
		Uerror("blocking sel in d_step (nr.639, near line 105)");
S_620_0: /* 2 */
S_624_0: /* 2 */
S_621_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_624_1;
S_622_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_625_0;
S_624_1: /* 3 */
S_623_0: /* 2 */
		/* else */;
		goto S_625_0;
S_624_2: /* 3 */
		Uerror("blocking sel in d_step (nr.640, near line 106)");
S_625_0: /* 2 */
		goto S_629_0; /* '.' */
		goto S_629_0; /* ';' */
S_628_1: /* 3 */
S_626_0: /* 2 */
		/* else */;
S_627_0: /* 2 */
		goto S_630_0;	/* 'goto' */
S_628_2: /* 3 */
		Uerror("blocking sel in d_step (nr.641, near line 92)");
S_630_0: /* 2 */
		goto S_634_0;	/* 'break' */
S_633_1: /* 3 */
S_632_0: /* 2 */
		/* else */;
		goto S_634_0;
S_633_2: /* 3 */
		Uerror("blocking sel in d_step (nr.642, near line 181)");
S_634_0: /* 2 */
		goto S_644_0;
S_644_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 614: // STATE 637 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][637] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 615: // STATE 640 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			continue;

		reached[0][640] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_637_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_638_0: /* 2 */
		now.gone[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[finisher:i]", ((int)now.gone[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
		goto S_642_0;
S_642_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 616: // STATE 643 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[0][643] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_640_0: /* 2 */
		now.sink[ Index(((P0 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[finisher:i]", ((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_641_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_645_0;
S_645_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 617: // STATE 673 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[0][673] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_668_0: /* 2 */
S_657_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_668_1;
S_666_0: /* 2 */
S_664_0: /* 2 */
S_663_0: /* 2 */
S_658_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_663_1;
S_659_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_660_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_664_0; /* ';' */
S_663_1: /* 3 */
S_661_0: /* 2 */
		/* else */;
S_662_0: /* 2 */
		goto S_670_0;	/* 'goto' */
S_663_2: /* 3 */
		Uerror("blocking sel in d_step (nr.643, near line 112)");
S_665_0: /* 2 */
		goto S_670_0;	/* 'break' */
		goto S_669_0;
S_668_1: /* 3 */
S_667_0: /* 2 */
		/* else */;
		goto S_669_0;
S_668_2: /* 3 */
		Uerror("blocking sel in d_step (nr.644, near line 301)");
S_669_0: /* 2 */
S_670_0: /* 2 */
		((P0 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("finisher:want", ((int)((P0 *)_this)->want));
#endif
		;
S_671_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_784_0;
S_784_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 618: // STATE 675 - /tmp/w/models/conformance/models/close.pml:353 - [((((state!=RTS)&&!(flushed))&&(failed||((((given==0)&&!(givenTerminate))&&!(terminate))&&(!(((state==RTS)||(state==CLOSING)))||(next==tail))))))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][675] = 1;
		if (!((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 619: // STATE 676 - /tmp/w/models/conformance/models/close.pml:355 - [deadline = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][676] = 1;
		(trpt+1)->bup.oval = ((int)now.deadline);
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 620: // STATE 677 - /tmp/w/models/conformance/models/close.pml:357 - [flushed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][677] = 1;
		(trpt+1)->bup.oval = ((int)now.flushed);
		now.flushed = 1;
#ifdef VAR_RANGES
		logval("flushed", ((int)now.flushed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 621: // STATE 680 - /tmp/w/models/conformance/models/close.pml:339 - [D_STEP339]
		IfNotBlocked

		reached[0][680] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_677_0: /* 2 */
		now.halves = (((int)now.halves)-1);
#ifdef VAR_RANGES
		logval("halves", ((int)now.halves));
#endif
		;
S_678_0: /* 2 */
		((P0 *)_this)->last = (((int)now.halves)==0);
#ifdef VAR_RANGES
		logval("finisher:last", ((int)((P0 *)_this)->last));
#endif
		;
		goto S_780_0;
S_780_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 622: // STATE 681 - /tmp/w/models/conformance/models/close.pml:341 - [(last)] (0:0:1 - 1)
		IfNotBlocked
		reached[0][681] = 1;
		if (!(((int)((P0 *)_this)->last)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: last */  (trpt+1)->bup.oval = ((P0 *)_this)->last;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P0 *)_this)->last = 0;
		_m = 3; goto P999; /* 0 */
	case 623: // STATE 684 - /tmp/w/models/conformance/models/close.pml:341 - [D_STEP341]
		IfNotBlocked

		reached[0][684] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_681_0: /* 2 */
		now.streamClosed = 1;
#ifdef VAR_RANGES
		logval("streamClosed", ((int)now.streamClosed));
#endif
		;
S_682_0: /* 2 */
		((P0 *)_this)->last = 0;
#ifdef VAR_RANGES
		logval("finisher:last", ((int)((P0 *)_this)->last));
#endif
		;
		goto S_778_0;
S_778_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 624: // STATE 717 - /tmp/w/models/conformance/models/close.pml:239 - [D_STEP239]
		if (!(((boq == -1 && (now.state!=5))) || (boq == -1 /* else */)))
			continue;

		reached[0][717] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_714_0: /* 2 */
S_684_0: /* 2 */
		if (!((now.state!=5)))
			goto S_714_1;
S_712_0: /* 2 */
S_685_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_686_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_687_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_688_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_698_0: /* 2 */
S_689_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_696_0: /* 2 */
S_695_0: /* 2 */
S_690_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)<((int)now.tail))))
			goto S_695_1;
S_691_0: /* 2 */
		now.done[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[finisher:i]", ((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_692_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_696_0; /* ';' */
S_695_1: /* 3 */
S_693_0: /* 2 */
		/* else */;
S_694_0: /* 2 */
		goto S_708_0;	/* 'goto' */
S_695_2: /* 3 */
		Uerror("blocking sel in d_step (nr.645, near line 120)");
S_697_0: /* 2 */
		goto S_708_0;	/* 'break' */
		goto S_709_0;
S_709_0: /* 2 */
S_708_0: /* 2 */
S_699_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_708_1;
S_703_0: /* 2 */
S_700_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_703_1;
S_701_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_704_0;
S_703_1: /* 3 */
S_702_0: /* 2 */
		/* else */;
		goto S_704_0;
S_703_2: /* 3 */
		Uerror("blocking sel in d_step (nr.646, near line 145)");
S_704_0: /* 2 */
S_705_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_709_0; /* ';' */
S_708_1: /* 3 */
S_706_0: /* 2 */
		/* else */;
S_707_0: /* 2 */
		goto S_711_0;	/* 'goto' */
S_708_2: /* 3 */
		Uerror("blocking sel in d_step (nr.647, near line 143)");
S_710_0: /* 2 */
		goto S_711_0;	/* 'break' */
S_711_0: /* 2 */
		((P0 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
		goto S_715_0;
S_714_1: /* 3 */
S_713_0: /* 2 */
		/* else */;
		goto S_715_0;
S_714_2: /* 3 */
		Uerror("blocking sel in d_step (nr.648, near line 240)");
S_715_0: /* 2 */
		goto S_777_0;
S_777_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 625: // STATE 718 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][718] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 626: // STATE 761 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[0][761] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_718_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_724_0: /* 2 */
S_723_0: /* 2 */
S_719_0: /* 2 */
		if (!(((((int)((P0 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]))))))
			goto S_723_1;
S_720_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_724_0; /* ';' */
S_723_1: /* 3 */
S_721_0: /* 2 */
		/* else */;
S_722_0: /* 2 */
		goto S_758_0;	/* 'goto' */
S_723_2: /* 3 */
		Uerror("blocking sel in d_step (nr.649, near line 174)");
S_725_0: /* 2 */
		goto S_758_0;	/* 'break' */
S_758_0: /* 2 */
S_726_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)==((int)now.tail))))
			goto S_758_1;
S_727_0: /* 2 */
		((P0 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
S_728_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_756_0: /* 2 */
S_754_0: /* 2 */
S_753_0: /* 2 */
S_729_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_753_1;
S_738_0: /* 2 */
S_736_0: /* 2 */
S_730_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_736_1;
S_731_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_732_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_733_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_734_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_737_0;
S_736_1: /* 3 */
S_735_0: /* 2 */
		/* else */;
		goto S_737_0;
S_736_2: /* 3 */
		Uerror("blocking sel in d_step (nr.650, near line 81)");
S_737_0: /* 2 */
		goto S_739_0;
S_739_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_740_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_744_0: /* 2 */
S_741_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_744_1;
S_742_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_745_0;
S_744_1: /* 3 */
S_743_0: /* 2 */
		/* else */;
		goto S_745_0;
S_744_2: /* 3 */
		Uerror("blocking sel in d_step (nr.651, near line 105)");
S_745_0: /* 2 */
S_749_0: /* 2 */
S_746_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_749_1;
S_747_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_750_0;
S_749_1: /* 3 */
S_748_0: /* 2 */
		/* else */;
		goto S_750_0;
S_749_2: /* 3 */
		Uerror("blocking sel in d_step (nr.652, near line 106)");
S_750_0: /* 2 */
		goto S_754_0; /* '.' */
		goto S_754_0; /* ';' */
S_753_1: /* 3 */
S_751_0: /* 2 */
		/* else */;
S_752_0: /* 2 */
		goto S_755_0;	/* 'goto' */
S_753_2: /* 3 */
		Uerror("blocking sel in d_step (nr.653, near line 92)");
S_755_0: /* 2 */
		goto S_759_0;	/* 'break' */
S_758_1: /* 3 */
S_757_0: /* 2 */
		/* else */;
		goto S_759_0;
S_758_2: /* 3 */
		Uerror("blocking sel in d_step (nr.654, near line 181)");
S_759_0: /* 2 */
		goto S_769_0;
S_769_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 627: // STATE 762 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][762] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 628: // STATE 765 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			continue;

		reached[0][765] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_762_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_763_0: /* 2 */
		now.gone[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[finisher:i]", ((int)now.gone[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
		goto S_767_0;
S_767_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 629: // STATE 768 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[0][768] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_765_0: /* 2 */
		now.sink[ Index(((P0 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[finisher:i]", ((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_766_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_770_0;
S_770_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 630: // STATE 790 - /tmp/w/models/conformance/models/close.pml:387 - [(!(0))] (1012:0:1 - 1)
		IfNotBlocked
		reached[0][790] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 791, 1012) */
		reached[0][791] = 1;
		(trpt+1)->bup.oval = ((int)((P0 *)_this)->whole);
		((P0 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("finisher:whole", ((int)((P0 *)_this)->whole));
#endif
		;
		/* merge: goto :b27(0, 792, 1012) */
		reached[0][792] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 631: // STATE 793 - /tmp/w/models/conformance/models/close.pml:388 - [((!(streamClosed)&&!(jammed)))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][793] = 1;
		if (!(( !(((int)now.streamClosed))&& !(((int)now.jammed)))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 632: // STATE 808 - /tmp/w/models/conformance/models/close.pml:389 - [D_STEP389]
		IfNotBlocked

		reached[0][808] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_793_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_801_0: /* 2 */
S_800_0: /* 2 */
S_794_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)<(1+1))))
			goto S_800_1;
S_795_0: /* 2 */
		now.wire[ Index(((P0 *)_this)->i, 2) ] = (((int)now.wire[ Index(((int)((P0 *)_this)->i), 2) ])||((int)now.refers[ Index(((int)((P0 *)_this)->i), 2) ]));
#ifdef VAR_RANGES
		logval("wire[finisher:i]", ((int)now.wire[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_796_0: /* 2 */
		now.refers[ Index(((P0 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[finisher:i]", ((int)now.refers[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_797_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_801_0; /* ';' */
S_800_1: /* 3 */
S_798_0: /* 2 */
		/* else */;
S_799_0: /* 2 */
		goto S_803_0;	/* 'goto' */
S_800_2: /* 3 */
		Uerror("blocking sel in d_step (nr.655, near line 391)");
S_802_0: /* 2 */
		goto S_803_0;	/* 'break' */
S_803_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_804_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_805_0: /* 2 */
		((P0 *)_this)->n = ((int)now.batched);
#ifdef VAR_RANGES
		logval("finisher:n", ((int)((P0 *)_this)->n));
#endif
		;
S_806_0: /* 2 */
		now.batched = 0;
#ifdef VAR_RANGES
		logval("batched", ((int)now.batched));
#endif
		;
		goto S_974_0;
S_974_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 633: // STATE 913 - /tmp/w/models/conformance/models/close.pml:215 - [D_STEP215]
		if (!(((boq == -1 && ((((int)((P0 *)_this)->n)>0)&&(((int)now.given)>0)))) || (boq == -1 /* else */)))
			continue;

		reached[0][913] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_828_0: /* 2 */
S_827_0: /* 2 */
S_808_0: /* 2 */
		if (!(((((int)((P0 *)_this)->n)>0)&&(((int)now.given)>0))))
			goto S_827_1;
S_814_0: /* 2 */
S_813_0: /* 2 */
S_809_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==10)))
			goto S_813_1;
S_810_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_814_0; /* ';' */
S_813_1: /* 3 */
S_811_0: /* 2 */
		/* else */;
S_812_0: /* 2 */
		goto S_816_0;	/* 'goto' */
S_813_2: /* 3 */
		Uerror("blocking sel in d_step (nr.656, near line 218)");
S_815_0: /* 2 */
		goto S_816_0;	/* 'break' */
S_816_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
S_820_0: /* 2 */
S_817_0: /* 2 */
		if (!( !(((int)now.isRead[ Index(((int)now.sent), 2) ]))))
			goto S_820_1;
S_818_0: /* 2 */
		now.done[ Index(now.sent, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[sent]", ((int)now.done[ Index(((int)now.sent), 2) ]));
#endif
		;
		goto S_821_0;
S_820_1: /* 3 */
S_819_0: /* 2 */
		/* else */;
		goto S_821_0;
S_820_2: /* 3 */
		Uerror("blocking sel in d_step (nr.657, near line 223)");
S_821_0: /* 2 */
S_822_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
S_823_0: /* 2 */
		now.given = (((int)now.given)-1);
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_824_0: /* 2 */
		((P0 *)_this)->n = (((int)((P0 *)_this)->n)-1);
#ifdef VAR_RANGES
		logval("finisher:n", ((int)((P0 *)_this)->n));
#endif
		;
		goto S_828_0; /* ';' */
S_827_1: /* 3 */
S_825_0: /* 2 */
		/* else */;
S_826_0: /* 2 */
		goto S_830_0;	/* 'goto' */
S_827_2: /* 3 */
		Uerror("blocking sel in d_step (nr.658, near line 216)");
S_829_0: /* 2 */
		goto S_830_0;	/* 'break' */
S_830_0: /* 2 */
		((P0 *)_this)->n = 0;
#ifdef VAR_RANGES
		logval("finisher:n", ((int)((P0 *)_this)->n));
#endif
		;
S_831_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_859_0: /* 2 */
S_857_0: /* 2 */
S_856_0: /* 2 */
S_832_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_856_1;
S_841_0: /* 2 */
S_839_0: /* 2 */
S_833_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_839_1;
S_834_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_835_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_836_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_837_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_840_0;
S_839_1: /* 3 */
S_838_0: /* 2 */
		/* else */;
		goto S_840_0;
S_839_2: /* 3 */
		Uerror("blocking sel in d_step (nr.659, near line 81)");
S_840_0: /* 2 */
		goto S_842_0;
S_842_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_843_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_847_0: /* 2 */
S_844_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_847_1;
S_845_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_848_0;
S_847_1: /* 3 */
S_846_0: /* 2 */
		/* else */;
		goto S_848_0;
S_847_2: /* 3 */
		Uerror("blocking sel in d_step (nr.660, near line 105)");
S_848_0: /* 2 */
S_852_0: /* 2 */
S_849_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_852_1;
S_850_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_853_0;
S_852_1: /* 3 */
S_851_0: /* 2 */
		/* else */;
		goto S_853_0;
S_852_2: /* 3 */
		Uerror("blocking sel in d_step (nr.661, near line 106)");
S_853_0: /* 2 */
		goto S_857_0; /* '.' */
		goto S_857_0; /* ';' */
S_856_1: /* 3 */
S_854_0: /* 2 */
		/* else */;
S_855_0: /* 2 */
		goto S_911_0;	/* 'goto' */
S_856_2: /* 3 */
		Uerror("blocking sel in d_step (nr.662, near line 92)");
S_858_0: /* 2 */
		goto S_911_0;	/* 'break' */
		goto S_911_0;
S_911_0: /* 2 */
S_871_0: /* 2 */
S_860_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_871_1;
S_869_0: /* 2 */
S_867_0: /* 2 */
S_866_0: /* 2 */
S_861_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_866_1;
S_862_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_863_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_867_0; /* ';' */
S_866_1: /* 3 */
S_864_0: /* 2 */
		/* else */;
S_865_0: /* 2 */
		goto S_909_0;	/* 'goto' */
S_866_2: /* 3 */
		Uerror("blocking sel in d_step (nr.663, near line 112)");
S_868_0: /* 2 */
		goto S_909_0;	/* 'break' */
		goto S_872_0;
S_871_1: /* 3 */
S_870_0: /* 2 */
		/* else */;
		goto S_872_0;
S_871_2: /* 3 */
		Uerror("blocking sel in d_step (nr.664, near line 153)");
S_872_0: /* 2 */
S_909_0: /* 2 */
S_873_0: /* 2 */
		if (!(((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))
			goto S_909_1;
S_906_0: /* 2 */
S_874_0: /* 2 */
		if (!((now.state==8)))
			goto S_906_1;
S_902_0: /* 2 */
S_875_0: /* 2 */
		now.state = 5;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
S_876_0: /* 2 */
		now.terminate = 0;
#ifdef VAR_RANGES
		logval("terminate", ((int)now.terminate));
#endif
		;
S_877_0: /* 2 */
		now.givenTerminate = 0;
#ifdef VAR_RANGES
		logval("givenTerminate", ((int)now.givenTerminate));
#endif
		;
S_878_0: /* 2 */
		now.given = 0;
#ifdef VAR_RANGES
		logval("given", ((int)now.given));
#endif
		;
S_888_0: /* 2 */
S_879_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_886_0: /* 2 */
S_885_0: /* 2 */
S_880_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)<((int)now.tail))))
			goto S_885_1;
S_881_0: /* 2 */
		now.done[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("done[finisher:i]", ((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_882_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_886_0; /* ';' */
S_885_1: /* 3 */
S_883_0: /* 2 */
		/* else */;
S_884_0: /* 2 */
		goto S_898_0;	/* 'goto' */
S_885_2: /* 3 */
		Uerror("blocking sel in d_step (nr.665, near line 120)");
S_887_0: /* 2 */
		goto S_898_0;	/* 'break' */
		goto S_899_0;
S_899_0: /* 2 */
S_898_0: /* 2 */
S_889_0: /* 2 */
		if (!((((int)now.sent)<((int)now.next))))
			goto S_898_1;
S_893_0: /* 2 */
S_890_0: /* 2 */
		if (!((now.progress[ Index(((int)now.sent), 2) ]==12)))
			goto S_893_1;
S_891_0: /* 2 */
		now.progress[ Index(now.sent, 2) ] = 11;
#ifdef VAR_RANGES
		logval("progress[sent]", now.progress[ Index(((int)now.sent), 2) ]);
#endif
		;
		goto S_894_0;
S_893_1: /* 3 */
S_892_0: /* 2 */
		/* else */;
		goto S_894_0;
S_893_2: /* 3 */
		Uerror("blocking sel in d_step (nr.666, near line 145)");
S_894_0: /* 2 */
S_895_0: /* 2 */
		now.sent = (((int)now.sent)+1);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_899_0; /* ';' */
S_898_1: /* 3 */
S_896_0: /* 2 */
		/* else */;
S_897_0: /* 2 */
		goto S_901_0;	/* 'goto' */
S_898_2: /* 3 */
		Uerror("blocking sel in d_step (nr.667, near line 143)");
S_900_0: /* 2 */
		goto S_901_0;	/* 'break' */
S_901_0: /* 2 */
		((P0 *)_this)->settles = 1;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
		goto S_907_0;
S_906_1: /* 3 */
S_903_0: /* 2 */
		if (!(((now.state==7)&&((int)now.peerClosed))))
			goto S_906_2;
S_904_0: /* 2 */
		now.state = 6;
#ifdef VAR_RANGES
		logval("state", now.state);
#endif
		;
		goto S_907_0;
S_906_2: /* 3 */
S_905_0: /* 2 */
		/* else */;
		goto S_907_0;
S_906_3: /* 3 */
		Uerror("blocking sel in d_step (nr.668, near line 159)");
S_907_0: /* 2 */
		goto S_910_0;
S_909_1: /* 3 */
S_908_0: /* 2 */
		/* else */;
		goto S_910_0;
S_909_2: /* 3 */
		Uerror("blocking sel in d_step (nr.669, near line 157)");
S_910_0: /* 2 */
		goto S_973_0;
S_973_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 634: // STATE 914 - /tmp/w/models/conformance/models/close.pml:171 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][914] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 635: // STATE 957 - /tmp/w/models/conformance/models/close.pml:172 - [D_STEP172]
		IfNotBlocked

		reached[0][957] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_914_0: /* 2 */
		((P0 *)_this)->i = ((int)now.head);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_920_0: /* 2 */
S_919_0: /* 2 */
S_915_0: /* 2 */
		if (!(((((int)((P0 *)_this)->i)<((int)now.tail))&& !((((int)now.done[ Index(((int)((P0 *)_this)->i), 2) ])&&((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]))))))
			goto S_919_1;
S_916_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_920_0; /* ';' */
S_919_1: /* 3 */
S_917_0: /* 2 */
		/* else */;
S_918_0: /* 2 */
		goto S_954_0;	/* 'goto' */
S_919_2: /* 3 */
		Uerror("blocking sel in d_step (nr.670, near line 174)");
S_921_0: /* 2 */
		goto S_954_0;	/* 'break' */
S_954_0: /* 2 */
S_922_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)==((int)now.tail))))
			goto S_954_1;
S_923_0: /* 2 */
		((P0 *)_this)->settles = 0;
#ifdef VAR_RANGES
		logval("finisher:settles", ((int)((P0 *)_this)->settles));
#endif
		;
S_924_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_952_0: /* 2 */
S_950_0: /* 2 */
S_949_0: /* 2 */
S_925_0: /* 2 */
		if (!(((((((int)now.head)<((int)now.tail))&&((int)now.done[ Index(((int)now.head), 2) ]))&&(now.progress[ Index(((int)now.head), 2) ]!=12))&& !(((int)now.sink[ Index(((int)now.head), 2) ])))))
			goto S_949_1;
S_934_0: /* 2 */
S_932_0: /* 2 */
S_926_0: /* 2 */
		if (!( !(((int)now.completed[ Index(((int)now.head), 2) ]))))
			goto S_932_1;
S_927_0: /* 2 */
		now.completed[ Index(now.head, 2) ] = 1;
#ifdef VAR_RANGES
		logval("completed[head]", ((int)now.completed[ Index(((int)now.head), 2) ]));
#endif
		;
S_928_0: /* 2 */
		now.completions[ Index(now.head, 2) ] = (((int)now.completions[ Index(((int)now.head), 2) ])+1);
#ifdef VAR_RANGES
		logval("completions[head]", ((int)now.completions[ Index(((int)now.head), 2) ]));
#endif
		;
S_929_0: /* 2 */
		now.undone = (((int)now.undone)-1);
#ifdef VAR_RANGES
		logval("undone", ((int)now.undone));
#endif
		;
S_930_0: /* 2 */
		spin_assert((((((int)now.completions[ Index(((int)now.head), 2) ])==1)&&(((int)now.isRead[ Index(((int)now.head), 2) ])|| !(((int)now.refers[ Index(((int)now.head), 2) ]))))&& !(((int)now.copying[ Index(((int)now.head), 2) ]))), "(((completions[head]==1)&&(isRead[head]|| !(refers[head])))&& !(copying[head]))", II, tt, t);
		goto S_933_0;
S_932_1: /* 3 */
S_931_0: /* 2 */
		/* else */;
		goto S_933_0;
S_932_2: /* 3 */
		Uerror("blocking sel in d_step (nr.671, near line 81)");
S_933_0: /* 2 */
		goto S_935_0;
S_935_0: /* 2 */
		spin_assert( !(((int)now.refers[ Index(((int)now.head), 2) ])), " !(refers[head])", II, tt, t);
S_936_0: /* 2 */
		now.head = (((int)now.head)+1);
#ifdef VAR_RANGES
		logval("head", ((int)now.head));
#endif
		;
S_940_0: /* 2 */
S_937_0: /* 2 */
		if (!((((int)now.sent)<((int)now.head))))
			goto S_940_1;
S_938_0: /* 2 */
		now.sent = ((int)now.head);
#ifdef VAR_RANGES
		logval("sent", ((int)now.sent));
#endif
		;
		goto S_941_0;
S_940_1: /* 3 */
S_939_0: /* 2 */
		/* else */;
		goto S_941_0;
S_940_2: /* 3 */
		Uerror("blocking sel in d_step (nr.672, near line 105)");
S_941_0: /* 2 */
S_945_0: /* 2 */
S_942_0: /* 2 */
		if (!((((int)now.next)<((int)now.head))))
			goto S_945_1;
S_943_0: /* 2 */
		now.next = ((int)now.head);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_946_0;
S_945_1: /* 3 */
S_944_0: /* 2 */
		/* else */;
		goto S_946_0;
S_945_2: /* 3 */
		Uerror("blocking sel in d_step (nr.673, near line 106)");
S_946_0: /* 2 */
		goto S_950_0; /* '.' */
		goto S_950_0; /* ';' */
S_949_1: /* 3 */
S_947_0: /* 2 */
		/* else */;
S_948_0: /* 2 */
		goto S_951_0;	/* 'goto' */
S_949_2: /* 3 */
		Uerror("blocking sel in d_step (nr.674, near line 92)");
S_951_0: /* 2 */
		goto S_955_0;	/* 'break' */
S_954_1: /* 3 */
S_953_0: /* 2 */
		/* else */;
		goto S_955_0;
S_954_2: /* 3 */
		Uerror("blocking sel in d_step (nr.675, near line 181)");
S_955_0: /* 2 */
		goto S_965_0;
S_965_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 636: // STATE 958 - /tmp/w/models/conformance/models/close.pml:187 - [(settles)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][958] = 1;
		if (!(((int)((P0 *)_this)->settles)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 637: // STATE 961 - /tmp/w/models/conformance/models/close.pml:188 - [D_STEP188]
		if (!(boq == -1 &&  !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			continue;

		reached[0][961] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_958_0: /* 2 */
		if (!( !(((int)now.copying[ Index(((int)((P0 *)_this)->i), 2) ]))))
			Uerror("block in d_step seq");
S_959_0: /* 2 */
		now.gone[ Index(((P0 *)_this)->i, 2) ] = 1;
#ifdef VAR_RANGES
		logval("gone[finisher:i]", ((int)now.gone[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
		goto S_963_0;
S_963_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 638: // STATE 964 - /tmp/w/models/conformance/models/close.pml:189 - [D_STEP189]
		IfNotBlocked

		reached[0][964] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_961_0: /* 2 */
		now.sink[ Index(((P0 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("sink[finisher:i]", ((int)now.sink[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_962_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_966_0;
S_966_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 639: // STATE 976 - /tmp/w/models/conformance/models/close.pml:400 - [(!(0))] (1012:0:1 - 1)
		IfNotBlocked
		reached[0][976] = 1;
		if (!( !(0)))
			continue;
		/* merge: whole = 0(0, 977, 1012) */
		reached[0][977] = 1;
		(trpt+1)->bup.oval = ((int)((P0 *)_this)->whole);
		((P0 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("finisher:whole", ((int)((P0 *)_this)->whole));
#endif
		;
		/* merge: goto :b27(0, 978, 1012) */
		reached[0][978] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 640: // STATE 982 - /tmp/w/models/conformance/models/close.pml:403 - [((streamClosed||(!(good)&&!(jammed))))] (0:0:0 - 1)
		IfNotBlocked
		reached[0][982] = 1;
		if (!((((int)now.streamClosed)||( !(((int)now.good))&& !(((int)now.jammed))))))
			continue;
		_m = 3; goto P999; /* 0 */
	case 641: // STATE 994 - /tmp/w/models/conformance/models/close.pml:327 - [D_STEP327]
		IfNotBlocked

		reached[0][994] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_982_0: /* 2 */
		now.left = 0;
#ifdef VAR_RANGES
		logval("left", ((int)now.left));
#endif
		;
S_983_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
S_990_0: /* 2 */
S_989_0: /* 2 */
S_984_0: /* 2 */
		if (!((((int)((P0 *)_this)->i)<(1+1))))
			goto S_989_1;
S_985_0: /* 2 */
		now.refers[ Index(((P0 *)_this)->i, 2) ] = 0;
#ifdef VAR_RANGES
		logval("refers[finisher:i]", ((int)now.refers[ Index(((int)((P0 *)_this)->i), 2) ]));
#endif
		;
S_986_0: /* 2 */
		((P0 *)_this)->i = (((int)((P0 *)_this)->i)+1);
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_990_0; /* ';' */
S_989_1: /* 3 */
S_987_0: /* 2 */
		/* else */;
S_988_0: /* 2 */
		goto S_991_0;	/* 'goto' */
S_989_2: /* 3 */
		Uerror("blocking sel in d_step (nr.676, near line 330)");
S_991_0: /* 2 */
		goto S_992_0;	/* 'break' */
S_992_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_1003_0;
S_1003_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 642: // STATE 998 - /tmp/w/models/conformance/models/close.pml:364 - [D_STEP364]
		IfNotBlocked

		reached[0][998] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_995_0: /* 2 */
		now.failed = 1;
#ifdef VAR_RANGES
		logval("failed", ((int)now.failed));
#endif
		;
S_996_0: /* 2 */
		now.deadline = 1;
#ifdef VAR_RANGES
		logval("deadline", ((int)now.deadline));
#endif
		;
		goto S_1001_0;
S_1001_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 643: // STATE 999 - /tmp/w/models/conformance/models/close.pml:367 - [(readEnded)] (0:0:0 - 1)
		IfNotBlocked
		reached[0][999] = 1;
		if (!(((int)now.readEnded)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 644: // STATE 1000 - /tmp/w/models/conformance/models/close.pml:367 - [killed = 1] (0:0:1 - 1)
		IfNotBlocked
		reached[0][1000] = 1;
		(trpt+1)->bup.oval = ((int)now.killed);
		now.killed = 1;
#ifdef VAR_RANGES
		logval("killed", ((int)now.killed));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 645: // STATE 1014 - /tmp/w/models/conformance/models/close.pml:416 - [(whole)] (0:0:1 - 1)
		IfNotBlocked
		reached[0][1014] = 1;
		if (!(((int)((P0 *)_this)->whole)))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: whole */  (trpt+1)->bup.oval = ((P0 *)_this)->whole;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P0 *)_this)->whole = 0;
		_m = 3; goto P999; /* 0 */
	case 646: // STATE 1017 - /tmp/w/models/conformance/models/close.pml:417 - [D_STEP417]
		IfNotBlocked

		reached[0][1017] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1014_0: /* 2 */
		now.token = 0;
#ifdef VAR_RANGES
		logval("token", ((int)now.token));
#endif
		;
S_1015_0: /* 2 */
		((P0 *)_this)->whole = 0;
#ifdef VAR_RANGES
		logval("finisher:whole", ((int)((P0 *)_this)->whole));
#endif
		;
		goto S_1033_0;
S_1033_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 647: // STATE 1033 - /tmp/w/models/conformance/models/close.pml:300 - [D_STEP300]
		if (!(((boq == -1 && ((now.state==9)||(now.state==8)))) || (boq == -1 /* else */)))
			continue;

		reached[0][1033] = 1;
		reached[0][t->st] = 1;
		reached[0][tt] = 1;

		if (TstOnly) return 1;

		sv_save();
		S_1028_0: /* 2 */
S_1017_0: /* 2 */
		if (!(((now.state==9)||(now.state==8))))
			goto S_1028_1;
S_1026_0: /* 2 */
S_1024_0: /* 2 */
S_1023_0: /* 2 */
S_1018_0: /* 2 */
		if (!(((((int)now.next)<((int)now.tail))&&((int)now.done[ Index(((int)now.next), 2) ]))))
			goto S_1023_1;
S_1019_0: /* 2 */
		now.progress[ Index(now.next, 2) ] = 10;
#ifdef VAR_RANGES
		logval("progress[next]", now.progress[ Index(((int)now.next), 2) ]);
#endif
		;
S_1020_0: /* 2 */
		now.next = (((int)now.next)+1);
#ifdef VAR_RANGES
		logval("next", ((int)now.next));
#endif
		;
		goto S_1024_0; /* ';' */
S_1023_1: /* 3 */
S_1021_0: /* 2 */
		/* else */;
S_1022_0: /* 2 */
		goto S_1030_0;	/* 'goto' */
S_1023_2: /* 3 */
		Uerror("blocking sel in d_step (nr.677, near line 112)");
S_1025_0: /* 2 */
		goto S_1030_0;	/* 'break' */
		goto S_1029_0;
S_1028_1: /* 3 */
S_1027_0: /* 2 */
		/* else */;
		goto S_1029_0;
S_1028_2: /* 3 */
		Uerror("blocking sel in d_step (nr.678, near line 301)");
S_1029_0: /* 2 */
S_1030_0: /* 2 */
		((P0 *)_this)->want = (((((now.state!=9)&& !(((int)now.flushed)))&&(((int)now.failed)||((((((int)now.given)==0)&& !(((int)now.givenTerminate)))&& !(((int)now.terminate)))&&( !(((now.state==9)||(now.state==8)))||(((int)now.next)==((int)now.tail))))))||((((int)now.killed)&&(now.state!=6))&&(now.state!=5)))||( !(((int)now.failed))&&(((now.state==7)&&((int)now.terminate))||(((now.state==9)||(now.state==8))&&(((int)now.next)<((int)now.tail))))));
#ifdef VAR_RANGES
		logval("finisher:want", ((int)((P0 *)_this)->want));
#endif
		;
S_1031_0: /* 2 */
		((P0 *)_this)->i = 0;
#ifdef VAR_RANGES
		logval("finisher:i", ((int)((P0 *)_this)->i));
#endif
		;
		goto S_1039_0;
S_1039_0: /* 1 */

#if defined(C_States) && (HAS_TRACK==1)
		c_update((uchar *) &(now.c_state[0]));
#endif
		_m = 3; goto P999;

	case 648: // STATE 1036 - /tmp/w/models/conformance/models/close.pml:423 - [want = 0] (0:0:1 - 1)
		IfNotBlocked
		reached[0][1036] = 1;
		(trpt+1)->bup.oval = ((int)((P0 *)_this)->want);
		((P0 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("finisher:want", ((int)((P0 *)_this)->want));
#endif
		;
		_m = 3; goto P999; /* 0 */
	case 649: // STATE 1037 - /tmp/w/models/conformance/models/close.pml:423 - [(run finisher())] (0:0:0 - 1)
		IfNotBlocked
		reached[0][1037] = 1;
		if (!(addproc(II, 1, 0, 0)))
			continue;
		_m = 3; goto P999; /* 0 */
	case 650: // STATE 1041 - /tmp/w/models/conformance/models/close.pml:425 - [((want&&token))] (1051:0:2 - 1)
		IfNotBlocked
		reached[0][1041] = 1;
		if (!((((int)((P0 *)_this)->want)&&((int)now.token))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.ovals = grab_ints(2);
		(trpt+1)->bup.ovals[0] = ((P0 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P0 *)_this)->want = 0;
		/* merge: want = 0(0, 1042, 1051) */
		reached[0][1042] = 1;
		(trpt+1)->bup.ovals[1] = ((int)((P0 *)_this)->want);
		((P0 *)_this)->want = 0;
#ifdef VAR_RANGES
		logval("finisher:want", ((int)((P0 *)_this)->want));
#endif
		;
		/* merge: goto :b26(0, 1044, 1051) */
		reached[0][1044] = 1;
		;
		_m = 3; goto P999; /* 2 */
	case 651: // STATE 1045 - /tmp/w/models/conformance/models/close.pml:426 - [(!(want))] (0:0:1 - 1)
		IfNotBlocked
		reached[0][1045] = 1;
		if (!( !(((int)((P0 *)_this)->want))))
			continue;
		if (TstOnly) return 1; /* TT */
		/* dead 1: want */  (trpt+1)->bup.oval = ((P0 *)_this)->want;
#ifdef HAS_CODE
		if (!readtrail)
#endif
			((P0 *)_this)->want = 0;
		_m = 3; goto P999; /* 0 */
	case 652: // STATE 1051 - /tmp/w/models/conformance/models/close.pml:440 - [-end-] (0:0:0 - 7)
		IfNotBlocked
		reached[0][1051] = 1;
		if (!delproc(1, II)) continue;
		_m = 3; goto P999; /* 0 */
	case  _T5:	/* np_ */
		if (!((!(trpt->o_pm&4) && !(trpt->tau&128))))
			continue;
		/* else fall through */
	case  _T2:	/* true */
		_m = 3; goto P999;
#undef rand
	}

