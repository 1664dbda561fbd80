package ddphdr

// The error numbers of DDP (RFC 5041 §7.2): the Error Type, and the Error Code in the low byte.
// They have no type, because they are values of ddp.Code and of Error.
const (
	CodeLocalCatastrophic = 0x000
	CodeInvalidSTag       = 0x100 // there is no such Region, or it does not grant the access
	CodeBounds            = 0x101 // the access is not wholly inside the Region
	CodeNotAssociated     = 0x102 // the Region belongs to another stream
	CodeTOWrap            = 0x103 // TO and length add up to 2^64 or more
	CodeTaggedVersion     = 0x104
	CodeInvalidQN         = 0x201
	CodeNoBuffer          = 0x202 // no Untagged Buffer is posted for the message
	CodeMSNRange          = 0x203
	CodeInvalidMO         = 0x204
	CodeTooLong           = 0x205 // the message is longer than the Untagged Buffer
	CodeUntaggedVersion   = 0x206

	CodeULP = 0xFFFF // not a number of the RFC: a reason that has no number
)
