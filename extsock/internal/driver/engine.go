package driver

import (
	"errors"

	"github.com/rddp/rddp/extsock/internal/counters"
	"github.com/rddp/rddp/extsock/internal/observe"
	"github.com/rddp/rddp/internal/fpdu"
	"github.com/rddp/rddp/toe"
)

// This file is what the driver leaves to an offload engine, and takes back from it. Each direction
// has the form of FPDUs that the engine asks for (fpdu.Form), and returns to FormFPDU when the
// engine has stopped. Then all work of that direction is the driver's, for the rest of the
// connection's life.

// engage has the stream's engine do what it can. An engine that can't is no fault: the driver does
// the work. A connection with a Tap engages no engine, because the Tap sees TCP's bytes.
func engage(cfg *Config, in *rx, out *tx) {
	o := min(cfg.Stream.Capabilities().Offload, cfg.Offload)
	if o == toe.OffloadNone || cfg.Taps.On() {
		return
	}
	a := cfg.Agreement
	g := toe.Engagement{Offload: o, CRC: a.CRC, TxMarkers: a.TxMarkers, RxMarkers: a.RxMarkers}
	if o == toe.OffloadPlacement {
		g.Placer = in
	}
	if err := cfg.Stream.Engage(g); err != nil {
		out.count.EngineStops.Add(1)
		cfg.Trace.Debug("no engine", "offload", o, "err", err)
		return
	}
	form := fpdu.FormULPDU
	if o == toe.OffloadCRC {
		form = fpdu.FormUnsummed
	}
	out.mpa.SetForm(form)
	in.mpa.SetForm(form)
}

// fallBack takes the way out back from the engine, which has stopped because of err, an
// *toe.EngineError. TCP has got the bytes below Taken, and gets the rest of the batch from the
// driver.
func (t *tx) fallBack(err error) error {
	stop := engineStop(err)
	if stop == nil {
		return err
	}
	fellBack(t.count, t.trace, "sent", stop)
	if !t.mpa.Revert(t.batch, stop.Taken) {
		return errEngineOffset
	}
	return nil
}

// disengage stops the engine, because a capture has begun, which records TCP's bytes. The batch
// must be empty.
func (t *tx) disengage() error {
	t.stream.Disengage()
	_, err := t.stream.TryWriteBatch(nil)
	return t.fallBack(err)
}

// fallBack takes the way in back from the engine if err says that the engine has stopped, and
// reports whether it does.
func (r *rx) fallBack(err error) bool {
	stop := engineStop(err)
	if stop == nil {
		return false
	}
	fellBack(r.count, r.trace, "received", stop)
	r.mpa.SetForm(fpdu.FormFPDU)
	return true
}

// engineStop returns the *toe.EngineError in err, or nil if err says something else.
func engineStop(err error) *toe.EngineError {
	if err == nil {
		return nil
	}
	var stop *toe.EngineError // allocates
	errors.As(err, &stop)
	return stop
}

func fellBack(count *counters.Counters, trace *observe.Trace, way string, err error) {
	count.EngineStops.Add(1)
	trace.Debug("fall-back", "way", way, "err", err)
}

// errEngineOffset ends a connection whose engine has lost count.
var errEngineOffset = errors.New("the engine has stopped at an offset outside what it was given")

var _ toe.Placer = (*rx)(nil)

// PlaceULPDU places a ULPDU for the engine, in the goroutine that has the receive role. A capture
// needs the payload to arrive, so a connection with one places nothing for the engine.
func (r *rx) PlaceULPDU(off uint64, size int, ulpdu []byte) (placed bool) {
	if !r.qp.TakesMessages() || r.taps.On() || !r.mpa.Placed(off, size) {
		return false
	}
	if !r.ddp.TryPlace(off, ulpdu) {
		r.mpa.Forget(off)
		return false
	}
	r.count.Received.FPDUs.Add(1)
	r.count.EnginePlaced.Add(1)
	if off > r.mpa.Edge() {
		r.count.Early.Add(1)
		r.count.EarlyOctets.Add(uint64(len(ulpdu)))
	}
	return true
}
