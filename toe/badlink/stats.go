package badlink

// Stats counts the packets of one direction of a link since it was made. At any moment
//
//	In + Duplicated + Pieces + Injected =
//		Out + Waiting + BlackHoled + TooLong + Lost + Split + Merged + QueueDrops
type Stats struct {
	In, InBytes   uint64 // packets that were written to the link, and their bytes
	Out, OutBytes uint64 // packets that were read from the link, and their bytes

	BlackHoled uint64 // vanished by BlackHole
	TooLong    uint64 // longer than PathMTU, or than the MTU of the link of Join
	Lost       uint64 // by Loss or Burst
	Corrupted  uint64 // by Corrupt
	Repaired   uint64 // by CorruptRepaired
	Duplicated uint64 // copies that were made
	Split      uint64 // packets that were cut
	Pieces     uint64 // the packets that they became
	Merged     uint64 // packets that became part of the packet before
	Reordered  uint64 // packets that Reorder held back
	Injected   uint64 // ICMP messages of the link itself, about packets of the other direction

	QueueDrops uint64 // dropped because a queue was full, or because the far end was closed
	Refused    uint64 // of Out, the packets for which the Write of the device of Join failed
	Waiting    int    // packets that are in the link now
}
