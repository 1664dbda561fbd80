package rdmap

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
)

// "An Event, if the Data Sink is configured to generate an Event" (RFC 5040 §3.2): the ULP asks for
// it with WaitSolicited, which the two Sends with Solicited Event wake, and the other two do not.
//
// RDMAP-5040-1.2-4, RDMAP-5040-3.2-3, RDMAP-5040-5.3-8
func TestRFC5040_3_2_EventOfEachSend(t *testing.T) {
	for op, wakes := range map[kind]bool{
		{WorkSend, false}: false, {WorkSendInvalidate, false}: false, {WorkSend, true}: true, {WorkSendInvalidate, true}: true,
	} {
		for _, n := range []int{0, 100} {
			t.Run(fmt.Sprintf("%v of %d octets", op, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					x := newPair(t, params{mulpdu: 40})
					victim, _ := x.b.register(8, allAccess)
					x.b.recv(7, 100)
					ctx, stop := context.WithCancel(context.Background())
					woken := make(chan error, 1)
					go func() { _, err := waitOne(ctx, x.b.recvCQ, true); woken <- err }()
					synctest.Wait()
					x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Data: make([]byte, n), Invalidate: victim.STag()})
					x.run()
					synctest.Wait()
					if got := len(woken) == 1; got != wakes {
						t.Errorf("an Event is raised: %t, want %t", got, wakes)
					}
					stop()
					if err := <-woken; (err == nil) != wakes {
						t.Errorf("WaitSolicited: %v", err)
					}
					if got := x.b.recvCQ.Len() == 0; got != wakes {
						t.Errorf("the Completion was taken with the Event: %t, want %t", got, wakes)
					}
				})
			})
		}
	}
}
