package ddp

import "fmt"

// An STag (Steering Tag) names a Tagged Buffer, here a [Region]. The name is valid on the streams
// that the Region is associated with, and means nothing on other streams.
type STag uint32

// String returns the STag in hexadecimal digits.
func (s STag) String() string { return fmt.Sprintf("0x%08X", uint32(s)) }
