package spec

import "time"

// This file lists the deviations of siw in the kernel 6.1.192 of Debian 12.
const (
	siwBusy = "siw closes without its Terminate when it takes a message of its own to be in progress still."
	siwBits = "siw lays out the Terminate Control in its host's bit order: on a little-endian machine layer and error type are exchanged, " +
		"and the flags are in the low bits."
	siwOverrun    = "siw reports messages for which it has no room in its bit order, or not at all while it sends an answer."
	siwMirrors    = "siw returns the flags of the Request unchanged, including those that it should ignore."
	siwMarkers    = "siw does not support Markers: as Responder it rejects a Request that asks for them, as Initiator it closes."
	siwPrivate    = "siw accepts at most 256 bytes of Private Data, including the enhanced data, and closes the connection for more."
	siwFirst      = "siw may leave the first FPDU unread until more bytes arrive."
	siwStall      = "siw may leave the rest of a startup frame that arrives in pieces unread until more bytes arrive."
	siwTrailer    = "siw fails the CRC check of an FPDU whose pad and CRC field arrive in two pieces."
	siwDepths     = "siw treats 0x3FFF as a depth and answers with a depth of its own."
	siwKey        = "siw answers a Reply with a wrong key by a Terminate, but the connection must be closed at once."
	siwCRC        = "siw reports a depth that is too big by a Terminate, but without the CRC that the Reply has asked for."
	siwOpcode     = "siw expects the kind and the queue of a segment that its opcode requires, and reports an error other than that of the opcode, in its bit order."
	siwStale      = "siw may answer a Read of length 0 with bytes of its previous message."
	siwLongReply  = "A Reply with 512 bytes of Private Data or more crashes siw's kernel: it reads through a null pointer."
	siwCutRequest = "Connections that end inside their Request make siw's listener unusable: it resets all further ones, and its kernel " +
		"warns of a use after free when it is closed."
)

