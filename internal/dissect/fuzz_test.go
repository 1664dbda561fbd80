package dissect

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// FuzzRead: no file makes Read panic, return an error of another type, or emit a record that has no
// JSON.
func FuzzRead(f *testing.F) {
	for _, name := range captures(f) {
		if file := load(f, name); len(file) < 8_000 {
			f.Add(file)
		}
	}
	var ng bytes.Buffer
	w := newWriter(f, &ng)
	w.Now = func() time.Time { return time.Unix(1700000000, 0) }
	flow := w.Flow(nil, nil, true)
	flow.Sent(unhex(helloRequest))
	flow.Received(unhex(helloReplyMarkers))
	flow.Sent(markStream(0, true, exampleULPDUs()...))
	flow.Closed()
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(ng.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		err := Read(bytes.NewReader(file), func(r Record) error {
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("record without JSON: %v", err)
			}
			if r.String() == "" {
				t.Error("record without text")
			}
			return nil
		})
		var fe *FileError
		if err != nil && !errors.As(err, &fe) {
			t.Errorf("Read = %v, which is not a *FileError", err)
		}
	})
}

// FuzzStream: a connection's octets never make Read fail, and the way they are cut into segments
// doesn't change the FPDUs found.
func FuzzStream(f *testing.F) {
	f.Add(markStream(0, true, exampleULPDUs()...), uint16(100), true)
	f.Add(markStream(0, false, exampleULPDUs()...), uint16(1448), false)
	for _, v := range vectors {
		f.Add(unhex(v.fpdu), uint16(7), false)
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint16, markers bool) {
		if len(stream) > 60_000 {
			return
		}
		play := func(size int) []Record {
			s := newScript(t)
			s.send(0, helloRequest)
			if markers {
				s.send(1, helloReplyMarkers)
			} else {
				s.send(1, helloReply)
			}
			for rest := stream; len(rest) > 0; {
				n := min(size, len(rest))
				s.sendOctets(0, rest[:n])
				rest = rest[n:]
			}
			return s.read()
		}
		diff(t, "cut otherwise", lines(t, play(max(int(size), len(stream)/200+1))), lines(t, play(len(stream)+1)))
	})
}
