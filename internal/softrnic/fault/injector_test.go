package fault

import (
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// injector returns the Injector for spec.
func injector(t *testing.T, spec string) *Injector {
	t.Helper()
	p, err := Parse([]string{spec})
	if err != nil {
		t.Fatal(err)
	}
	return New(p, slog.New(slog.DiscardHandler))
}

func TestNoInjector(t *testing.T) {
	i := injector(t, "seed=9")
	if i != nil || i.Send() != uverbs.Success || i.Receive() != uverbs.Success || i.Register() != 0 {
		t.Errorf("%v makes faults", i)
	}
	i.Start(nil)()
	i.StartQP(nil)()
}

// TestRules checks which operations fail: each place is counted separately.
func TestRules(t *testing.T) {
	i := injector(t, "send=FATAL_ERR@2,send=RETRY_EXC_ERR@3,receive=LOC_PROT_ERR@1,register=ENOMEM")
	var got []uverbs.WCStatus
	for range 4 {
		got = append(got, i.Send())
	}
	if want := []uverbs.WCStatus{uverbs.Success, uverbs.FatalErr, uverbs.RetryExceeded, uverbs.Success}; !slices.Equal(got, want) {
		t.Errorf("the statuses are %v, want %v", got, want)
	}
	if s, e := i.Receive(), i.Register(); s != uverbs.LocalProtErr || e != syscall.ENOMEM {
		t.Errorf("a receive: %v; a registration: %v", s, e)
	}
}

// TestShares checks that the share is roughly the requested one, that the same seed makes the same
// faults, and that another seed or another rule makes different ones.
func TestShares(t *testing.T) {
	fates := func(spec string) (all []uverbs.WCStatus, n int) {
		i := injector(t, spec)
		for range 10_000 {
			all = append(all, i.Send())
			if all[len(all)-1] != uverbs.Success {
				n++
			}
		}
		return all, n
	}
	first, n := fates("send=FATAL_ERR@10%")
	if n < 900 || n > 1100 { // 3 standard deviations are 90; the seed is fixed
		t.Errorf("%d of 10,000 fail, want about 1,000", n)
	}
	if again, _ := fates("send=FATAL_ERR@10%"); !slices.Equal(first, again) {
		t.Error("the same seed makes other faults")
	}
	if other, _ := fates("send=FATAL_ERR@10%,seed=2"); slices.Equal(first, other) {
		t.Error("another seed makes the same faults")
	}
	if _, n := fates("send=FATAL_ERR@10%,send=FATAL_ERR@10%"); n < 1700 || n > 2000 { // 1,900 if they are independent
		t.Errorf("%d of 10,000 fail by one of two rules, want about 1,900", n)
	}
}

// TestTimed checks the times of events, that device events and queue pair errors are separate, and
// that stop cancels them.
func TestTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := injector(t, "event=PORT_ERR@1s,event=PORT_ACTIVE@3s,qp-error@2s")
		begin := time.Now()
		type event struct {
			kind uverbs.EventType
			at   time.Duration
		}
		came := make(chan event, 10)
		stop := i.Start(func(e uverbs.EventType) { came <- event{e, time.Since(begin)} })
		failed := make(chan time.Duration, 10)
		i.StartQP(func() { failed <- time.Since(begin) })
		i.StartQP(func() { t.Error("a queue pair that was stopped fails") })()
		for _, want := range []event{{uverbs.EventPortErr, time.Second}, {uverbs.EventPortActive, 3 * time.Second}} {
			if got := <-came; got != want {
				t.Errorf("%v, want %v", got, want)
			}
		}
		if at := <-failed; at != 2*time.Second {
			t.Errorf("a queue pair fails after %v, want 2s", at)
		}
		stop()
	})
}
