package driver

import "github.com/rddp/rddp/toe"

// The parcels are those whose memory a batch refers to.
type parcels []toe.Parcel

// maxParcels is how many parcels a batch refers to at most. The peer takes those of one batch while
// the next one is filled.
const maxParcels = 2

func (p parcels) areEnough() bool { return len(p) >= maxParcels }

// release is called when the batch has been written, or given up.
func (p *parcels) release() {
	for _, parcel := range *p {
		parcel.Release()
	}
	clear(*p)
	*p = (*p)[:0]
}

// Payload returns the memory to which ddp copies the payload of a Read Response from far memory: a
// parcel if the stream passes it on, and otherwise the place in the batch where that payload goes.
// So TCP, or the peer, gets a payload that has been copied once.
func (t *streamSender) Payload(header, n int) []byte {
	if s, ok := t.stream.(toe.Passer); ok && t.mayPass {
		if p := s.NewParcel(n); p != nil {
			t.parcels, t.passes = append(t.parcels, p), true
			b, at := p.Memory()
			return b[at : at+n : at+n]
		}
	}
	return t.mpa.Place(t.batch, header, n)
}
