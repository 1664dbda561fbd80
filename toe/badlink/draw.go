package badlink

import "math/bits"

// A purpose is a use of random numbers. Each purpose has its own numbers, so adding or removing a
// fault changes no decision about the others.
type purpose uint64

const (
	forLoss purpose = iota + 1
	forBurst
	forBurstLoss
	forCorrupt
	forCorruptBit
	forRepaired
	forRepairedBit
	forDuplicate
	forSplit
	forPieces
	forMerge
	forReorder
	forDistance
	forJitter
	forCut // forCut+i is for cut i, so this one is the last

	forAnswer = forCut + maxPieces // jitter of the link's own messages
)

// draws gives the random numbers of one direction. They depend only on its value, the number of the
// packet and the purpose.
type draws uint64

func newDraws(seed, direction uint64) draws { return draws(mix(mix(seed) + direction)) }

// number returns 64 random bits for packet k.
func (d draws) number(k uint64, p purpose) uint64 {
	return mix(mix(uint64(d)+uint64(p)*0x9e3779b97f4a7c15) + k*0xd1342543de82ef95)
}

// below returns a random number from 0 to n-1.
func (d draws) below(k uint64, p purpose, n int) int { return int(d.below64(k, p, uint64(n))) }

func (d draws) below64(k uint64, p purpose, n uint64) uint64 {
	hi, _ := bits.Mul64(d.number(k, p), n)
	return hi
}

// chance returns true with the given probability.
func (d draws) chance(k uint64, p purpose, probability float64) bool {
	return probability > 0 && float64(d.number(k, p)>>11)*0x1p-53 < probability
}

// mix is a permutation of the 64-bit numbers in which each bit of x changes about half of the bits
// of the result: the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
