package main

import "math"

// This file has the models that the document shows beside the measured values: that of RFC 5044's
// Appendix B, and one for the constant K, which the RFC leaves open.

// bufferSizeTCP returns the bytes that a TCP receiver needs under worst-case conditions:
// "BufferSizeTCP = K * bandwidth [octets/second] * Delay [seconds]. Where bandwidth is the
// end-to-end bandwidth of the connection, delay is the round-trip delay of the connection, and K is
// an implementation-dependent constant." (RFC 5044 §B.2)
func bufferSizeTCP(k, bandwidth, delay float64) float64 { return k * bandwidth * delay }

// bufferSizeNAF returns the bytes that a receiver of FPDUs needs if FPDUs are not aligned to
// segments: "BufferSizeNAF = K1* EMSS * number_of_connections + K2 * EMSS" (RFC 5044 §B.2).
func bufferSizeNAF(k1, k2 float64, emss, connections int) float64 {
	return k1*float64(emss)*float64(connections) + k2*float64(emss)
}

// bufferSizeAF returns the bytes that it needs if FPDUs are aligned, for all connections together:
// "BufferSizeAF = K2 * EMSS" (RFC 5044 §B.2).
func bufferSizeAF(k2 float64, emss int) float64 { return k2 * float64(emss) }

// A fullLink is a model of a connection without congestion control, for the mean value of K. One
// segment is sent in each slot, and perRTT slots are a round trip. Each segment is lost with the
// probability loss. A lost segment is sent again in addition, and arrives a whole number of round
// trips late: one for each time that it was lost.
type fullLink struct {
	loss   float64
	perRTT int
}

// gap returns the share of time in which there is a gap with segments behind it, and the mean
// number of these segments in that time.
//
// A segment that is a slots old, counted from when it would arrive, is missing with the probability
// q(a) = loss^(⌊a/perRTT⌋+1), independently of the others. It waits if it is there and an older one
// is missing. There is no gap if the newest j are missing and all others are there, for any j.
func (l fullLink) gap() (open, segments float64) {
	const negligible = 1e-15
	var missing []float64 // by age
	for q := l.loss; q > negligible; q *= l.loss {
		for range l.perRTT {
			missing = append(missing, q)
		}
	}
	there := make([]float64, len(missing)+1) // probability that all of at least that age are there
	there[len(missing)] = 1
	for a := len(missing) - 1; a >= 0; a-- {
		there[a] = there[a+1] * (1 - missing[a])
	}
	waiting, closed, newest := 0.0, 0.0, 1.0
	for a, q := range missing {
		waiting += (1 - q) * (1 - there[a+1])
		closed += newest * there[a]
		newest *= q
	}
	closed += newest
	if open = 1 - closed; open <= negligible {
		return 0, 0
	}
	return open, waiting / open
}

// k returns the mean value of K of that many connections together, while one of them has a gap: the
// bytes that wait, divided by the bytes of a round trip. The connections are independent of one
// another.
func (l fullLink) k(connections int) float64 {
	open, segments := l.gap()
	oneOpen := 1 - math.Pow(1-open, float64(connections)) // the probability that one of them has a gap
	return ratio(open*segments, oneOpen*float64(l.perRTT))
}
