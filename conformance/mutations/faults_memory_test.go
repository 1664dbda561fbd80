package mutations

// memoryFaults are about the budget of memory, and about the ends of connections.
var memoryFaults = []Fault{
	{Name: "the end of a byte stream gives back what is unread", File: "extsock/internal/driver/memory.go",
		Old: "a.window.closeTo(a.taken)", New: "a.window.closeTo(0)",
		Package: "extsock", Tests: "^TestMemoryOfEnded$"},
	{Name: "the window of a byte stream stays reserved after its end", File: "extsock/internal/driver/window.go",
		Old: "common.give(w.Reserved() - n)", New: "common.give(0 * n)",
		Package: "extsock", Tests: "^TestMemoryOfEnded$"},
	{Name: "Close with SetLinger(0) keeps what is unread", File: "extsock/conn.go",
		Old: "c.verbs.engine.Reset(net.ErrClosed)", New: "c.verbs.engine.Kill(net.ErrClosed)",
		Package: "extsock", Tests: "^TestMemoryOfEnded$"},
	{Name: "what is unread of a connection that is dropped stays counted", File: "extsock/internal/driver/inbox.go",
		Old: "runtime.AddCleanup(in, (*account).clear, a)", New: "runtime.KeepAlive(a)",
		Package: "extsock", Tests: "^TestMemoryOfDropped$"},
	{Name: "the receive buffer outlives the way in", File: "extsock/internal/driver/ending.go",
		Old: "	d.rx.drop()\n", New: "",
		Package: "extsock/internal/driver", Tests: "^TestRandomEvents$"},
	{Name: "a message of which a part is missing outlives the connection", File: "extsock/internal/driver/box.go",
		Old: "	if b.placing.state != placingNone {\n		b.drop()\n	}\n	if len", New: "	if len",
		Package: "extsock/internal/driver", Tests: "^TestRandomEvents$"},
}
