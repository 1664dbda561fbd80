package driver

import (
	"sync/atomic"
	"time"
)

// A patience lets the goroutine that receives look for octets, again and again, for a moment before it sleeps until it is
// woken. The answer of a quick peer is there sooner than that, and then the runtime's poller, the futexes of its
// threads and the kernel's wake-up have no part in it: of a short message there and back they are the dearest.
//
// It is for a waiter who has the role (see role) because quick messages come, for one goroutine of the
// process at a time, and for a connection where it was worth it of late. The role guards it.
type patience struct {
	mine bool // this is the goroutine of the process
	luck int  // how often it was rewarded of late, at most maxLuck; below 0 so many waits go without it
}

const (
	patienceTime = 50 * time.Microsecond
	maxLuck      = 4
	unlucky      = 64 // waits go without after it was not rewarded
)

// patient says that a goroutine of this process looks for octets without sleeping.
var patient atomic.Bool

// begin returns for how long to look.
func (p *patience) begin() time.Duration {
	if p.luck < 0 {
		p.luck++
		return 0
	}
	if p.mine = patient.CompareAndSwap(false, true); !p.mine {
		return 0
	}
	return patienceTime
}

// end says that it is over, if it has begun: something has come, or the goroutine sleeps.
func (p *patience) end(rewarded bool) {
	if !p.mine {
		return
	}
	p.mine = false
	patient.Store(false)
	if rewarded {
		p.luck = min(p.luck+1, maxLuck)
	} else if p.luck--; p.luck < 0 {
		p.luck = -unlucky
	}
}