// siw is the profile of Linux's software iWARP.
func siw() *Profile {
	d := map[string]Deviation{
		"5044/4.1/pad-of-zero":                     {Sentence: "siw does not set its pad bytes to zero.", Got: "a pad byte that is not"},
		"5044/4.1/split-anywhere":                  {Sentence: siwTrailer, Got: "header is 0202"},
		"5044/4.1/octet-by-octet":                  {Sentence: siwTrailer, Got: "header is 0202"},
		"5044/4.3/sent@responder":                  {Sentence: siwMarkers, Got: "R is set"},
		"5044/4.3/sent@initiator":                  {Sentence: siwMarkers, Got: "nothing, then"},
		"5044/4.3/sent-with-short-fpdus@responder": {Sentence: siwMarkers, Got: "R is set"},
		"5044/4.3/sent-with-short-fpdus@initiator": {Sentence: siwMarkers, Got: "nothing, then"},
		"5044/7.1.2/silent-with-markers":           {Sentence: siwMarkers, Got: "R is set"},
		"5044/4.4/crc-header":                      {Sentence: "siw acts on a DDP header before it has checked the CRC, and reports what it finds there, in its bit order.", Got: "header is 2104"},
		"5044/7.1.1/reserved-bits":                 {Sentence: siwMirrors, Got: "flags 0x4f"},
		"5044/7.1.1/r-bit-in-request":              {Sentence: siwMirrors, Got: "flags 0x60"},
		"6581/6/s-in-revision-1":                   {Sentence: siwMirrors, Got: "flags 0x50, revision 1"},
		"6581/6/reserved-bits":                     {Sentence: siwMirrors, Got: "flags 0x5f"},
		"5044/7.1.1/private-data-512":              {Sentence: siwPrivate, Got: "nothing, then"},
		"6581/6/private-data-512":                  {Sentence: siwPrivate, Got: "nothing, then"},
		"6581/6/enhanced-data-cut":                 {Sentence: "siw answers an enhanced Request without its data by a Reply with R.", Got: "4d504120494420526570"},
		"5044/7.1.2/octet-by-octet":                {Sentence: siwStall, Got: "nothing within"},
		"5044/7.1.2/reply-octet-by-octet":          {Sentence: siwStall, Got: "nothing within"},
		"5044/7.1.2/reply-in-two-parts":            {Sentence: siwStall, Got: "nothing within"},
		"5044/7.1.1/reply-key-first-octet":         {Sentence: siwKey, Got: "bytes: 00164147"},
		"5044/7.1.1/reply-key-last-octet":          {Sentence: siwKey, Got: "bytes: 00164147"},
		"5044/7.1.1/key-of-a-request":              {Sentence: siwKey, Got: "bytes: 00164147"},
		"6581/9.1/ord-left-to-ulp":                 {Sentence: siwDepths, Got: "IRD 128"},
		"6581/9.1/ird-left-to-ulp":                 {Sentence: siwDepths, Got: "ORD 16"},
		"6581/9.1/reply-left-to-ulp":               {Sentence: siwDepths + " Here it is too big. " + siwCRC, Got: "00000000"},
		"6581/9.1/reply-ord-too-big":               {Sentence: siwCRC, Got: "00000000"},
		"5041/7.1/too-long":                        {Sentence: "siw reports a message that is too long as one that finds no buffer, in its bit order.", Got: "header is 2102"},
		"5041/7.1/no-buffer":                       {Sentence: siwOverrun, Got: "header is 2102", Or: "nothing, then FIN"},
		"5040/6.1/reads-beyond-ird":                {Sentence: siwOverrun, Got: "header is 2007", Or: "nothing, then FIN"},
		"5041/7.2/to-wraps":                        {Sentence: "siw reports a TO that wraps as a local catastrophic error of DDP, in its bit order.", Got: "header is 0100"},
		"5040/4.1/send-in-tagged-segment":          {Sentence: siwOpcode, Got: "header is 2101"},
		"5040/4.1/write-in-untagged-segment":       {Sentence: siwOpcode, Got: "header is 1100"},
		"5040/4.2/read-on-send-queue":              {Sentence: siwOpcode, Got: "header is 2103"},
		"5040/4.8/header-of-tagged":                {Sentence: siwBits, Got: "header is 110003"},
		"5040/5.2.1/length-0@initiator":            {Sentence: siwStale, Got: "bytes 68656c6c6f"},
		"5040/5.2.1/length-0-of-no-stag@initiator": {Sentence: siwStale, Got: "bytes 68656c6c6f"},
		"5040/7.2/read-wraps":                      {Sentence: "siw closes without a Terminate for a Read whose source TO wraps.", Got: "nothing, then"},
		"5040/7.2/no-right-to-read":                {Sentence: "siw answers a Read of memory that does not grant it.", Got: "RDMA Read Response"},
	}
	// In these cases only the bit order is wrong, in the first two octets of the Terminate Header.
	for header, ids := range map[string][]string{
		"0202": {"5044/4.4/crc-payload", "5044/4.4/crc-pad", "5044/4.4/crc-field", "5044/4.4/wrong-length"},
		"1000": {"5040/4.8/header-of-read", "5040/5.3/send-with-se-and-invalidate", "5040/7.2/read-invalid-stag"},
		"1001": {"5040/7.2/read-beyond-end", "5040/7.2/read-across-end", "5040/7.2/read-before-start"},
		"2005": {"5040/4.1/version-0", "5040/4.1/version-2", "5040/4.1/version-3"},
		"2006": {
			"5040/4.1/opcode-12", "5040/4.1/opcode-13", "5040/4.1/opcode-14", "5040/4.1/opcode-15",
			"7306/4.1/atomics-not-offered", "7306/4.1/immediate-not-offered",
		},
		"2009": {"5040/5.3/invalidate-unknown"},
		"2101": {
			"5041/7.1/qn-4", "5041/7.1/qn-255", "5041/7.1/qn-4294967295", "5040/4.2/send-on-read-queue",
			"5040/4.8/header-of-untagged", "5040/4.8/control",
		},
		"2103": {
			"5041/4.3/msn-zero", "5041/4.3/msn-replayed", "5041/4.3/msn-far-ahead", "5041/4.3/msn-gap", "5040/7.2/read-msn",
		},
		"2104": {"5041/4.3/mo-not-zero", "5041/7.1/mo-beyond-buffer", "5041/7.1/mo-wraps"},
		"2106": {"5041/4.1/untagged-version-0", "5041/4.1/untagged-version-2", "5041/4.1/untagged-version-3"},
	} {
		for _, id := range ids {
			d[id] = Deviation{Sentence: siwBits, Got: "header is " + header}
		}
	}
	return &Profile{
		Name: "siw", Pause: 100 * time.Millisecond, Stall: siwFirst, Deviations: d,
		Races: []Deviation{
			{Sentence: siwBusy, Got: "nothing, then FIN", Expected: "a Terminate"},
			{Sentence: siwBusy, Got: "0 messages; no Terminate; FIN", Expected: "the Terminate"},
			{Sentence: siwBusy, Got: "no Terminate; FIN", Expected: "the Terminate"},
		},
		Harmful: map[string]string{
			"5044/7.1.2/cut-request":              siwCutRequest,
			"5044/8/reset-in-startup@responder":   siwCutRequest,
			"5044/7.1.1/reply-private-data-512":   siwLongReply,
			"5044/7.1.1/reply-private-data-513":   siwLongReply,
			"5044/7.1.1/reply-private-data-65535": siwLongReply,
		},
	}
}
