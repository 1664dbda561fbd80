package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/rddp/rddp/toe/verbs"
)

// A client sends one message and receives one. If no device can be used, it can do the same with
// package extsock.
func Example() {
	request := func(ctx context.Context, server netip.AddrPort, message string) (string, error) {
		d, err := verbs.Open("")
		if err != nil {
			return "", err
		}
		defer d.Close()
		r, err := d.NewRegion(8192, 0)
		if err != nil {
			return "", err
		}
		defer r.Close()
		answer := verbs.Segment{Region: r, Len: 4096}
		q, err := d.Dial(ctx, server, verbs.Config{Prepare: func(q *verbs.QP) error { return q.PostReceive(1, answer) }})
		if err != nil {
			return "", err
		}
		defer q.Close()
		n := copy(r.Bytes()[4096:], message)
		if err := q.Post(verbs.Request{ID: 2, Op: verbs.OpSend}, verbs.Segment{Region: r, Off: 4096, Len: n}); err != nil {
			return "", err
		}
		for {
			var done [2]verbs.Completion
			n, err := q.Wait(ctx, done[:])
			if err != nil {
				return "", err
			}
			for _, c := range done[:n] {
				if c.Err != nil {
					return "", c.Err
				}
				if c.ID == 1 {
					return string(r.Bytes()[:c.Len]), nil
				}
			}
		}
	}

	answer, err := request(context.Background(), netip.MustParseAddrPort("192.0.2.1:7471"), "hello")
	var u *verbs.UnavailableError
	if errors.As(err, &u) {
		fmt.Println("not on a device:", u.Reason)
		return
	}
	fmt.Println(answer, err)
}
