package extsock_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/devicetest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// deviceMemories returns memory of the server that the client may use, and memory of the client.
func deviceMemories(t *testing.T, b toe.Backend, server *extsock.Conn, n int, access ddp.Access) (remote, local *extsock.Memory, h rdmap.Handle) {
	t.Helper()
	remote, err := extsock.NewMemory(b, n, access)
	if err != nil {
		t.Fatal(err)
	}
	r, err := remote.Share(server)
	if err != nil {
		t.Fatal(err)
	}
	if local, err = extsock.NewMemory(b, n, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remote.Close(); local.Close() })
	return remote, local, r.Handle()
}

// part returns a Handle of a part of h.
func part(t *testing.T, h rdmap.Handle, off, n int) rdmap.Handle {
	t.Helper()
	p, err := h.Slice(int64(off), n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDevicePost: Work Requests of the program run on the device, from memory to memory, and each
// has one Completion, in order. A Write of the byte stream does not overtake them.
func TestDevicePost(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, server := devicePair(t, b)
		remote, local, h := deviceMemories(t, b, server, 1<<20, ddp.RemoteRead|ddp.RemoteWrite)
		mine := local.Bytes()
		copy(mine, pattern(300_000, 1))
		if err := client.Post(&rdmap.WorkRequest{ID: 1, Op: rdmap.WorkWrite, Data: mine[:300_000], Remote: part(t, h, 100, 300_000)}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write([]byte("written")); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 7)
		if _, err := io.ReadFull(server, p); err != nil || !bytes.Equal(remote.Bytes()[100:300_100], mine[:300_000]) {
			t.Fatalf("Read: %v, or the Write has not arrived before it", err)
		}
		own := extsock.NewCompletionQueue(4)
		n, err := client.PostBatch([]rdmap.WorkRequest{
			{ID: 2, Op: rdmap.WorkRead, Data: mine[500_000:][:300_000], Remote: part(t, h, 100, 300_000)},
			{ID: 3, Op: rdmap.WorkWrite, Unsignaled: true, Data: mine[:1], Remote: part(t, h, 0, 1)},
			{ID: 4, Op: rdmap.WorkWrite, Fence: true, Gather: [][]byte{nil, mine[5:9]}, Remote: part(t, h, 10, 4)},
			{ID: 5, Op: rdmap.WorkWrite, Remote: h},
			{ID: 6, Op: rdmap.WorkSend, Data: mine[:1]},
			{ID: 7, Op: rdmap.WorkWrite, Remote: h},
		})
		if n != 4 || !errors.Is(err, extsock.ErrMode) {
			t.Fatalf("PostBatch = %d, %v, want the first 4 and ErrMode", n, err)
		}
		for _, want := range []rdmap.Completion{
			{ID: 1, Op: rdmap.WorkWrite, Len: 300_000}, {ID: 2, Op: rdmap.WorkRead, Len: 300_000},
			{ID: 4, Op: rdmap.WorkWrite, Len: 4}, {ID: 5, Op: rdmap.WorkWrite},
		} {
			want.QPNum = client.QPNum()
			if got := complete(t, client.SendCQ()); got != want {
				t.Errorf("Completion %+v, want %+v", got, want)
			}
		}
		if !bytes.Equal(mine[500_000:800_000], mine[:300_000]) || !bytes.Equal(remote.Bytes()[10:14], mine[5:9]) || remote.Bytes()[0] != mine[0] {
			t.Error("the memory is not what was read and written")
		}
		add := rdmap.WorkRequest{ID: 8, Op: rdmap.WorkFetchAdd, Operand: 5, Remote: h}
		if b.RNIC {
			if err := client.Post(&add); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("an atomic on an RNIC: %v", err)
			}
		}
		var one [1]rdmap.Completion
		if client.SendCQ().Poll(one[:]) != 0 || own.Poll(one[:]) != 0 {
			t.Errorf("one Completion too many: %v", one[0])
		}
	})
}

