//go:build race

package apps_test

// largeBudget is how many octets the bodies of more than 64 KiB have together, in each protocol, the longest
// apart.
const largeBudget = 24 << 20
