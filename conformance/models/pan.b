	switch (t->back) {
	default: Uerror("bad return move");
	case  0: goto R999; /* nothing to undo */

		 /* PROC :init: */

	case 3: // STATE 2
		;
		now.good = trpt->bup.ovals[1];
		now.state = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;
;
		;
		
	case 5: // STATE 4
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 6: // STATE 5
		;
		((P4 *)_this)->k = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 8: // STATE 12
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 9: // STATE 13
		;
		((P4 *)_this)->k = trpt->bup.oval;
		;
		goto R999;

	case 10: // STATE 19
		;
		((P4 *)_this)->k = trpt->bup.oval;
		;
		goto R999;

	case 11: // STATE 20
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 12: // STATE 21
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;
;
		;
		;
		;
		
	case 15: // STATE 25
		;
		p_restor(II);
		;
		;
		goto R999;

		 /* PROC receiver */

	case 16: // STATE 1087
		;
		((P3 *)_this)->over = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->over = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 17: // STATE 3
		;
	/* 0 */	((P3 *)_this)->over = trpt->bup.oval;
		;
		;
		goto R999;

	case 18: // STATE 4
		;
		now.events = trpt->bup.oval;
		;
		goto R999;

	case 19: // STATE 6
		;
		((P3 *)_this)->over = trpt->bup.ovals[1];
		((P3 *)_this)->why = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 20: // STATE 7
		;
	/* 0 */	((P3 *)_this)->over = trpt->bup.oval;
		;
		;
		goto R999;

	case 21: // STATE 8
		;
		now.events = trpt->bup.oval;
		;
		goto R999;
	case 22: // STATE 25
		sv_restor();
		goto R999;
;
		;
			case 24: // STATE 69
		sv_restor();
		goto R999;
;
		;
			case 26: // STATE 73
		sv_restor();
		goto R999;
	case 27: // STATE 76
		sv_restor();
		goto R999;

	case 28: // STATE 88
		;
		((P3 *)_this)->over = trpt->bup.oval;
		;
		goto R999;

	case 29: // STATE 89
		;
	/* 0 */	((P3 *)_this)->over = trpt->bup.oval;
		;
		;
		goto R999;

	case 30: // STATE 90
		;
		now.events = trpt->bup.oval;
		;
		goto R999;
	case 31: // STATE 141
		sv_restor();
		goto R999;
;
		;
			case 33: // STATE 185
		sv_restor();
		goto R999;
;
		;
			case 35: // STATE 189
		sv_restor();
		goto R999;
	case 36: // STATE 192
		sv_restor();
		goto R999;

	case 37: // STATE 204
		;
		((P3 *)_this)->over = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 39: // STATE 227
		sv_restor();
		goto R999;
;
		;
			case 41: // STATE 279
		sv_restor();
		goto R999;
;
		;
			case 43: // STATE 323
		sv_restor();
		goto R999;
;
		;
			case 45: // STATE 327
		sv_restor();
		goto R999;
	case 46: // STATE 330
		sv_restor();
		goto R999;

	case 47: // STATE 343
		;
		now.copying[ Index(((P3 *)_this)->p, 2) ] = trpt->bup.oval;
		;
		goto R999;

	case 48: // STATE 344
		;
		((P3 *)_this)->last = trpt->bup.oval;
		;
		goto R999;

	case 49: // STATE 345
		;
	/* 0 */	((P3 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 50: // STATE 392
		sv_restor();
		goto R999;
;
		;
			case 52: // STATE 444
		sv_restor();
		goto R999;
;
		;
			case 54: // STATE 488
		sv_restor();
		goto R999;
;
		;
			case 56: // STATE 492
		sv_restor();
		goto R999;
	case 57: // STATE 495
		sv_restor();
		goto R999;

	case 58: // STATE 511
		;
		((P3 *)_this)->over = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 60: // STATE 521
		;
		((P3 *)_this)->p = trpt->bup.ovals[1];
		((P3 *)_this)->over = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 3);
		goto R999;

	case 61: // STATE 521
		;
		((P3 *)_this)->p = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;
	case 62: // STATE 537
		sv_restor();
		goto R999;

	case 63: // STATE 540
		;
		now.token = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 64: // STATE 542
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 66: // STATE 576
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 69: // STATE 615
		sv_restor();
		goto R999;
;
		;
			case 71: // STATE 659
		sv_restor();
		goto R999;
;
		;
			case 73: // STATE 663
		sv_restor();
		goto R999;
	case 74: // STATE 666
		sv_restor();
		goto R999;
	case 75: // STATE 696
		sv_restor();
		goto R999;
;
		;
		
	case 77: // STATE 699
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 78: // STATE 700
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 79: // STATE 703
		sv_restor();
		goto R999;

	case 80: // STATE 704
		;
	/* 0 */	((P3 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 81: // STATE 707
		sv_restor();
		goto R999;
	case 82: // STATE 740
		sv_restor();
		goto R999;
;
		;
			case 84: // STATE 784
		sv_restor();
		goto R999;
;
		;
			case 86: // STATE 788
		sv_restor();
		goto R999;
	case 87: // STATE 791
		sv_restor();
		goto R999;

	case 88: // STATE 814
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 90: // STATE 831
		sv_restor();
		goto R999;
	case 91: // STATE 936
		sv_restor();
		goto R999;
;
		;
			case 93: // STATE 980
		sv_restor();
		goto R999;
;
		;
			case 95: // STATE 984
		sv_restor();
		goto R999;
	case 96: // STATE 987
		sv_restor();
		goto R999;

	case 97: // STATE 1000
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 99: // STATE 1017
		sv_restor();
		goto R999;
	case 100: // STATE 1021
		sv_restor();
		goto R999;
;
		;
		
	case 102: // STATE 1023
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;

	case 103: // STATE 1037
		;
	/* 0 */	((P3 *)_this)->whole = trpt->bup.oval;
		;
		;
		goto R999;
	case 104: // STATE 1040
		sv_restor();
		goto R999;
	case 105: // STATE 1056
		sv_restor();
		goto R999;

	case 106: // STATE 1059
		;
		((P3 *)_this)->want = trpt->bup.oval;
		;
		goto R999;

	case 107: // STATE 1060
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 108: // STATE 1065
		;
		((P3 *)_this)->want = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 109: // STATE 1068
		;
	/* 0 */	((P3 *)_this)->want = trpt->bup.oval;
		;
		;
		goto R999;

	case 110: // STATE 1074
		;
	/* 0 */	((P3 *)_this)->over = trpt->bup.oval;
		;
		;
		goto R999;

	case 111: // STATE 1076
		;
		((P3 *)_this)->over = trpt->bup.ovals[1];
		((P3 *)_this)->why = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 112: // STATE 1077
		;
	/* 0 */	((P3 *)_this)->over = trpt->bup.oval;
		;
		;
		goto R999;

	case 113: // STATE 1079
		;
		((P3 *)_this)->over = trpt->bup.ovals[1];
		((P3 *)_this)->why = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 114: // STATE 1080
		;
	/* 0 */	((P3 *)_this)->over = trpt->bup.oval;
		;
		;
		goto R999;

	case 115: // STATE 1081
		;
		now.events = trpt->bup.oval;
		;
		goto R999;

	case 116: // STATE 1083
		;
		((P3 *)_this)->over = trpt->bup.ovals[1];
		((P3 *)_this)->why = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 117: // STATE 1087
		;
		((P3 *)_this)->over = trpt->bup.oval;
		;
		goto R999;
;
		;
		
	case 119: // STATE 1089
		;
	/* 0 */	((P3 *)_this)->why = trpt->bup.oval;
		;
		;
		goto R999;
	case 120: // STATE 1110
		sv_restor();
		goto R999;
;
		;
			case 122: // STATE 1154
		sv_restor();
		goto R999;
;
		;
			case 124: // STATE 1158
		sv_restor();
		goto R999;
	case 125: // STATE 1161
		sv_restor();
		goto R999;
	case 126: // STATE 1224
		sv_restor();
		goto R999;
;
		;
			case 128: // STATE 1268
		sv_restor();
		goto R999;
;
		;
			case 130: // STATE 1272
		sv_restor();
		goto R999;
	case 131: // STATE 1275
		sv_restor();
		goto R999;

	case 132: // STATE 1287
		;
	/* 0 */	((P3 *)_this)->why = trpt->bup.oval;
		;
		;
		goto R999;

	case 133: // STATE 1288
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;
	case 134: // STATE 1307
		sv_restor();
		goto R999;

	case 135: // STATE 1310
		;
		now.token = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 136: // STATE 1312
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 138: // STATE 1346
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 141: // STATE 1385
		sv_restor();
		goto R999;
;
		;
			case 143: // STATE 1429
		sv_restor();
		goto R999;
;
		;
			case 145: // STATE 1433
		sv_restor();
		goto R999;
	case 146: // STATE 1436
		sv_restor();
		goto R999;
	case 147: // STATE 1466
		sv_restor();
		goto R999;
;
		;
		
	case 149: // STATE 1469
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 150: // STATE 1470
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 151: // STATE 1473
		sv_restor();
		goto R999;

	case 152: // STATE 1474
		;
	/* 0 */	((P3 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 153: // STATE 1477
		sv_restor();
		goto R999;
	case 154: // STATE 1510
		sv_restor();
		goto R999;
;
		;
			case 156: // STATE 1554
		sv_restor();
		goto R999;
;
		;
			case 158: // STATE 1558
		sv_restor();
		goto R999;
	case 159: // STATE 1561
		sv_restor();
		goto R999;

	case 160: // STATE 1584
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 162: // STATE 1601
		sv_restor();
		goto R999;
	case 163: // STATE 1706
		sv_restor();
		goto R999;
;
		;
			case 165: // STATE 1750
		sv_restor();
		goto R999;
;
		;
			case 167: // STATE 1754
		sv_restor();
		goto R999;
	case 168: // STATE 1757
		sv_restor();
		goto R999;

	case 169: // STATE 1770
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 171: // STATE 1787
		sv_restor();
		goto R999;
	case 172: // STATE 1791
		sv_restor();
		goto R999;
;
		;
		
	case 174: // STATE 1793
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;

	case 175: // STATE 1807
		;
	/* 0 */	((P3 *)_this)->whole = trpt->bup.oval;
		;
		;
		goto R999;
	case 176: // STATE 1810
		sv_restor();
		goto R999;
	case 177: // STATE 1826
		sv_restor();
		goto R999;

	case 178: // STATE 1829
		;
		((P3 *)_this)->want = trpt->bup.oval;
		;
		goto R999;

	case 179: // STATE 1830
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 180: // STATE 1835
		;
		((P3 *)_this)->want = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 181: // STATE 1838
		;
	/* 0 */	((P3 *)_this)->want = trpt->bup.oval;
		;
		;
		goto R999;
;
		;
		;
		;
			case 184: // STATE 1849
		sv_restor();
		goto R999;
	case 185: // STATE 1865
		sv_restor();
		goto R999;

	case 186: // STATE 1868
		;
		now.token = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 187: // STATE 1870
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 189: // STATE 1904
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 192: // STATE 1943
		sv_restor();
		goto R999;
;
		;
			case 194: // STATE 1987
		sv_restor();
		goto R999;
;
		;
			case 196: // STATE 1991
		sv_restor();
		goto R999;
	case 197: // STATE 1994
		sv_restor();
		goto R999;
	case 198: // STATE 2024
		sv_restor();
		goto R999;
;
		;
		
	case 200: // STATE 2027
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 201: // STATE 2028
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 202: // STATE 2031
		sv_restor();
		goto R999;

	case 203: // STATE 2032
		;
	/* 0 */	((P3 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 204: // STATE 2035
		sv_restor();
		goto R999;
	case 205: // STATE 2068
		sv_restor();
		goto R999;
;
		;
			case 207: // STATE 2112
		sv_restor();
		goto R999;
;
		;
			case 209: // STATE 2116
		sv_restor();
		goto R999;
	case 210: // STATE 2119
		sv_restor();
		goto R999;

	case 211: // STATE 2142
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 213: // STATE 2159
		sv_restor();
		goto R999;
	case 214: // STATE 2264
		sv_restor();
		goto R999;
;
		;
			case 216: // STATE 2308
		sv_restor();
		goto R999;
;
		;
			case 218: // STATE 2312
		sv_restor();
		goto R999;
	case 219: // STATE 2315
		sv_restor();
		goto R999;

	case 220: // STATE 2328
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 222: // STATE 2345
		sv_restor();
		goto R999;
	case 223: // STATE 2349
		sv_restor();
		goto R999;
;
		;
		
	case 225: // STATE 2351
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;

	case 226: // STATE 2365
		;
	/* 0 */	((P3 *)_this)->whole = trpt->bup.oval;
		;
		;
		goto R999;
	case 227: // STATE 2368
		sv_restor();
		goto R999;
	case 228: // STATE 2384
		sv_restor();
		goto R999;

	case 229: // STATE 2387
		;
		((P3 *)_this)->want = trpt->bup.oval;
		;
		goto R999;

	case 230: // STATE 2388
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 231: // STATE 2393
		;
		((P3 *)_this)->want = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 232: // STATE 2396
		;
	/* 0 */	((P3 *)_this)->want = trpt->bup.oval;
		;
		;
		goto R999;

	case 233: // STATE 2406
		;
	/* 0 */	((P3 *)_this)->why = trpt->bup.oval;
		;
		;
		goto R999;
	case 234: // STATE 2427
		sv_restor();
		goto R999;
;
		;
			case 236: // STATE 2471
		sv_restor();
		goto R999;
;
		;
			case 238: // STATE 2475
		sv_restor();
		goto R999;
	case 239: // STATE 2478
		sv_restor();
		goto R999;
	case 240: // STATE 2541
		sv_restor();
		goto R999;
;
		;
			case 242: // STATE 2585
		sv_restor();
		goto R999;
;
		;
			case 244: // STATE 2589
		sv_restor();
		goto R999;
	case 245: // STATE 2592
		sv_restor();
		goto R999;
	case 246: // STATE 2608
		sv_restor();
		goto R999;
	case 247: // STATE 2624
		sv_restor();
		goto R999;

	case 248: // STATE 2627
		;
		now.token = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 249: // STATE 2629
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 251: // STATE 2663
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 254: // STATE 2702
		sv_restor();
		goto R999;
;
		;
			case 256: // STATE 2746
		sv_restor();
		goto R999;
;
		;
			case 258: // STATE 2750
		sv_restor();
		goto R999;
	case 259: // STATE 2753
		sv_restor();
		goto R999;
	case 260: // STATE 2783
		sv_restor();
		goto R999;
;
		;
		
	case 262: // STATE 2786
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 263: // STATE 2787
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 264: // STATE 2790
		sv_restor();
		goto R999;

	case 265: // STATE 2791
		;
	/* 0 */	((P3 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 266: // STATE 2794
		sv_restor();
		goto R999;
	case 267: // STATE 2827
		sv_restor();
		goto R999;
;
		;
			case 269: // STATE 2871
		sv_restor();
		goto R999;
;
		;
			case 271: // STATE 2875
		sv_restor();
		goto R999;
	case 272: // STATE 2878
		sv_restor();
		goto R999;

	case 273: // STATE 2901
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 275: // STATE 2918
		sv_restor();
		goto R999;
	case 276: // STATE 3023
		sv_restor();
		goto R999;
;
		;
			case 278: // STATE 3067
		sv_restor();
		goto R999;
;
		;
			case 280: // STATE 3071
		sv_restor();
		goto R999;
	case 281: // STATE 3074
		sv_restor();
		goto R999;

	case 282: // STATE 3087
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 284: // STATE 3104
		sv_restor();
		goto R999;
	case 285: // STATE 3108
		sv_restor();
		goto R999;
;
		;
		
	case 287: // STATE 3110
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;

	case 288: // STATE 3124
		;
	/* 0 */	((P3 *)_this)->whole = trpt->bup.oval;
		;
		;
		goto R999;
	case 289: // STATE 3127
		sv_restor();
		goto R999;
	case 290: // STATE 3143
		sv_restor();
		goto R999;

	case 291: // STATE 3146
		;
		((P3 *)_this)->want = trpt->bup.oval;
		;
		goto R999;

	case 292: // STATE 3147
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 293: // STATE 3152
		;
		((P3 *)_this)->want = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 294: // STATE 3155
		;
	/* 0 */	((P3 *)_this)->want = trpt->bup.oval;
		;
		;
		goto R999;

	case 295: // STATE 3166
		;
		now.readEnded = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 297: // STATE 3171
		sv_restor();
		goto R999;
	case 298: // STATE 3187
		sv_restor();
		goto R999;

	case 299: // STATE 3190
		;
		now.token = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 300: // STATE 3192
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 302: // STATE 3226
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 305: // STATE 3265
		sv_restor();
		goto R999;
;
		;
			case 307: // STATE 3309
		sv_restor();
		goto R999;
;
		;
			case 309: // STATE 3313
		sv_restor();
		goto R999;
	case 310: // STATE 3316
		sv_restor();
		goto R999;
	case 311: // STATE 3346
		sv_restor();
		goto R999;
;
		;
		
	case 313: // STATE 3349
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 314: // STATE 3350
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 315: // STATE 3353
		sv_restor();
		goto R999;

	case 316: // STATE 3354
		;
	/* 0 */	((P3 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 317: // STATE 3357
		sv_restor();
		goto R999;
	case 318: // STATE 3390
		sv_restor();
		goto R999;
;
		;
			case 320: // STATE 3434
		sv_restor();
		goto R999;
;
		;
			case 322: // STATE 3438
		sv_restor();
		goto R999;
	case 323: // STATE 3441
		sv_restor();
		goto R999;

	case 324: // STATE 3464
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 326: // STATE 3481
		sv_restor();
		goto R999;
	case 327: // STATE 3586
		sv_restor();
		goto R999;
;
		;
			case 329: // STATE 3630
		sv_restor();
		goto R999;
;
		;
			case 331: // STATE 3634
		sv_restor();
		goto R999;
	case 332: // STATE 3637
		sv_restor();
		goto R999;

	case 333: // STATE 3650
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 335: // STATE 3667
		sv_restor();
		goto R999;
	case 336: // STATE 3671
		sv_restor();
		goto R999;
;
		;
		
	case 338: // STATE 3673
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;

	case 339: // STATE 3687
		;
	/* 0 */	((P3 *)_this)->whole = trpt->bup.oval;
		;
		;
		goto R999;
	case 340: // STATE 3690
		sv_restor();
		goto R999;
	case 341: // STATE 3706
		sv_restor();
		goto R999;

	case 342: // STATE 3709
		;
		((P3 *)_this)->want = trpt->bup.oval;
		;
		goto R999;

	case 343: // STATE 3710
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 344: // STATE 3715
		;
		((P3 *)_this)->want = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 345: // STATE 3718
		;
	/* 0 */	((P3 *)_this)->want = trpt->bup.oval;
		;
		;
		goto R999;
	case 346: // STATE 3743
		sv_restor();
		goto R999;

	case 347: // STATE 3746
		;
		now.token = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 348: // STATE 3748
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 350: // STATE 3782
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 353: // STATE 3821
		sv_restor();
		goto R999;
;
		;
			case 355: // STATE 3865
		sv_restor();
		goto R999;
;
		;
			case 357: // STATE 3869
		sv_restor();
		goto R999;
	case 358: // STATE 3872
		sv_restor();
		goto R999;
	case 359: // STATE 3902
		sv_restor();
		goto R999;
;
		;
		
	case 361: // STATE 3905
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 362: // STATE 3906
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 363: // STATE 3909
		sv_restor();
		goto R999;

	case 364: // STATE 3910
		;
	/* 0 */	((P3 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 365: // STATE 3913
		sv_restor();
		goto R999;
	case 366: // STATE 3946
		sv_restor();
		goto R999;
;
		;
			case 368: // STATE 3990
		sv_restor();
		goto R999;
;
		;
			case 370: // STATE 3994
		sv_restor();
		goto R999;
	case 371: // STATE 3997
		sv_restor();
		goto R999;

	case 372: // STATE 4020
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 374: // STATE 4037
		sv_restor();
		goto R999;
	case 375: // STATE 4142
		sv_restor();
		goto R999;
;
		;
			case 377: // STATE 4186
		sv_restor();
		goto R999;
;
		;
			case 379: // STATE 4190
		sv_restor();
		goto R999;
	case 380: // STATE 4193
		sv_restor();
		goto R999;

	case 381: // STATE 4206
		;
		((P3 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 383: // STATE 4223
		sv_restor();
		goto R999;
	case 384: // STATE 4227
		sv_restor();
		goto R999;
;
		;
		
	case 386: // STATE 4229
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;

	case 387: // STATE 4243
		;
	/* 0 */	((P3 *)_this)->whole = trpt->bup.oval;
		;
		;
		goto R999;
	case 388: // STATE 4246
		sv_restor();
		goto R999;
	case 389: // STATE 4262
		sv_restor();
		goto R999;

	case 390: // STATE 4265
		;
		((P3 *)_this)->want = trpt->bup.oval;
		;
		goto R999;

	case 391: // STATE 4266
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 392: // STATE 4271
		;
		((P3 *)_this)->want = trpt->bup.ovals[1];
	/* 0 */	((P3 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 393: // STATE 4274
		;
	/* 0 */	((P3 *)_this)->want = trpt->bup.oval;
		;
		;
		goto R999;
	case 394: // STATE 4282
		sv_restor();
		goto R999;

	case 395: // STATE 4283
		;
	/* 0 */	((P3 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 396: // STATE 4286
		sv_restor();
		goto R999;
	case 397: // STATE 4319
		sv_restor();
		goto R999;
;
		;
			case 399: // STATE 4363
		sv_restor();
		goto R999;
;
		;
			case 401: // STATE 4367
		sv_restor();
		goto R999;
	case 402: // STATE 4370
		sv_restor();
		goto R999;

	case 403: // STATE 4386
		;
		p_restor(II);
		;
		;
		goto R999;

		 /* PROC closer */
;
		;
		;
		;
		;
		;
			case 407: // STATE 63
		sv_restor();
		goto R999;
;
		;
			case 409: // STATE 107
		sv_restor();
		goto R999;
;
		;
			case 411: // STATE 111
		sv_restor();
		goto R999;
	case 412: // STATE 114
		sv_restor();
		goto R999;
	case 413: // STATE 140
		sv_restor();
		goto R999;

	case 414: // STATE 143
		;
		now.token = trpt->bup.ovals[1];
	/* 0 */	((P2 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 415: // STATE 145
		;
		((P2 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 417: // STATE 179
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 420: // STATE 218
		sv_restor();
		goto R999;
;
		;
			case 422: // STATE 262
		sv_restor();
		goto R999;
;
		;
			case 424: // STATE 266
		sv_restor();
		goto R999;
	case 425: // STATE 269
		sv_restor();
		goto R999;
	case 426: // STATE 299
		sv_restor();
		goto R999;
;
		;
		
	case 428: // STATE 302
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 429: // STATE 303
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 430: // STATE 306
		sv_restor();
		goto R999;

	case 431: // STATE 307
		;
	/* 0 */	((P2 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 432: // STATE 310
		sv_restor();
		goto R999;
	case 433: // STATE 343
		sv_restor();
		goto R999;
;
		;
			case 435: // STATE 387
		sv_restor();
		goto R999;
;
		;
			case 437: // STATE 391
		sv_restor();
		goto R999;
	case 438: // STATE 394
		sv_restor();
		goto R999;

	case 439: // STATE 417
		;
		((P2 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 441: // STATE 434
		sv_restor();
		goto R999;
	case 442: // STATE 539
		sv_restor();
		goto R999;
;
		;
			case 444: // STATE 583
		sv_restor();
		goto R999;
;
		;
			case 446: // STATE 587
		sv_restor();
		goto R999;
	case 447: // STATE 590
		sv_restor();
		goto R999;

	case 448: // STATE 603
		;
		((P2 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 450: // STATE 620
		sv_restor();
		goto R999;
	case 451: // STATE 624
		sv_restor();
		goto R999;
;
		;
		
	case 453: // STATE 626
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;

	case 454: // STATE 640
		;
	/* 0 */	((P2 *)_this)->whole = trpt->bup.oval;
		;
		;
		goto R999;
	case 455: // STATE 643
		sv_restor();
		goto R999;
	case 456: // STATE 659
		sv_restor();
		goto R999;

	case 457: // STATE 662
		;
		((P2 *)_this)->want = trpt->bup.oval;
		;
		goto R999;

	case 458: // STATE 663
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 459: // STATE 668
		;
		((P2 *)_this)->want = trpt->bup.ovals[1];
	/* 0 */	((P2 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 460: // STATE 671
		;
	/* 0 */	((P2 *)_this)->want = trpt->bup.oval;
		;
		;
		goto R999;
;
		;
		;
		;
			case 463: // STATE 682
		sv_restor();
		goto R999;
	case 464: // STATE 698
		sv_restor();
		goto R999;

	case 465: // STATE 701
		;
		now.token = trpt->bup.ovals[1];
	/* 0 */	((P2 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 466: // STATE 703
		;
		((P2 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 468: // STATE 737
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 471: // STATE 776
		sv_restor();
		goto R999;
;
		;
			case 473: // STATE 820
		sv_restor();
		goto R999;
;
		;
			case 475: // STATE 824
		sv_restor();
		goto R999;
	case 476: // STATE 827
		sv_restor();
		goto R999;
	case 477: // STATE 857
		sv_restor();
		goto R999;
;
		;
		
	case 479: // STATE 860
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 480: // STATE 861
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 481: // STATE 864
		sv_restor();
		goto R999;

	case 482: // STATE 865
		;
	/* 0 */	((P2 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 483: // STATE 868
		sv_restor();
		goto R999;
	case 484: // STATE 901
		sv_restor();
		goto R999;
;
		;
			case 486: // STATE 945
		sv_restor();
		goto R999;
;
		;
			case 488: // STATE 949
		sv_restor();
		goto R999;
	case 489: // STATE 952
		sv_restor();
		goto R999;

	case 490: // STATE 975
		;
		((P2 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 492: // STATE 992
		sv_restor();
		goto R999;
	case 493: // STATE 1097
		sv_restor();
		goto R999;
;
		;
			case 495: // STATE 1141
		sv_restor();
		goto R999;
;
		;
			case 497: // STATE 1145
		sv_restor();
		goto R999;
	case 498: // STATE 1148
		sv_restor();
		goto R999;

	case 499: // STATE 1161
		;
		((P2 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 501: // STATE 1178
		sv_restor();
		goto R999;
	case 502: // STATE 1182
		sv_restor();
		goto R999;
;
		;
		
	case 504: // STATE 1184
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;

	case 505: // STATE 1198
		;
	/* 0 */	((P2 *)_this)->whole = trpt->bup.oval;
		;
		;
		goto R999;
	case 506: // STATE 1201
		sv_restor();
		goto R999;
	case 507: // STATE 1217
		sv_restor();
		goto R999;

	case 508: // STATE 1220
		;
		((P2 *)_this)->want = trpt->bup.oval;
		;
		goto R999;

	case 509: // STATE 1221
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 510: // STATE 1226
		;
		((P2 *)_this)->want = trpt->bup.ovals[1];
	/* 0 */	((P2 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 511: // STATE 1229
		;
	/* 0 */	((P2 *)_this)->want = trpt->bup.oval;
		;
		;
		goto R999;

	case 512: // STATE 1238
		;
		p_restor(II);
		;
		;
		goto R999;

		 /* PROC poster */
	case 513: // STATE 13
		sv_restor();
		goto R999;

	case 514: // STATE 14
		;
		((P1 *)_this)->mine = trpt->bup.oval;
		;
		goto R999;
	case 515: // STATE 30
		sv_restor();
		goto R999;

	case 516: // STATE 33
		;
		now.token = trpt->bup.ovals[1];
	/* 0 */	((P1 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 517: // STATE 35
		;
		((P1 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 519: // STATE 69
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 522: // STATE 108
		sv_restor();
		goto R999;
;
		;
			case 524: // STATE 152
		sv_restor();
		goto R999;
;
		;
			case 526: // STATE 156
		sv_restor();
		goto R999;
	case 527: // STATE 159
		sv_restor();
		goto R999;
	case 528: // STATE 189
		sv_restor();
		goto R999;
;
		;
		
	case 530: // STATE 192
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 531: // STATE 193
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 532: // STATE 196
		sv_restor();
		goto R999;

	case 533: // STATE 197
		;
	/* 0 */	((P1 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 534: // STATE 200
		sv_restor();
		goto R999;
	case 535: // STATE 233
		sv_restor();
		goto R999;
;
		;
			case 537: // STATE 277
		sv_restor();
		goto R999;
;
		;
			case 539: // STATE 281
		sv_restor();
		goto R999;
	case 540: // STATE 284
		sv_restor();
		goto R999;

	case 541: // STATE 307
		;
		((P1 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 543: // STATE 324
		sv_restor();
		goto R999;
	case 544: // STATE 429
		sv_restor();
		goto R999;
;
		;
			case 546: // STATE 473
		sv_restor();
		goto R999;
;
		;
			case 548: // STATE 477
		sv_restor();
		goto R999;
	case 549: // STATE 480
		sv_restor();
		goto R999;

	case 550: // STATE 493
		;
		((P1 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 552: // STATE 510
		sv_restor();
		goto R999;
	case 553: // STATE 514
		sv_restor();
		goto R999;
;
		;
		
	case 555: // STATE 516
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;

	case 556: // STATE 530
		;
	/* 0 */	((P1 *)_this)->whole = trpt->bup.oval;
		;
		;
		goto R999;
	case 557: // STATE 533
		sv_restor();
		goto R999;
	case 558: // STATE 549
		sv_restor();
		goto R999;

	case 559: // STATE 552
		;
		((P1 *)_this)->want = trpt->bup.oval;
		;
		goto R999;

	case 560: // STATE 553
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 561: // STATE 558
		;
		((P1 *)_this)->want = trpt->bup.ovals[1];
	/* 0 */	((P1 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 562: // STATE 561
		;
	/* 0 */	((P1 *)_this)->want = trpt->bup.oval;
		;
		;
		goto R999;

	case 563: // STATE 567
		;
		p_restor(II);
		;
		;
		goto R999;

		 /* PROC finisher */

	case 564: // STATE 1
		;
		((P0 *)_this)->whole = trpt->bup.ovals[0];
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;
;
		;
			case 566: // STATE 35
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 569: // STATE 74
		sv_restor();
		goto R999;
;
		;
			case 571: // STATE 118
		sv_restor();
		goto R999;
;
		;
			case 573: // STATE 122
		sv_restor();
		goto R999;
	case 574: // STATE 125
		sv_restor();
		goto R999;
	case 575: // STATE 155
		sv_restor();
		goto R999;
;
		;
		
	case 577: // STATE 158
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 578: // STATE 159
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 579: // STATE 162
		sv_restor();
		goto R999;

	case 580: // STATE 163
		;
	/* 0 */	((P0 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 581: // STATE 166
		sv_restor();
		goto R999;
	case 582: // STATE 199
		sv_restor();
		goto R999;
;
		;
			case 584: // STATE 243
		sv_restor();
		goto R999;
;
		;
			case 586: // STATE 247
		sv_restor();
		goto R999;
	case 587: // STATE 250
		sv_restor();
		goto R999;

	case 588: // STATE 273
		;
		((P0 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 590: // STATE 290
		sv_restor();
		goto R999;
	case 591: // STATE 395
		sv_restor();
		goto R999;
;
		;
			case 593: // STATE 439
		sv_restor();
		goto R999;
;
		;
			case 595: // STATE 443
		sv_restor();
		goto R999;
	case 596: // STATE 446
		sv_restor();
		goto R999;

	case 597: // STATE 459
		;
		((P0 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 599: // STATE 476
		sv_restor();
		goto R999;
	case 600: // STATE 480
		sv_restor();
		goto R999;
;
		;
		
	case 602: // STATE 482
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;
	case 603: // STATE 498
		sv_restor();
		goto R999;
	case 604: // STATE 514
		sv_restor();
		goto R999;

	case 605: // STATE 517
		;
		now.token = trpt->bup.ovals[1];
	/* 0 */	((P0 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 606: // STATE 519
		;
		((P0 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 608: // STATE 553
		sv_restor();
		goto R999;
;
		;
		;
		;
			case 611: // STATE 592
		sv_restor();
		goto R999;
;
		;
			case 613: // STATE 636
		sv_restor();
		goto R999;
;
		;
			case 615: // STATE 640
		sv_restor();
		goto R999;
	case 616: // STATE 643
		sv_restor();
		goto R999;
	case 617: // STATE 673
		sv_restor();
		goto R999;
;
		;
		
	case 619: // STATE 676
		;
		now.deadline = trpt->bup.oval;
		;
		goto R999;

	case 620: // STATE 677
		;
		now.flushed = trpt->bup.oval;
		;
		goto R999;
	case 621: // STATE 680
		sv_restor();
		goto R999;

	case 622: // STATE 681
		;
	/* 0 */	((P0 *)_this)->last = trpt->bup.oval;
		;
		;
		goto R999;
	case 623: // STATE 684
		sv_restor();
		goto R999;
	case 624: // STATE 717
		sv_restor();
		goto R999;
;
		;
			case 626: // STATE 761
		sv_restor();
		goto R999;
;
		;
			case 628: // STATE 765
		sv_restor();
		goto R999;
	case 629: // STATE 768
		sv_restor();
		goto R999;

	case 630: // STATE 791
		;
		((P0 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 632: // STATE 808
		sv_restor();
		goto R999;
	case 633: // STATE 913
		sv_restor();
		goto R999;
;
		;
			case 635: // STATE 957
		sv_restor();
		goto R999;
;
		;
			case 637: // STATE 961
		sv_restor();
		goto R999;
	case 638: // STATE 964
		sv_restor();
		goto R999;

	case 639: // STATE 977
		;
		((P0 *)_this)->whole = trpt->bup.oval;
		;
		goto R999;
;
		;
			case 641: // STATE 994
		sv_restor();
		goto R999;
	case 642: // STATE 998
		sv_restor();
		goto R999;
;
		;
		
	case 644: // STATE 1000
		;
		now.killed = trpt->bup.oval;
		;
		goto R999;

	case 645: // STATE 1014
		;
	/* 0 */	((P0 *)_this)->whole = trpt->bup.oval;
		;
		;
		goto R999;
	case 646: // STATE 1017
		sv_restor();
		goto R999;
	case 647: // STATE 1033
		sv_restor();
		goto R999;

	case 648: // STATE 1036
		;
		((P0 *)_this)->want = trpt->bup.oval;
		;
		goto R999;

	case 649: // STATE 1037
		;
		;
		delproc(0, now._nr_pr-1);
		;
		goto R999;

	case 650: // STATE 1042
		;
		((P0 *)_this)->want = trpt->bup.ovals[1];
	/* 0 */	((P0 *)_this)->want = trpt->bup.ovals[0];
		;
		;
		ungrab_ints(trpt->bup.ovals, 2);
		goto R999;

	case 651: // STATE 1045
		;
	/* 0 */	((P0 *)_this)->want = trpt->bup.oval;
		;
		;
		goto R999;

	case 652: // STATE 1051
		;
		p_restor(II);
		;
		;
		goto R999;
	}

