package check

import "fmt"

// Leaves is the event that the program ends, or closes the device, and leaves an object.
func Leaves(object, destroyer string) Finding {
	return Finding{Leak, object, "the program has not destroyed it by " + destroyer}
}

// DestroysForOther is the event that a process destroys an object that another one has made, which
// goes on.
func DestroysForOther(object, by string, own, maker int) Finding {
	return Finding{Forked, object, fmt.Sprintf("process %d has destroyed it by %s, and process %d, which has made it, goes on without it", own, by, maker)}
}

// Unmaps is the event that the program gives up n bytes at addr, while the memory of a region there
// is registered.
func Unmaps(region string, addr, n uint64) Finding {
	return Finding{Unmapped, region, fmt.Sprintf("the program has unmapped %d bytes at %#x, or dropped their pages, and has not deregistered them", n, addr)}
}

// LocalKey returns the lkey of a memory region with an rkey.
func LocalKey(rkey uint32) uint32 { return rkey ^ 0x5a5a5a5a }

// BadKey is the event that a key names no memory region of the protection domain.
func BadKey(key uint32, remote bool, why string) Finding {
	return Finding{Key, keyName(key, remote), why}
}

// Denies is the event that the memory region with a key does not allow an access.
func Denies(key uint32, remote bool, why string) Finding {
	return Finding{Access, keyName(key, remote), why}
}

// GivesRights is the event that the program deregisters a memory region, and no peer has used these
// of its rights.
func GivesRights(region, rights string) Finding {
	return Finding{Rights, region, "it gives peers " + rights + ", which none has used"}
}

// Unaligned is the event that the program posts an atomic for a word that is not aligned.
func Unaligned(rkey uint32, addr uint64) Finding {
	return Finding{Access, keyName(rkey, true), fmt.Sprintf("an atomic at %#x, which is not aligned to 8 bytes", addr)}
}

func keyName(key uint32, remote bool) string {
	if remote {
		return fmt.Sprintf("rkey %#x", key)
	}
	return fmt.Sprintf("lkey %#x", key)
}

// Refuses is the event that the device refuses a command about an object.
func Refuses(object, command, rule string) Finding {
	return Finding{Refused, object, command + " is refused: " + rule}
}

// SendsUndefined is the event that the payload of a work request has bytes that the device has put
// in memory whose contents are undefined.
func SendsUndefined(pair, work string) Finding {
	return Finding{Undefined, pair, "the payload of the work request " + work + " has contents that no message and no Read has brought: memory behind the message of a receive, or of a Read before its completion"}
}

// WritesReceive is the event that the memory of a receive has changed before its message has come.
func WritesReceive(queue string, id uint64) Finding {
	return Finding{Sink, queue, fmt.Sprintf("the memory of the receive %#x was written while it was posted, by the program or by an RDMA Write, and its message overwrites that", id)}
}

// Shares is the event that a work request has memory of a receive that is posted. A payload there
// may be meant: nobody looks at what arrives.
func Shares(pair, work string, reads bool, a, b Span) Finding {
	k := SameBuffer
	if reads {
		k = Overlap
	}
	return Finding{k, pair, fmt.Sprintf("the work request %s has %d bytes at %#x, and a receive that is posted %d bytes at %#x", work, b.Len, b.Addr, a.Len, a.Addr)}
}

// TooLong is the event that a message does not fit in its receive.
func TooLong(queue string, id uint64, datagram bool) Finding {
	why := ""
	if datagram {
		why = ", or for the 40 bytes of the header in front of a datagram"
	}
	return Finding{Access, queue, fmt.Sprintf("the receive %#x has no room for all of the message%s", id, why)}
}

// LacksMemory is the event that the program cannot read the byte at addr any more, while the
// memory of a region there is registered.
func LacksMemory(region string, addr uint64) Finding {
	return Finding{Unmapped, region, fmt.Sprintf("the program cannot read its memory at %#x, and has not deregistered it", addr)}
}

// A Span is n bytes of memory at addr.
type Span struct{ Addr, Len uint64 }

// Overlaps reports whether two spans have a byte in common.
func (s Span) Overlaps(x Span) bool {
	return s.Len > 0 && x.Len > 0 && s.Addr-x.Addr < x.Len || s.Len > 0 && x.Len > 0 && x.Addr-s.Addr < s.Len
}

// Uses is the event that memory of a region is accessed that the program has unmapped.
func Uses(region string, s Span) Finding {
	return Finding{Stale, region, fmt.Sprintf("%d bytes at %#x are used, and the program has unmapped them since they were registered: on a card these are the old pages", s.Len, s.Addr)}
}

// Changes is the event that a work request of a queue pair is carried out, and its payload is not
// what it was when it was posted.
func Changes(pair, work string, signaled bool) Finding {
	k := Payload
	if !signaled {
		k = Reuse
	}
	return Finding{k, pair, "the payload of the work request " + work + " has changed between its post and its completion: a card may send either"}
}

// Deregisters is the event that the program deregisters memory of a work request that is signaled,
// and whose completion has not come.
func Deregisters(pair, work string) Finding {
	return Finding{Payload, pair, "the memory region of the work request " + work + " is deregistered before its completion has come: on a card it may fail"}
}

// WritesSink is the event that the memory for an answer has changed before the answer has come.
func WritesSink(pair, work string) Finding {
	return Finding{Sink, pair, "the memory of the work request " + work + " was written before its answer has come, which overwrites it"}
}

// maxSamples bounds how many places of a memory region are looked at.
const maxSamples = 64

// Sample returns offsets in memory of n bytes: those of its first and its last byte, and of some in
// between, or at least one in each page.
func Sample(n uint64) (at []uint64) {
	const page = 4096
	step := max(n/maxSamples, page)
	for off := uint64(0); off < n; off += step {
		at = append(at, off)
	}
	if n > 0 {
		at = append(at, n-1)
	}
	return at
}

// PostsRubbish is the event that a field of a work request has the value that the device has put
// in fields of completions without a meaning.
func PostsRubbish(pair, work, field string, value uint32) Finding {
	return Finding{Undefined, pair, fmt.Sprintf("the %s of the work request %s is %d, from a field of a completion that has no meaning", field, work, value)}
}

// PostsTooLong is the event that no message may be as long, or as short, as that of a work request.
func PostsTooLong(pair, work, why string) Finding {
	return Finding{Access, pair, fmt.Sprintf("the work request %s is refused: %s", work, why)}
}
