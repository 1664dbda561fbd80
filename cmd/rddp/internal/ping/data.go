package ping

import (
	"bytes"
	"fmt"
)

// Ping data repeats these printable bytes.
const (
	firstLetter = 'A'
	lastLetter  = 'z'
)

// fill writes the data of ping n into p: "rdma-ping-", the number, ": ", and then the bytes from
// 'A' to 'z' repeatedly. Each ping starts with the next byte of that range. The last byte is NUL:
// rping's server needs a C string, because it sends back only the bytes up to and including the
// NUL.
func fill(p []byte, n int) {
	const letters = lastLetter - firstLetter + 1
	rest := p[copy(p, fmt.Sprintf("rdma-ping-%d: ", n)):]
	for i := range rest[:min(letters, len(rest))] {
		rest[i] = firstLetter + byte((n+i)%letters)
	}
	for done := int(letters); done < len(rest); done *= 2 { // the peer waits for this
		copy(rest[done:], rest[:done])
	}
	p[len(p)-1] = 0
}

// text returns data up to its first NUL.
func text(data []byte) []byte {
	before, _, _ := bytes.Cut(data, []byte{0})
	return before
}

// compare returns nil or a *MismatchError.
func compare(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	for i := range want {
		if got[i] != want[i] {
			return &MismatchError{Off: i, Got: got[i], Want: want[i]}
		}
	}
	panic("BUG: unequal bytes, but no byte differs")
}
