// Package wait provides what goroutines wait for with a select: deadlines that can move, and
// conditions.
package wait