// TestDevicePostSharedQueue: connections on a device may share a completion queue.
func TestDevicePostSharedQueue(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		cfg := deviceConfig(b)
		cfg.SendCQ = extsock.NewCompletionQueue(8)
		client, server := deviceEnds(t, &cfg, &cfg)
		_, local, h := deviceMemories(t, b, server, 64, ddp.RemoteWrite)
		_, own, back := deviceMemories(t, b, client, 64, ddp.RemoteWrite)
		for _, end := range []struct {
			c  *extsock.Conn
			wr rdmap.WorkRequest
		}{{client, rdmap.WorkRequest{Data: local.Bytes(), Remote: h}}, {server, rdmap.WorkRequest{Data: own.Bytes(), Remote: back}}} {
			end.wr.Op = rdmap.WorkWrite
			if err := end.c.Post(&end.wr); err != nil {
				t.Fatal(err)
			}
			if c := complete(t, cfg.SendCQ); c.QPNum != end.c.QPNum() || end.c.SendCQ() != cfg.SendCQ {
				t.Errorf("Completion %+v, want that of queue pair %d", c, end.c.QPNum())
			}
		}
	})
}

// TestDevicePostAtomics: atomics return what was there, each its own.
func TestDevicePostAtomics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := new(devicetest.Backend)
		client, server := devicePair(t, b)
		_, _, h := deviceMemories(t, b, server, 64, ddp.RemoteAtomic)
		for i := range uint64(100) {
			for _, wr := range []rdmap.WorkRequest{{Op: rdmap.WorkFetchAdd, Operand: 1}, {Op: rdmap.WorkCmpSwap, Compare: 2*i + 1, Operand: 2*i + 2}} {
				wr.Remote = part(t, h, 8, 8)
				if err := client.Post(&wr); err != nil {
					t.Fatal(err)
				}
			}
			for k := range uint64(2) {
				if c := complete(t, client.SendCQ()); c.Err != nil || c.Original != 2*i+k {
					t.Fatalf("atomic %d of pair %d: %+v", k, i, c)
				}
			}
		}
	})
}

// TestDevicePostRefuses: Post refuses what a device cannot do, and the connection goes on.
func TestDevicePostRefuses(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		cfg := deviceConfig(b)
		cfg.SendDepth = 2
		client, server := deviceEnds(t, &cfg, &cfg)
		_, local, h := deviceMemories(t, b, server, 64, ddp.RemoteRead|ddp.RemoteWrite)
		other := &devicetest.Backend{RNIC: b.RNIC}
		foreign, err := extsock.NewMemory(other, 64, 0)
		if err != nil {
			t.Fatal(err)
		}
		mine := local.Bytes()
		for name, tt := range map[string]struct {
			wr   rdmap.WorkRequest
			want error
		}{
			"memory of the heap":       {rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, 8)}, errors.ErrUnsupported},
			"memory of another device": {rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: foreign.Bytes()}, errors.ErrUnsupported},
			"no operation":             {rdmap.WorkRequest{}, rdmap.ErrBadRequest},
			"a Read with a list":       {rdmap.WorkRequest{Op: rdmap.WorkRead, Gather: [][]byte{mine}}, rdmap.ErrBadRequest},
			"a piece of the heap":      {rdmap.WorkRequest{Op: rdmap.WorkWrite, Gather: [][]byte{mine[:1], make([]byte, 1)}}, errors.ErrUnsupported},
			"seven pieces": {rdmap.WorkRequest{Op: rdmap.WorkWrite, Gather: [][]byte{mine[:1], mine[1:2], mine[2:3], mine[3:4], mine[4:5], mine[5:6], mine[6:7]}},
				errors.ErrUnsupported},
			"a solicited Write": {rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: mine, Solicited: true}, rdmap.ErrBadRequest},
			"an Inline Read":    {rdmap.WorkRequest{Op: rdmap.WorkRead, Data: mine, Inline: true}, rdmap.ErrBadRequest},
			"a Swap":            {rdmap.WorkRequest{Op: rdmap.WorkSwap}, errors.ErrUnsupported},
			"a message":         {rdmap.WorkRequest{Op: rdmap.WorkSend}, extsock.ErrMode},
		} {
			tt.wr.Remote = h
			if err := client.Post(&tt.wr); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", name, err, tt.want)
			}
		}
		full := rdmap.NewCompletionQueue(1)
		for i, want := range []error{nil, rdmap.ErrCompletionQueueFull} {
			if err := client.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: mine, Remote: h, CQ: full}); !errors.Is(err, want) {
				t.Errorf("post %d for a queue of one: %v, want %v", i, err, want)
			}
		}
		if err := foreign.Close(); err != nil {
			t.Error(err)
		}
		if err := local.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := client.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: mine, Remote: h}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("memory that is closed: %v", err)
		}
		if _, err := client.Write([]byte("still there")); err != nil {
			t.Error(err)
		}
	})
}

