package rdmap

import (
	"fmt"
	"testing"
)

// BenchmarkOperation measures from the post at one side to the Completions at both, without MPA and
// TCP.
func BenchmarkOperation(b *testing.B) {
	for _, op := range []WorkOp{WorkSend, WorkWrite, WorkRead} {
		for _, n := range []int{0, 64, 1024, 64 << 10} {
			b.Run(fmt.Sprintf("%v/%d", op, n), func(b *testing.B) { benchmark(b, WorkRequest{Op: op}, n) })
		}
	}
	for _, op := range []WorkOp{WorkFetchAdd, WorkImmediate} {
		b.Run(op.String(), func(b *testing.B) { benchmark(b, WorkRequest{Op: op}, 0) })
	}
}

func benchmark(b *testing.B, wr WorkRequest, n int) {
	l := newLoop(b)
	l.a.mulpdu, l.b.mulpdu = 64<<10, 64<<10
	recv := make([]byte, n)
	if n > 0 {
		wr.Data = make([]byte, n)
	}
	wr.Remote = handle(l.register)
	var one [1]Completion
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		if wr.Op == WorkSend || wr.Op == WorkImmediate {
			if err := l.b.qp.PostRecv(RecvRequest{Buf: recv}); err != nil {
				b.Fatal(err)
			}
		}
		if err := l.a.qp.PostSend(&wr); err != nil {
			b.Fatal(err)
		}
		l.carry()
		if l.a.sendCQ.Poll(one[:]) != 1 {
			b.Fatal("no completion")
		}
		l.b.recvCQ.Poll(one[:])
	}
}
