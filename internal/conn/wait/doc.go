// Package wait provides what goroutines wait for with a select, such as deadlines that can move,
// and conditions.
package wait