// TestDevicePostGather: the pieces of a gather list lie in any Memory of the device, and go as one
// message.
func TestDevicePostGather(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		cfg := deviceConfig(b)
		cfg.Messages = true
		client, server := deviceEnds(t, &cfg, &cfg)
		remote, local, h := deviceMemories(t, b, server, 64, ddp.RemoteWrite)
		other, err := extsock.NewMemory(b, 64, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		copy(local.Bytes(), "gather")
		copy(other.Bytes(), "list")
		p, q := local.Bytes(), other.Bytes()
		pieces := [][]byte{p[:1], nil, p[1:3], p[3:6], {}, p[:0], q[:1], q[1:2], q[2:4]}
		n, err := client.PostBatch([]rdmap.WorkRequest{
			{Op: rdmap.WorkWrite, Gather: pieces, Remote: h},
			{Op: rdmap.WorkSend, Gather: pieces[:3], Solicited: true},
			{Op: rdmap.WorkSend, Gather: [][]byte{nil, {}}},
		})
		if n != 3 || err != nil {
			t.Fatalf("PostBatch = %d, %v", n, err)
		}
		for i, want := range []uint32{10, 3, 0} {
			if c := complete(t, client.SendCQ()); c.Len != want || c.Err != nil {
				t.Errorf("Completion %d: %+v, want %d bytes", i, c, want)
			}
		}
		for _, want := range []string{"gat", ""} {
			got := make([]byte, 64)
			if n, err := server.Read(got); string(got[:n]) != want || err != nil {
				t.Errorf("Read = %q, %v, want %q", got[:n], err, want)
			}
		}
		if got := string(remote.Bytes()[:11]); got != "gatherlist\x00" {
			t.Errorf("the peer's memory has %q", got)
		}
		if n := b.Solicited(); n != 1 {
			t.Errorf("%d work requests were solicited, want 1", n)
		}
	})
}

