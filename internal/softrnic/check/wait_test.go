package check

import "testing"

// TestWaits: a wait for an event that does not tell of the completions that are there is found once
// it has lasted, and one that may end is not.
func TestWaits(t *testing.T) {
	alone := Waiting{Thread: 1, Alone: true}
	for _, tt := range []struct {
		desc   string
		before func(q *CQ) (n int)
		waits  Waiting
		others bool
		looks  int
		want   []Kind
	}{
		{"asked in time", func(q *CQ) int { q.Arms(1, 0); q.Puts(7, false, false, 1); return 1 }, alone, false, 99, nil},
		{"asked late", func(q *CQ) int { q.Puts(7, false, false, 1); q.Arms(1, 1); return 1 }, alone, false, looks, []Kind{Armed}},
		{"for a moment", func(q *CQ) int { q.Puts(7, false, false, 1); q.Arms(1, 1); return 1 }, alone, false, looks - 1, nil},
		{"asked late and polled", func(q *CQ) int { q.Puts(7, false, false, 1); q.Arms(1, 1); q.Puts(7, false, false, 2); return 1 }, alone, false, 99, nil},
		{"for other things, too", func(q *CQ) int { q.Puts(7, false, false, 1); q.Arms(1, 1); return 1 }, Waiting{Thread: 1}, true, looks, []Kind{Armed}},
		{"nobody waits", func(q *CQ) int { q.Puts(7, false, false, 1); q.Arms(1, 1); return 1 }, Waiting{}, false, 99, nil},
		{"beside other threads", func(q *CQ) int { q.Puts(7, false, false, 1); q.Arms(1, 1); return 1 }, Waiting{Thread: 1, Others: true}, false, looksOthers - 1, nil},
		{"beside others that sleep", func(q *CQ) int { q.Puts(7, false, false, 1); q.Arms(1, 1); return 1 }, Waiting{Thread: 1, Others: true}, false, looksOthers, []Kind{Armed}},
		{"beside others that work", func(q *CQ) int { q.Puts(7, false, false, 1); q.Arms(1, 1); return 1 }, Waiting{Thread: 1, Others: true, Busy: true}, false, 99, nil},
		{"its event came", func(q *CQ) int { q.Puts(7, false, false, 1); q.Arms(1, 1); q.Fires(); q.Arms(1, 0); return 1 }, alone, false, 99, nil},
		{"never asked", func(q *CQ) int { q.Puts(7, false, false, 1); return 1 }, alone, false, looks, []Kind{Armed}},
		{"not asked again", func(q *CQ) int { q.Arms(1, 0); q.Fires(); q.Puts(7, false, false, 1); return 1 }, alone, false, looks, []Kind{Armed}},
		{"not asked again, beside others", func(q *CQ) int { q.Arms(1, 0); q.Fires(); q.Puts(7, false, false, 1); return 1 }, Waiting{Thread: 1, Alone: true, Others: true}, false, looksOthers, []Kind{Armed}},
		{"another thread asks", func(q *CQ) int { q.Arms(2, 0); q.Fires(); q.Puts(7, false, false, 1); return 1 }, Waiting{Thread: 1, Alone: true, Others: true}, false, 99, nil},
		{"not asked, and another queue may tell", func(q *CQ) int { q.Puts(7, false, false, 1); return 1 }, alone, true, 99, nil},
		{"not asked, and it waits for other things", func(q *CQ) int { q.Puts(7, false, false, 1); return 1 }, Waiting{Thread: 1}, false, 99, nil},
		{"asked for solicited messages", func(q *CQ) int { q.ArmsSolicited(1); q.Puts(7, false, false, 1); return 1 }, alone, false, looks, []Kind{Armed}},
		{"and for any later", func(q *CQ) int {
			q.ArmsSolicited(1)
			q.Arms(1, 0)
			q.ArmsSolicited(1)
			q.Puts(7, false, false, 1)
			return 1
		}, alone, false, 99, nil},
		{"and one came", func(q *CQ) int {
			q.ArmsSolicited(1)
			q.Puts(7, false, true, 1)
			q.Fires()
			q.ArmsSolicited(1)
			q.Puts(7, false, false, 1)
			return 1
		}, alone, false, 99, nil},
		{"and a failed one", func(q *CQ) int { q.ArmsSolicited(1); q.Puts(7, true, false, 1); q.ArmsSolicited(1); return 1 }, alone, false, 99, nil},
		{"nothing is there", func(q *CQ) int { q.Arms(1, 0); return 0 }, alone, false, 99, nil},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			q := CQ{Name: "CQ 1", Entries: 9}
			n := tt.before(&q)
			var all []Finding
			q.IsStuck(n)
			for range tt.looks {
				if q.IsStuck(n) {
					all = append(all, q.Waits(tt.waits, n, tt.others)...)
				}
			}
			wants(t, tt.desc, append(all, q.Ends()...), tt.want...)
		})
	}
}

// TestWaitEnds: a program that polls begins to wait anew, and a solicited message that comes in the
// end is what it has waited for.
func TestWaitEnds(t *testing.T) {
	q := CQ{Name: "CQ 1", Entries: 9}
	q.Puts(7, false, false, 1)
	q.Puts(7, false, false, 2)
	q.Arms(1, 2)
	var all []Finding
	for n := range 2 {
		q.IsStuck(2 - n)
		for range looks - 1 {
			q.IsStuck(2 - n)
			all = append(all, q.Waits(Waiting{Thread: 1}, 2-n, false)...)
		}
	}
	wants(t, "polled in between", all)
	for range looks {
		q.IsStuck(1)
		all = append(all, q.Waits(Waiting{Thread: 1, Others: true}, 1, false)...)
	}
	wants(t, "other threads come", all)
	all = q.Waits(Waiting{Thread: 1}, 1, false)
	wants(t, "and go", append(all, q.Waits(Waiting{Thread: 1}, 1, false)...), Armed)
	q.Fires()
	q.ArmsSolicited(1)
	for range looks + 1 {
		q.IsStuck(1)
		q.Waits(Waiting{Thread: 1}, 1, false)
	}
	q.Puts(7, false, true, 2)
	wants(t, "a solicited message in the end", q.Ends())
}
