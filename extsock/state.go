package extsock

import "crypto/tls"

// A ConnectionState says which mode a connection is in, and what MPA startup agreed on with the
// peer. Conn.ConnectionState returns it.
type ConnectionState struct {
	// DDPMode is true if the connection is in DDP mode. It remains true after such a connection has
	// ended. If it is false, Read and Write are plain TCP, or startup has not yet chosen a mode.
	// Conn.Handshake waits for that choice.
	DDPMode bool
	// Fallback is the reason why the connection is plain TCP although Config.Startup is
	// StartupPrefer. It is nil in DDP mode, before startup has chosen a mode, and if the program
	// asked for plain TCP. errors.Is(Fallback, ErrPlainTCP) is true for every such reason;
	// ErrPlainTCP lists them.
	Fallback error

	// Device is the name of the RDMA device that runs the connection, such as "siw0". It is empty
	// if the connection runs in this process. Then NoDevice says why it does not run on the device
	// of Config.Backend. NoDevice is nil if the Backend has no device, and for connections of
	// NewConn and NewListener, which do not use the Backend.
	Device   string
	NoDevice error

	// TLS is the state of TLS below the connection, of Config.TLS or of a *tls.Conn that was passed
	// to NewConn: the peer's certificates, for instance. It is nil without TLS, and until the TLS
	// handshake is over. With TLS it is never nil in DDP mode, nor after Conn.Handshake has
	// returned nil. It remains after the connection has ended.
	TLS *tls.ConnectionState

	// PeerPrivateData is the private data of the peer's program, from its MPA Request or Reply. A
	// Responder has it as soon as ReceiveRequest returns. The caller must not modify it. The
	// private data of a rejection is in the *mpa.RejectError instead.
	PeerPrivateData []byte
	// PeerIsRDDP is true if the peer is rddp too, neither end has set Config.NoCapabilities, and
	// the connection does not speak rsockets. A Responder has it as soon as ReceiveRequest returns:
	// with such a peer, Read and Write can be a byte stream; the program of a foreign peer sends
	// messages.
	PeerIsRDDP bool

	// Revision is the revision of MPA in use: 1 (RFC 5044) or 2 (RFC 6581). This field and the
	// fields below are zero until the two ends have agreed in MPA startup.
	Revision int
	// Enhanced is true if the two ends exchanged the enhanced header of RFC 6581, which states IRD
	// and ORD.
	Enhanced bool
	// CRC is true if each FPDU carries a CRC32C, in both directions.
	CRC bool
	// SendsMarkers and ReceivesMarkers say in which direction FPDUs carry markers (RFC 5044 §4.3).
	SendsMarkers, ReceivesMarkers bool
	// IRD is the maximum number of the peer's RDMA Reads and atomics in flight, and ORD the maximum
	// number of this end's (RFC 6581 §9).
	IRD, ORD int
	// PeerIRD and PeerORD are the depths that the peer stated in its Request or Reply. Both are 0
	// if Enhanced is false.
	PeerIRD, PeerORD int
	// PeerToPeer is true if the Initiator's first FPDU was a Ready to Receive indication (RFC 6581
	// §5).
	PeerToPeer bool

	// ByteStream is true if Read and Write in DDP mode are a stream of bytes, as over TCP. If it is
	// false in DDP mode, each Write is one message.
	ByteStream bool
	// Extensions is true if the operations of RFC 7306 may be posted: atomics and Immediate Data.
	Extensions bool
}

// ConnectionState returns the mode of the connection and what startup agreed on. It does not wait.
//
// "The responder and initiator MUST pass the peer's provided IRD and ORD values to the ULP" (RFC
// 6581 §9.1)
func (c *Conn) ConnectionState() ConnectionState {
	if !c.ok() {
		return ConnectionState{}
	}
	fallback := c.fellBack()
	var overTLS *tls.ConnectionState
	if t, ok := c.stream.(interface{ TLS() *tls.ConnectionState }); ok {
		overTLS = t.TLS()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	peer := c.peer.Load()
	a := &peer.Agreement
	s := ConnectionState{
		DDPMode: c.inDDPMode(), Device: c.engine().device(), NoDevice: c.noDevice, TLS: overTLS,
		PeerPrivateData: peer.PrivateData, PeerIsRDDP: peer.IsRDDP,
		Revision: int(a.Revision), Enhanced: a.Enhanced, CRC: a.CRC,
		SendsMarkers: a.TxMarkers, ReceivesMarkers: a.RxMarkers,
		IRD: a.IRD, ORD: a.ORD, PeerIRD: a.PeerIRD, PeerORD: a.PeerORD, PeerToPeer: a.PeerToPeer,
	}
	if fallback != nil && !s.DDPMode { // a nil *fallbackError would be an error that is not nil
		s.Fallback = fallback
	}
	if s.DDPMode {
		s.ByteStream = c.isByteStream()
		s.Extensions = c.extensions()
	}
	return s
}
