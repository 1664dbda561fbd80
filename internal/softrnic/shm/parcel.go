package shm

const (
	// ParcelLen is the length in bytes of the payload that fits a parcel of a Stream. With a header
	// of DDP, and the header of a device's frame, it fits one FPDU.
	ParcelLen = 64736
	// PassedFrom is the minimum length in bytes of a payload that goes in a parcel.
	PassedFrom = 8 << 10
)
