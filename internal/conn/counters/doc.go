// Package counters counts what connections in DDP mode do: each one by itself, and all of the
// process together. Every engine of package extsock counts there.
package counters
