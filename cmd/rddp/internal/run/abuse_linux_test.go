//go:build amd64 || arm64

package run

import (
	"fmt"
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/guest"
)

// abuse sends commands with random input, scribbles in the rings, and closes what is in use. Then
// the supervisor must still serve a program that does nothing wrong.
func abuse(seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 0))
	f, err := guest.OpenFile()
	if err != nil {
		return err
	}
	c, err := guest.Open(f)
	if err != nil {
		return err
	}
	pd, err := c.PD()
	if err != nil {
		return err
	}
	cq, err := c.CQ(16, -1, 1)
	if err != nil {
		return err
	}
	memory, err := pages(1 << 16)
	if err != nil {
		return err
	}
	mr, err := c.Register(pd, memory, guest.All)
	if err != nil {
		return err
	}
	q, err := c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 16, SGEs: 4})
	if err != nil {
		return err
	}
	peer, err := c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 16, SGEs: 4})
	if err != nil {
		return err
	}
	gid := [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}
	for _, x := range []error{q.Join(gid, peer.Num), peer.Join(gid, q.Num)} {
		if x != nil {
			return x
		}
	}
	for range 3000 {
		scribble(random, q.SQ.Bytes())
		scribble(random, peer.RQ.Bytes())
		_ = q.Post(guest.WR{ID: random.Uint64(), Op: random.Uint32N(12), Flags: random.Uint32N(16), List: []guest.SGE{mr.Part(0, 100)}})
		if random.IntN(20) == 0 { // the result does not matter
			_ = q.Modify(uint8(random.UintN(8)), gid, peer.Num, nil)
			_ = q.Join(gid, peer.Num)
		}
	}
	for range 3000 {
		in := make([]byte, random.IntN(150))
		for i := range in {
			if random.IntN(3) == 0 {
				in[i] = byte(random.Uint32())
			}
		}
		cmd := random.Uint32N(50)
		if random.IntN(4) == 0 {
			cmd |= 0x80000000
		}
		_, _, _ = c.Do(cmd, in, in[:len(in)/2], random.IntN(200), random.IntN(40))
	}
	for range 300 { // an invalid ioctl
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(f.FD), 0xc0181b01, uintptr(random.Uint64()))
	}
	// Punch a hole in the file of the rings, and try to truncate it.
	_ = unix.Fallocate(f.FD, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 1<<29)
	if err := unix.Ftruncate(f.FD, 0); err == nil {
		return fmt.Errorf("the device's file can be made shorter")
	}
	if err := f.Close(); err != nil {
		return err
	}
	return deviceProgram(nil)
}

// scribble changes a few words at random places, most of them among the indices and the first
// entries.
func scribble(random *rand.Rand, b []byte) {
	for range random.IntN(5) {
		at := random.IntN(len(b) - 4)
		if random.IntN(2) == 0 {
			at = random.IntN(1200)
		}
		b[at] = byte(random.Uint32())
	}
}
