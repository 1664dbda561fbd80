//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// postLen is the length of either end's memory for post, in bytes. The first half is for the peer,
// and the second for this end.
const postLen = 1 << 20

// post makes each end post N rounds of Work Requests of all kinds, one end after the other, in
// message mode. Finally the dialing end posts one that the peer refuses.
func post(p *peer) (string, error) {
	m, err := extsock.NewMemory(p.cfg.Backend, postLen, ddp.RemoteRead|ddp.RemoteWrite)
	if err != nil {
		return "", err
	}
	said, err := postWith(p, m)
	return said, errors.Join(err, p.first.Close(), m.Close())
}

func postWith(p *peer, m *extsock.Memory) (said string, err error) {
	c := p.first
	h, err := exchange(p, c, m)
	if err != nil {
		return "", err
	}
	turns := []func() error{
		func() error { return postRounds(c, m.Bytes(), h, p.n) },
		func() error { return answerRounds(p, c) },
	}
	if !p.dials {
		turns[0], turns[1] = turns[1], turns[0]
	}
	for _, f := range turns {
		if err := f(); err != nil {
			return "", err
		}
	}
	if !p.dials {
		n, err := c.Read(make([]byte, 1))
		if err == nil {
			return "", fmt.Errorf("a Read of a connection that the peer has ended = %d", n)
		}
		return fmt.Sprintf("%d rounds of posts, and then %v", p.n, err), nil
	}
	h.TO += postLen - 4
	h.Len = 8
	if err := c.Post(&rdmap.WorkRequest{Op: rdmap.WorkRead, Data: m.Bytes()[:8], Remote: h}); err != nil {
		return "", err
	}
	done, err := c.SendCQ().Wait(context.Background())
	if err != nil || done.Err == nil {
		return "", fmt.Errorf("a Read beyond the peer's memory: %v, %w", done, err)
	}
	return fmt.Sprintf("%d rounds of posts, and then %v", p.n, done), nil
}

// exchange tells each end the Handle of the other one's memory.
func exchange(p *peer, c *extsock.Conn, m *extsock.Memory) (h rdmap.Handle, err error) {
	r, err := m.Share(c)
	if err != nil {
		return h, err
	}
	b := make([]byte, rdmap.HandleLen)
	do := []func() error{
		func() error { _, err := c.Write(r.Handle().AppendTo(nil)); return err },
		func() error { _, err := io.ReadFull(c, b); return err },
	}
	if !p.dials {
		do[0], do[1] = do[1], do[0]
	}
	for _, f := range do {
		if err := f(); err != nil {
			return h, err
		}
	}
	h, _, err = rdmap.ParseHandle(b)
	return h, err
}

// postRounds writes the peer's memory from a gather list and from inline heap memory, reads it
// back, and announces this with two messages, of which the first is solicited.
func postRounds(c *extsock.Conn, memory []byte, h rdmap.Handle, rounds int) error {
	mine, back := memory[postLen/2:][:postLen/4], memory[3*postLen/4:]
	copy(mine, contents(len(mine)))
	for i := range rounds {
		if err := postRound(c, mine, back, h, i); err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
	}
	text := []byte("inline")
	seven := [][]byte{mine[:1], mine[1:2], mine[2:3], mine[3:4], mine[4:5], mine[5:6], mine[6:7]}
	if err := c.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Gather: seven, Remote: h}); (err != nil) != (c.ConnectionState().Device != "") {
		return fmt.Errorf("a gather list of seven pieces: %w", err)
	} else if err == nil {
		if done, err := c.SendCQ().Wait(context.Background()); err != nil || done.Err != nil {
			return fmt.Errorf("%v, %w", done, err)
		}
	}
	copy(mine, "solicited")
	n, err := c.PostBatch([]rdmap.WorkRequest{
		{Op: rdmap.WorkSend, Gather: [][]byte{mine[:3], mine[3:9]}, Solicited: true},
		{Op: rdmap.WorkSend, Inline: true, Data: text},
	})
	if clear(text); err != nil {
		return fmt.Errorf("sends: %d, %w", n, err)
	}
	for range 2 {
		if done, err := c.SendCQ().Wait(context.Background()); err != nil || done.Err != nil {
			return fmt.Errorf("%v, %w", done, err)
		}
	}
	p := make([]byte, 10)
	if n, err := c.Read(p); string(p[:n]) != "received" {
		return fmt.Errorf("a Read returned %q, %w", p[:n], err)
	}
	return nil
}

func postRound(c *extsock.Conn, mine, back []byte, h rdmap.Handle, i int) error {
	var pieces [][]byte
	at, gathered := i, 0
	for k := range 6 {
		n := 1 + (i*7919+k*104_729)%20_000
		pieces = append(pieces, mine[at:at+n])
		at, gathered = at+n+k, gathered+n
	}
	short, long := bytes.Clone(mine[:1+i%256]), bytes.Clone(mine[i:][:257+i*31%5000])
	part := func(off, n int) rdmap.Handle {
		return rdmap.Handle{STag: h.STag, TO: h.TO + uint64(off), Len: uint32(n)}
	}
	const shortAt, longAt = 200_000, 210_000
	wrs := []rdmap.WorkRequest{
		{Op: rdmap.WorkWrite, Gather: pieces, Remote: part(0, gathered)},
		{Op: rdmap.WorkWrite, Inline: true, Data: short, Remote: part(shortAt, len(short))},
		{Op: rdmap.WorkWrite, Inline: true, Gather: [][]byte{long[:100], long[100:]}, Remote: part(longAt, len(long))},
		{Op: rdmap.WorkWrite, Unsignaled: true, Remote: part(0, 0)},
		{Op: rdmap.WorkRead, Data: back[:gathered], Remote: part(0, gathered)},
		{Op: rdmap.WorkRead, Fence: true, Data: back[shortAt:][:20_000], Remote: part(shortAt, 20_000)},
	}
	for j := range wrs {
		wrs[j].ID = uint64(100*i + j)
	}
	want := [][]byte{bytes.Join(pieces, nil), bytes.Clone(short), bytes.Clone(long)}
	n, err := c.PostBatch(wrs)
	clear(short)
	clear(long)
	if err != nil {
		return fmt.Errorf("PostBatch = %d, %w", n, err)
	}
	for j, wr := range wrs {
		if wr.Unsignaled {
			continue
		}
		length, _ := wr.Len() // PostBatch has accepted it
		if done, err := c.SendCQ().Wait(context.Background()); err != nil || done.Err != nil || done.ID != wr.ID || done.Len != length || done.QPNum != c.QPNum() {
			return fmt.Errorf("the Completion of %d: %+v, %w", j, done, err)
		}
	}
	for j, got := range [][]byte{back[:gathered], back[shortAt:][:len(short)], back[longAt:][:len(long)]} {
		if !bytes.Equal(got, want[j]) {
			return fmt.Errorf("other bytes than those of Write %d have come back", j)
		}
	}
	return nil
}

// answerRounds waits for the peer's two messages. A device does not report which messages are
// solicited.
func answerRounds(p *peer, c *extsock.Conn) error {
	for _, want := range []string{"solicited", "inline"} {
		b := make([]byte, 64)
		n, note, err := c.ReadMessage(b)
		if string(b[:n]) != want || note.Solicited != (want == "solicited" && !p.device) {
			return fmt.Errorf("ReadMessage = %q, %+v, %w, want %q", b[:n], note, err, want)
		}
	}
	_, err := c.Write([]byte("received"))
	return err
}
