package mpa

import (
	"encoding/binary"

	"github.com/rddp/rddp/mpa/internal/crc32c"
)

// The CRC of an FPDU is the CRC32C that iSCSI uses (RFC 5044 §4.4). Package crc32c computes it.
// Only this file uses that package, for FPDUs and for nothing else.

// updateCRC returns the CRC of the bytes whose CRC is crc, followed by p. The CRC of no bytes is 0.
func updateCRC(crc uint32, p []byte) uint32 { return crc32c.Update(crc, p) }

// updateCRCOfPayload is updateCRC for long payload in the program's memory, which is probably not
// in the CPU's cache.
func updateCRCOfPayload(crc uint32, p []byte) uint32 { return crc32c.UpdateCold(crc, p) }

// updateCRCAhead is updateCRC for an FPDU whose payload will be copied to dst, which is probably
// not in the CPU's cache.
func updateCRCAhead(crc uint32, p, dst []byte) uint32 { return crc32c.UpdateAhead(crc, p, dst) }

// aheadFrom is the length in bytes of the shortest FPDU for which a Receiver calls Destination.
const aheadFrom = 16 << 10

// copiedWithCRC is the length in bytes of the shortest piece that is copied and summed in one pass.
// The bytes before such a piece must be summed separately, which costs too much for shorter pieces.
const copiedWithCRC = 512

// copyWithCRC copies p to b, which is at least as long, and returns the CRC of the bytes whose CRC
// is crc, followed by that copy. If p changes meanwhile, the CRC is still that of the copy.
func copyWithCRC(crc uint32, b, p []byte) uint32 { return crc32c.Copy(crc, b, p) }

// putCRC writes a CRC field. All other numbers of MPA are big-endian, but the CRC is sent with the
// least significant octet first. That follows from iSCSI's rule, and the examples of RFC 5044 §4.4
// show it.
func putCRC(b []byte, crc uint32) { binary.LittleEndian.PutUint32(b, crc) }

// getCRC reads a CRC field.
func getCRC(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
