package mpa

import (
	"encoding/binary"
	"hash/crc32"
)

// CRC32C as iSCSI uses it (RFC 5044 §4.4): polynomial 0x11EDC6F41, register preset to all ones, bits
// reflected, result inverted.
//
// This file is the only place that computes one for FPDUs. It takes hash/crc32 of the standard library, whose
// Castagnoli code is the same as that of github.com/klauspost/crc32 (three interleaved chains of the
// CPU's CRC32 instruction, 27 GB/s on the machine where both were measured), so a dependency would
// gain nothing.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// updateCRC adds p to crc. The CRC of nothing is 0.
func updateCRC(crc uint32, p []byte) uint32 { return crc32.Update(crc, castagnoli, p) }

// putCRC writes a CRC field. Unlike all other numbers of MPA it is sent least significant octet
// first: that follows from the rule of iSCSI, and the examples of RFC 5044 §4.4 show it.
func putCRC(b []byte, crc uint32) { binary.LittleEndian.PutUint32(b, crc) }

// getCRC reads a CRC field.
func getCRC(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
