package wait

import "sync/atomic"

// A Cell has room for one value, which says that something has happened, or that somebody has his
// turn. It is a channel of capacity 1 that is made when a goroutine first asks for it: a connection
// has many Cells, and waits at few of them. The zero value is an empty Cell. Any goroutine may call
// the methods.
type Cell struct {
	// c is nil, or &woken, until the channel is made.
	c atomic.Pointer[chan struct{}]
}

// woken stands for a channel that holds a value, and that nobody has asked for yet.
var woken chan struct{}

// C returns the channel.
func (l *Cell) C() chan struct{} {
	for {
		p := l.c.Load()
		if p != nil && p != &woken {
			return *p
		}
		c := make(chan struct{}, 1)
		if p == &woken {
			c <- struct{}{}
		}
		if l.c.CompareAndSwap(p, &c) {
			return c
		}
	}
}

// Wake puts a value into the Cell, unless it already holds one.
func (l *Cell) Wake() {
	if !l.c.CompareAndSwap(nil, &woken) {
		if p := l.c.Load(); p != &woken {
			Wake(*p)
		}
	}
}
