package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A page is a chain of hashes that begins with its number and its version. Its last 4 bytes are the
// CRC32C of all others.
const (
	pageLen   = 4096
	firstLen  = sha256.Size
	pageBody  = pageLen - crc32.Size
	seedLen   = 12
	versionAt = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// firstBlock returns the first bytes of a page, which differ for each version.
func firstBlock(page uint32, version uint64) [firstLen]byte {
	var seed [seedLen]byte
	binary.BigEndian.PutUint32(seed[:], page)
	binary.BigEndian.PutUint64(seed[versionAt:], version)
	return sha256.Sum256(seed[:])
}

// makePage fills p, which has pageLen bytes, with a version of a page. The time that this takes
// grows with work.
func makePage(p []byte, page uint32, version uint64, work int) {
	block := firstBlock(page, version)
	n := copy(p[:pageBody], block[:])
	for n < pageBody {
		for range work {
			block = sha256.Sum256(block[:])
		}
		n += copy(p[n:pageBody], block[:])
	}
	binary.BigEndian.PutUint32(p[pageBody:], crc32.Checksum(p[:pageBody], castagnoli))
}

var (
	errBroken  = errors.New("a page arrived broken")
	errVersion = errors.New("a page has not the version that came with it")
)

// checkWhole reports whether all bytes of a page have arrived.
func checkWhole(p []byte) error {
	if crc32.Checksum(p[:pageBody], castagnoli) != binary.BigEndian.Uint32(p[pageBody:]) {
		return errBroken
	}
	return nil
}

// checkVersion reports whether p is this version of a page.
func checkVersion(p []byte, page uint32, version uint64) error {
	if [firstLen]byte(p[:firstLen]) != firstBlock(page, version) {
		return errVersion
	}
	return nil
}
