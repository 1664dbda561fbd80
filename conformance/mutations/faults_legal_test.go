package mutations

// What a device of rddp run must keep to although it does whatever else the specification permits.
var legalFaults = []Fault{
	{Name: "late completions of one queue overtake each other", File: "internal/softrnic/latecq.go",
		Old: "stream := uint64(w.QPN) << 1", New: "stream := w.ID << 1",
		Package: "internal/softrnic", Tests: "^TestLateCompletions$"},
	{Name: "something late overtakes another thing of its stream", File: "internal/softrnic/fault/legal.go",
		Old: " && l.things[at-1].stream != stream {", New: " {",
		Package: "internal/softrnic/fault", Tests: "^TestLate$"},
	{Name: "completions are held back behind the event that all have come", File: "internal/softrnic/qpend.go",
		Old: "		q.recvCQ.release() // a program that has the event polls until the queue is empty\n", New: "",
		Package: "internal/softrnic", Tests: "^TestLegalLastReceive$"},
	{Name: "a message arrives before late bytes in front of it", File: "internal/softrnic/receive.go",
		Old: "	r.l.q.pd.placing.now()\n	r.l.q.recvMu.Lock()", New: "	r.l.q.recvMu.Lock()",
		Package: "internal/softrnic", Tests: "^TestLegalWrite$"},
	{Name: "a Read does not see late bytes", File: "internal/softrnic/memory.go",
		Old: "	m.pd.placing.now()\n	return len(p), m.process.Read", New: "	return len(p), m.process.Read",
		Package: "internal/softrnic", Tests: "^TestLegalTraffic$"},
	{Name: "late bytes overwrite later ones", File: "internal/softrnic/placing.go",
		Old: "		if w.Overlaps(check.Span{Addr: addr, Len: uint64(len(b))}) {", New: "		if w.Overlaps(check.Span{Addr: addr}) {",
		Package: "internal/softrnic", Tests: "^TestOverlappingWrites$"},
	{Name: "a late event is counted and not sent", File: "internal/softrnic/latecq.go",
		Old: "	q.noteHeldLocked()\n	for range q.late.told.Take(now, math.MaxInt) {\n		q.sendLocked()", New: "	q.noteHeldLocked()\n	for range q.late.told.Take(now, math.MaxInt) {\n		q.events++",
		Package: "internal/softrnic", Tests: "^TestLateEvents$"},
}
