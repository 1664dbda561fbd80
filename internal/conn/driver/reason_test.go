package driver

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// TestGuessed: which errors of memory a peer can cause by trying STags.
func TestGuessed(t *testing.T) {
	domain := new(ddp.Domain)
	region, err := domain.Register(make([]byte, 8), ddp.RemoteRead|ddp.RemoteAtomic, 1)
	if err != nil {
		t.Fatal(err)
	}
	check := func(s ddp.STag, n uint64, need ddp.Access) error {
		_, err := domain.Check(s, region.TO(), n, need, 1)
		return err
	}
	unknown := region.STag() + 1
	errs := map[string]struct {
		err  error
		want bool
	}{
		"an STag that there is not": {check(unknown, 1, ddp.RemoteRead), true},
		"beyond the bounds":         {check(region.STag(), 9, ddp.RemoteRead), true},
		"a Send with Invalidate":    {domain.Invalidate(unknown, 1), true},
		"no memory":                 {errors.New("another fault"), false},
	}
	region.Deregister()
	var s ddp.Sender
	s.Start(&ddp.Message{Tagged: true, Len: 8, Source: region, SourceTO: region.TO()})
	s.Next(1000)
	_, err = region.Update64(0, func(v uint64) uint64 { return v })
	errs["the source of a Read Response has ended"] = struct {
		err  error
		want bool
	}{s.Err(), false}
	errs["the word of an atomic has ended"] = struct {
		err  error
		want bool
	}{err, false}
	for desc, tt := range errs {
		if got := tt.err != nil && guessed(fmt.Errorf("a Terminate: %w", tt.err)); tt.err == nil || got != tt.want {
			t.Errorf("%s: %v is guessed: %t", desc, tt.err, got)
		}
	}
}
