package main

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
)

// A block begins with its number and its length, 8 bytes each. The filter inverts the number.
const headerLen = 16

// maxBlock is the maximum length of a block with its header, in bytes.
const maxBlock = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errLength = errors.New("a block has a wrong length")
	errOrder  = errors.New("a block came back out of order, or unfiltered")
	errBytes  = errors.New("a block came back with other bytes")
)

// newBlock returns a block of n bytes, and the CRC32C of everything after its header.
func newBlock(n int, seed uint64) (block []byte, sum uint32) {
	block = make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := headerLen; i < n; i++ {
		block[i] = byte(r.Uint32())
	}
	binary.BigEndian.PutUint64(block[8:], uint64(n))
	return block, crc32.Checksum(block[headerLen:], castagnoli)
}

// setNumber sets the number of a block.
func setNumber(block []byte, number uint64) { binary.BigEndian.PutUint64(block, number) }

// readBlock reads a block into memory that has maxBlock bytes.
func readBlock(r io.Reader, memory []byte) ([]byte, error) {
	if _, err := io.ReadFull(r, memory[:headerLen]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint64(memory[8:])
	if n < headerLen || n > uint64(len(memory)) {
		return nil, errLength
	}
	_, err := io.ReadFull(r, memory[headerLen:n])
	return memory[:n], err
}

// filter inverts the number of a block.
func filter(block []byte) { setNumber(block, ^binary.BigEndian.Uint64(block)) }

// check reports whether block is the filtered block with this number.
func check(block []byte, number uint64, n int, sum uint32) error {
	switch {
	case len(block) != n:
		return errLength
	case ^binary.BigEndian.Uint64(block) != number:
		return errOrder
	case crc32.Checksum(block[headerLen:], castagnoli) != sum:
		return errBytes
	}
	return nil
}
