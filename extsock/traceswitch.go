package extsock

import (
	"errors"

	"github.com/rddp/rddp/mpa"
)

// traceSwitch writes the result of the switch to DDP mode.
func (c *Conn) traceSwitch(err error) {
	t := c.trace
	if t == nil {
		return
	}
	if c.isSwitched() {
		defer c.ddp.TraceTerminate() // startup itself may end with a Terminate
	}
	if err != nil {
		if r := (*mpa.RejectError)(nil); errors.As(err, &r) {
			t.Info("rejected", "err", err)
		} else {
			t.Warn("no DDP mode", "err", err)
		}
		return
	}
	peer := c.peer.Load()
	a, caps := peer.Agreement, peer.Capabilities
	t.Info("DDP mode", "revision", int(a.Revision), "enhanced", a.Enhanced, "crc", a.CRC,
		"tx_markers", a.TxMarkers, "rx_markers", a.RxMarkers, "ird", a.IRD, "ord", a.ORD,
		"peer_ird", a.PeerIRD, "peer_ord", a.PeerORD, "peer_to_peer", a.PeerToPeer, "rtr", a.RTR.String(),
		"rddp", peer.IsRDDP, "extensions", c.cfg.Extensions || caps.Extensions, "large_fpdus", caps.LargeFPDU,
		"emss", c.stream.EMSS())
	c.ddp.describe(t)
}
