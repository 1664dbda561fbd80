// Package prefetch asks the CPU to bring memory into its cache that will be used soon. The answer
// comes while the program goes on, and many lines come at once; a program that touches them one
// after another waits for each of them.
//
// A prefetch changes nothing but the time. On an architecture without assembly here it does nothing.
package prefetch
