package bytestream

import (
	"errors"
	"testing"

	"github.com/rddp/rddp/rdmap"
)

// FuzzArrived: whatever the peer sends, nothing panics, each error is an ErrStream, and each
// Arrival keeps its promises. The Sender gets the grants and credits too.
func FuzzArrived(f *testing.F) {
	f.Add([]byte("\x05\x00\x00\x00\x00x\x04\x00\x01\x00\x00"))
	f.Add([]byte("\x08\x01\x00\x00\x00\x00\x00\x01\x00\x88\x08\x03\x00\x00\x00\x00\x00\x00\x0a"))
	f.Add([]byte("\x14\x02\x00\x00\x000123456701234567\x04\x04\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReceiver(8)
		tx := NewSender(8, MinMessage, 8)
		tx.Post(make([]byte, 2000), 100)
		var wr rdmap.WorkRequest
		eof := false
		for len(in) > 0 {
			n := min(int(in[0]&0x3f), len(in)-1)
			placed := int(in[0] >> 6)
			m := in[1 : 1+n]
			in = in[1+n:]
			r.Placed(rdmap.Handle{STag: 1, TO: r.grant.TO + r.placed, Len: uint32(placed)})
			head := min(n, HeaderLen)
			r.GaveBack(tx.GivenBack())
			a, err := r.Arrived(m[:head], m[head:])
			if err == nil && a.Kind == Grant {
				err = tx.Granted(a.Grant)
			}
			if err == nil {
				err = tx.Credit(a.Credits)
			}
			if err != nil {
				if !errors.Is(err, ErrStream) {
					t.Fatal(err)
				}
				return
			}
			switch {
			case a.Kind == Data && a.N > 0 && eof:
				t.Fatal("data behind the end")
			case a.Kind == Done && a.N > MaxGrant:
				t.Fatalf("%d bytes of a grant", a.N)
			case a.N < 0 || a.Credits < 0 || a.Kind > Cancel:
				t.Fatalf("%+v", a)
			case a.Kind == Offer:
				h := rdmap.Handle{STag: 1, Len: uint32(min(a.N, 64) &^ 1)}
				r.Answer(h)
				tx.Answer(h)
			}
			eof = eof || a.End
			if a.Buffer != ExtraBuffer {
				tx.Freed(1, 8, a.Buffer == ControlBuffer)
			}
			var done []rdmap.Completion
			for tx.Next(&wr) {
				tx.Posted()
				done = append(done, rdmap.Completion{ID: wr.ID})
			}
			if tx.credits < 0 {
				t.Fatalf("%d credits", tx.credits)
			}
			tx.Completed(done)
		}
	})
}
