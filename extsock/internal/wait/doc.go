// Package wait has what goroutines wait for with a select: deadlines that can be moved, and conditions.
package wait