// TestDevicePostInline: the payload of an Inline may lie anywhere, is the program's again at once,
// and has any length and any number of pieces. The memory of the copies is given back.
func TestDevicePostInline(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		cfg := deviceConfig(b)
		cfg.SendDepth = 4
		client, server := deviceEnds(t, &cfg, &cfg)
		remote, local, h := deviceMemories(t, b, server, 20_000, ddp.RemoteRead|ddp.RemoteWrite)
		regions := b.Regions()
		for i, n := range []int{0, 1, 8, 255, 256, 257, 5000} {
			want := pattern(n, byte(i))
			heap := bytes.Clone(want)
			other := pattern(n, byte(i+100))
			pieces, copied := [][]byte(nil), bytes.Clone(other)
			for at := 0; at < n; at += 1 + n/8 {
				pieces = append(pieces, copied[at:min(at+1+n/8, n)])
			}
			k, err := client.PostBatch([]rdmap.WorkRequest{
				{ID: 1, Op: rdmap.WorkRead, Data: local.Bytes()[:1], Remote: part(t, h, 0, 1)}, // which the next one waits for
				{ID: 2, Op: rdmap.WorkWrite, Fence: true, Inline: true, Data: heap, Remote: part(t, h, 10, n)},
				{ID: 3, Op: rdmap.WorkWrite, Inline: true, Gather: pieces, Remote: part(t, h, 10_010, n)},
			})
			if k != 3 || err != nil {
				t.Fatalf("%d bytes: PostBatch = %d, %v", n, k, err)
			}
			clear(heap)
			clear(copied)
			for id := range uint64(3) {
				if c := complete(t, client.SendCQ()); c.ID != id+1 || c.Err != nil || id > 0 && int(c.Len) != n {
					t.Errorf("%d bytes: Completion %+v", n, c)
				}
			}
			if !bytes.Equal(remote.Bytes()[10:][:n], want) || !bytes.Equal(remote.Bytes()[10_010:][:n], other) {
				t.Errorf("%d bytes: the peer's memory has others", n)
			}
		}
		if err := client.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Inline: true, Data: make([]byte, 1000), Remote: part(t, h, 0, 1000), CQ: new(rdmap.CompletionQueue)}); !errors.Is(err, rdmap.ErrCompletionQueueFull) {
			t.Errorf("without room for the Completion: %v", err)
		}
		if n := b.Regions() - regions; n != 1 { // the cells
			t.Errorf("%d regions more, want that of the short payloads", n)
		}
		if err := client.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Inline: true, Data: make([]byte, 1000), Remote: part(t, h, 19_500, 500)}); err != nil {
			t.Fatal(err)
		}
		if c, err := client.SendCQ().Wait(t.Context()); err != nil || c.Status != rdmap.StatusRemoteAccess {
			t.Errorf("beyond the end: %v, %v", c, err)
		}
		client.Close()
		synctest.Wait()
	})
}

// TestDevicePostMessages: in message mode a Send that is posted is a message, and the end that
// accepts may post before it has received one.
func TestDevicePostMessages(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		cfg := deviceConfig(b)
		cfg.Messages = true
		client, server := deviceEnds(t, &cfg, &cfg)
		remote, local, h := deviceMemories(t, b, client, 64, ddp.RemoteWrite)
		copy(local.Bytes(), "posted and written")
		n, err := server.PostBatch([]rdmap.WorkRequest{
			{ID: 1, Op: rdmap.WorkWrite, Data: local.Bytes()[:18], Remote: h},
			{ID: 2, Op: rdmap.WorkSend, Data: local.Bytes()[:6]},
		})
		if n != 2 || err != nil {
			t.Fatalf("PostBatch = %d, %v", n, err)
		}
		if _, err := client.Write([]byte("you may send")); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 64)
		if n, err := client.Read(p); string(p[:n]) != "posted" || err != nil || string(remote.Bytes()[:18]) != "posted and written" {
			t.Errorf("Read = %q, %v; the memory has %q", p[:n], err, remote.Bytes())
		}
		for id := range uint64(2) {
			if c := complete(t, server.SendCQ()); c.ID != id+1 || c.Err != nil {
				t.Errorf("Completion %+v", c)
			}
		}
	})
}

// TestDevicePostEnd: a Work Request that fails says so and ends the connection. Then, and after
// Close, Post returns why.
func TestDevicePostEnd(t *testing.T) {
	eachKind(t, func(t *testing.T, b *devicetest.Backend) {
		client, server := devicePair(t, b)
		_, local, h := deviceMemories(t, b, server, 64, ddp.RemoteRead)
		wr := rdmap.WorkRequest{ID: 9, Op: rdmap.WorkWrite, Data: local.Bytes(), Remote: h}
		if err := client.Post(&wr); err != nil {
			t.Fatal(err)
		}
		c, err := client.SendCQ().Wait(t.Context())
		if err != nil || c.ID != 9 || c.Status != rdmap.StatusRemoteAccess || c.Err == nil || c.Len != 0 {
			t.Errorf("Completion %+v", c)
		}
		synctest.Wait()
		if err := client.Post(&wr); !errors.Is(err, c.Err) {
			t.Errorf("Post behind the end = %v, want %v", err, c.Err)
		}
		client.Close()
		if err := client.Post(&wr); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Post after Close = %v", err)
		}
		var one [1]rdmap.Completion
		if client.SendCQ().Poll(one[:]) != 0 {
			t.Errorf("one Completion too many: %v", one[0])
		}
	})
}
