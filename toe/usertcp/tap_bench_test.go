package usertcp

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/rddp/rddp/mpa"
)

// BenchmarkTap measures the cost of a segment in the tap and in MPA, without TCP and placement. The
// segments hold one byte or one FPDU each. They come in order or behind a gap. Behind the gap, each
// segment of one byte has another gap before it. The ratios are to segments in order.
func BenchmarkTap(b *testing.B) {
	for _, payload := range []int{0, 4, 1300} { // of FPDUs; 0 is for bytes
		b.Run(fmt.Sprintf("payload %d", payload), func(b *testing.B) {
			var total [2]time.Duration
			var segments [2]int
			for b.Loop() {
				for early := range total {
					n, cost := tapCost(b, payload, early)
					total[early] += cost
					segments[early] += n
				}
			}
			inOrder := float64(total[0].Nanoseconds()) / float64(segments[0])
			behindGap := float64(total[1].Nanoseconds()) / float64(segments[1])
			b.ReportMetric(inOrder, "in-order-ns")
			b.ReportMetric(behindGap, "behind-gap-ns")
			b.ReportMetric(behindGap/inOrder, "ratio")
		})
	}
}

// tapCost measures segments. With early = 1 the first one does not come.
func tapCost(b *testing.B, payload, early int) (segments int, cost time.Duration) {
	w := newWire(b)
	tx, batch := mpa.NewSender(mpa.Agreement{CRC: true, TxMarkers: true}), mpa.NewBatch(mpa.MinBuffer)
	rx := mpa.NewReceiver(mpa.Agreement{CRC: true, RxMarkers: true})
	rx.SetBuffer(make([]byte, 2*mpa.MinBuffer))
	var packets [][]byte
	off := 0
	for range 200 {
		if off > ourWindow-2000 {
			break
		}
		length := payload
		if length == 0 {
			length = 200
		}
		tx.Append(batch, true, make([]byte, 14+length))
		fpdu := bytes.Join(batch.Bufs(), nil)
		batch.Reset()
		if payload > 0 {
			packets = append(packets, w.segment(off, fpdu))
		}
		for i := 0; payload == 0 && i < len(fpdu); i += 1 + early {
			packets = append(packets, w.segment(off+i, fpdu[i:i+1]))
		}
		off += len(fpdu)
	}
	packets = packets[early:]
	p := make([]byte, 2000)
	read := uint64(0) // in order
	began := time.Now()
	for _, packet := range packets {
		w.tap.inbound(packet)
		n, at := w.flow.takeRun(p, read)
		if early == 0 { // TCP has it
			s, _ := decode(packet)
			n, at = copy(p, s.payload), read
			read += uint64(n)
		}
		if n > 0 {
			rx.Fill(at, copy(rx.Free(), p[:n]))
			for rx.Next() {
			}
		}
	}
	return len(packets), time.Since(began)
}
