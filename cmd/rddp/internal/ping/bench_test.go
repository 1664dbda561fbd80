package ping

import (
	"fmt"
	"testing"
)

// BenchmarkPing is the time of one ping over loopback, both ends in one process.
func BenchmarkPing(b *testing.B) {
	for _, size := range []int{64, 4096, 65536, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, err := Listen(b.Context(), "127.0.0.1:0", nil)
			if err != nil {
				b.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(b.Context()) }()
			session, err := dial(b.Context(), s.Addr().String(), &Config{})
			if err != nil {
				b.Fatal(err)
			}
			c := &client{session: session}
			if err := c.register(size); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(2 * int64(size)) // there by RDMA Read, back by RDMA Write
			b.ReportAllocs()
			for b.Loop() {
				c.n++
				if _, err := c.ping(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			c.conn.Close()
			if err := <-served; err != nil {
				b.Error(err)
			}
		})
	}
}
