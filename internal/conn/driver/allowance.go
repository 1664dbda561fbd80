package driver

import (
	"cmp"

	"github.com/rddp/rddp/internal/conn/bufpool"
)

// An allowance counts the memory of one connection's unread messages, and of its grants. The
// account lasts as long as that memory: what is unread when the connection ends stays counted until
// Reads take it or Close throws it away. The lock of the lockedDelivery guards it.
type allowance struct {
	held   int64  // bytes
	least  int64  // bytes that cost nothing of the budget; 0: unreadAllowance
	window Window // open for a byte stream only, and until the connection has ended
	*account
	own account // what account points to, until setApart
}

// An account is what an allowance has taken from the budget.
type account struct {
	taken  int64 // bytes; while a window is open, the bytes of it that are in use
	grants int64 // bytes reserved for grants, and for unread data that came by them
}

// clear gives everything back to the budget. The window is closed.
func (a *account) clear() {
	common.giveGrant(a.grants)
	common.give(a.taken)
	*a = account{}
}

// setApart gives the allowance an account in memory of its own, and returns it. So the account can
// be settled for a connection that the program has dropped without Close: see lockedDelivery.end.
func (a *allowance) setApart() *account {
	apart := a.own
	a.account = &apart
	return a.account
}

// open makes the allowance that of a byte stream with window w.
func (a *allowance) open(w Window) { a.window, a.least = w, int64(w.Least)*w.Unit }

// beyond returns how many bytes of the budget the held bytes need.
func (a *allowance) beyond() int64 { return steps(a.held - cmp.Or(a.least, unreadAllowance)) }

// grant reserves memory for a grant of up to n bytes. It returns how many bytes may be granted.
func (a *allowance) grant(n int) (granted int) {
	if granted = common.takeGrant(n); granted > 0 {
		a.grants += int64(bufpool.ChunkSize(granted))
	}
	return granted
}

// endGrant gives back the memory that grant has reserved, of size bytes.
func (a *allowance) endGrant(size int) {
	common.giveGrant(int64(size))
	a.grants -= int64(size)
}

// hold adds n bytes in message mode. It reports false if the budget does not have them.
func (a *allowance) hold(n int) bool {
	if a.held >= unreadAllowance && a.held+int64(n) > unreadAllowance+a.taken {
		more := steps(int64(n))
		if !common.take(more) {
			return false
		}
		a.taken += more
	}
	a.held += int64(n)
	return true
}

// fill adds n bytes of a byte stream. The window has memory for them.
func (a *allowance) fill(n int) {
	a.held += int64(n)
	a.settle()
}

// release subtracts n bytes. It gives memory back to the budget in steps, so a connection that
// never becomes empty still gives back the memory of its peak.
func (a *allowance) release(n int) {
	a.held -= int64(n)
	if a.window.IsOpen() {
		a.settle()
	} else if beyond := a.beyond(); beyond < a.taken {
		common.give(a.taken - beyond)
		a.taken = beyond
	}
}

// settle tells the budget how much of a byte stream's window is in use.
func (a *allowance) settle() {
	if beyond := min(a.beyond(), a.window.Reserved()); a.window.IsOpen() && beyond != a.taken {
		common.filled.Add(beyond - a.taken)
		a.taken = beyond
	}
}

// end notes that the connection has ended: no message arrives any more. The budget gets back what
// no unread message uses.
func (a *allowance) end() {
	if a.window.IsOpen() {
		common.filled.Add(-a.taken)
		a.window.closeTo(a.taken)
	}
}

// steps rounds n up to whole steps. It returns 0 for a negative n.
func steps(n int64) int64 { return (max(n, 0) + unreadStep - 1) / unreadStep * unreadStep }
