// Package check finds mistakes of programs that use verbs: what works on this device by luck, and
// may fail on another one, or in production.
//
// The RNIC of rddp run sees every command, work request and completion. Package softrnic tells this
// package about them, and a [Reporter] logs what it finds.
//
// What decides is a value without lock, goroutine or clock: [Pair] for a queue pair, [CQ] for a
// completion queue, [Ranges] for memory, and [Report] for what has been found. Their methods are
// the events, and they return Findings.
//
// Each finding is reported once: a second one of the same kind about the same object is counted and
// not logged. A Kind that is only a Note does not count as a mistake. docs/check.md has all kinds.
package check
