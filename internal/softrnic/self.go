package softrnic

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/retry"
	"github.com/rddp/rddp/internal/softrnic/shm"
	"github.com/rddp/rddp/rdmap"
)

// This file has queue pairs that are joined with themselves, by programs that want their own device
// to move their memory. Such a link has two connections, which are the ends of one pair of sockets:
// conn asks, and serving answers, as the device of another peer would. Both have the same receiver.
// No other process reaches the sockets, so there is no peer to check (see door.go).

// isSelfLocked reports whether the program wants to join q with itself, at any of the device's
// addresses.
//
// +checklocks:q.mu
func (q *queuePair) isSelfLocked() bool {
	return q.life.attrs.DestQPN == q.num && q.ctx.dev.has(q.life.attrs.Address.DGID)
}

// joinSelf joins q with itself. It tries again, ever more rarely and with one warning, until that
// succeeds or ctx is done: this process may have no descriptors left for a while.
func (q *queuePair) joinSelf(ctx context.Context, life uint64) {
	level := slog.LevelWarn
	for again := (retry.Wait{}); ; level = slog.LevelDebug {
		err := q.tryJoinSelf(ctx, life)
		if err == nil || ctx.Err() != nil {
			return
		}
		q.ctx.dev.log.Log(ctx, level, "a queue pair waits for its connection with itself", "qpn", q.num, "err", err)
		if !again.Pause(ctx) {
			return
		}
	}
}

func (q *queuePair) tryJoinSelf(ctx context.Context, life uint64) error {
	a, b, err := shm.SocketPair()
	if err != nil {
		return err
	}
	cfg := q.ctx.dev.Tapped(nearConfig(q.config()))
	asking, serving := conn.New(conn.StreamOf(a), true, cfg, nil), conn.New(conn.StreamOf(b), false, cfg, nil)
	q.tapped(asking)
	tappedAs(rand.Text(), asking, serving)
	if err = q.startUpSelf(ctx, asking, serving, cfg, life); err == nil {
		l := q.newLink(asking, q.num, linkSelf)
		l.serving, l.served = serving, make(chan struct{})
		if q.startLink(l, life) {
			return nil
		}
		err = errNotReady
	}
	q.giveUp(serving)
	_ = asking.Close() // nothing can be done about it
	return err
}

// startUpSelf does MPA startup between the two ends.
func (q *queuePair) startUpSelf(ctx context.Context, asking, serving *conn.Conn, cfg *conn.Config, life uint64) error {
	asked := make(chan error, 1)
	go func() {
		err := asking.Connect(ctx, nil)
		if err == nil {
			err = sayHere(asking)
		}
		asked <- err
	}()
	r, err := serving.ReceiveRequest(ctx)
	if err == nil {
		err = q.accept(ctx, r, serving, cfg, nil, life)
	}
	if err == nil {
		err = awaitPeer(serving)
	}
	if err != nil {
		_ = serving.Close() // or the other end would wait
	}
	return errors.Join(err, <-asked)
}

// serve reads what the queue pair sends to itself until the connection ends.
func (l *link) serve() {
	defer close(l.served)
	err := l.read(l.serving)
	if t := (*rdmap.TerminateError)(nil); errors.As(err, &t) && !t.Remote {
		l.settleDebts()
	}
	_ = l.serving.Close() // the other end gets a Terminate, if there is one
}
