package ucma

import "net/netip"

// This file is the program's side: it makes the commands that the rest of the package parses, and
// parses the answers.

// AppendHeader appends the header of a command with in bytes after it and room for out bytes.
func AppendHeader(b []byte, c Command, in, out int) []byte {
	b = le.AppendUint32(b, uint32(c))
	b = le.AppendUint16(b, uint16(in))
	return le.AppendUint16(b, uint16(out))
}

// AppendTo appends the input of CREATE_ID.
func (r *IDRequest) AppendTo(b []byte) []byte {
	b, o := extend(b, 24)
	le.PutUint64(o, r.UID)
	le.PutUint64(o[8:], r.Response)
	le.PutUint16(o[16:], uint16(r.PortSpace))
	o[18] = r.QPType
	return b
}

// AppendAnswered appends the input that ParseAnswered parses.
func (n Numbers) AppendAnswered(b []byte) []byte {
	return n.AppendPlain(le.AppendUint64(b, n.Response))
}

// AppendPlain appends the input that ParsePlain parses. The input of DISCONNECT is its first half.
func (n Numbers) AppendPlain(b []byte) []byte {
	return le.AppendUint32(le.AppendUint32(b, n.ID), n.Other)
}

// AppendTo appends the input of BIND.
func (r *BindRequest) AppendTo(b []byte) []byte {
	b, o := extend(b, 8+storageLen)
	le.PutUint32(o, r.ID)
	le.PutUint16(o[4:], uint16(putAddress(o[8:], r.Addr.AddrPort)))
	return b
}

// AppendTo appends the input of RESOLVE_ADDR. timeout is in milliseconds.
func (r *Resolution) AppendTo(b []byte, timeout uint32) []byte {
	b, o := extend(b, 16+2*storageLen)
	le.PutUint32(o, r.ID)
	le.PutUint32(o[4:], timeout)
	le.PutUint16(o[8:], uint16(putAddress(o[16:], r.Src.AddrPort)))
	le.PutUint16(o[10:], uint16(putAddress(o[16+storageLen:], r.Dst.AddrPort)))
	return b
}

// AppendTo appends the input of JOIN_MCAST.
func (j *Join) AppendTo(b []byte) []byte {
	b, o := extend(b, 24+storageLen)
	le.PutUint64(o, j.Response)
	le.PutUint64(o[8:], j.UID)
	le.PutUint32(o[16:], j.ID)
	le.PutUint16(o[20:], uint16(putAddress(o[24:], j.Addr.AddrPort)))
	le.PutUint16(o[22:], j.Flags)
	return b
}

// AppendIP appends the input of JOIN_IP_MCAST.
func (j *Join) AppendIP(b []byte) []byte {
	b, o := extend(b, 48)
	le.PutUint64(o, j.Response)
	le.PutUint64(o[8:], j.UID)
	putAddress(o[16:], j.Addr.AddrPort)
	le.PutUint32(o[44:], j.ID)
	return b
}

// AppendConnect appends the input of CONNECT.
func (r *ConnRequest) AppendConnect(b []byte) []byte {
	b, o := extend(b, ConnParamLen+16)
	r.Param.put(o)
	le.PutUint32(o[ConnParamLen:], r.ID)
	return b
}

// AppendAccept appends the input of ACCEPT.
func (r *ConnRequest) AppendAccept(b []byte) []byte {
	return r.AppendConnect(le.AppendUint64(b, r.UID))
}

// AppendTo appends the input of REJECT, without private data.
func (r *Rejection) AppendTo(b []byte) []byte {
	b, o := extend(b, 8+PrivateDataLen)
	le.PutUint32(o, r.ID)
	o[5] = r.Reason
	return b
}

// ParseNumber parses an answer that is one number.
func ParseNumber(b []byte) (uint32, error) {
	if len(b) < 4 {
		return 0, ErrShort
	}
	return le.Uint32(b), nil
}

// ParseEvent parses the answer to GET_EVENT of an id for connections.
func ParseEvent(b []byte) (e Event, err error) {
	if len(b) < LeastEventLen {
		return e, ErrShort
	}
	return Event{
		UID: le.Uint64(b), ID: le.Uint32(b[8:]), Type: EventType(le.Uint32(b[12:])), Status: int32(le.Uint32(b[16:])),
		Param: parseConnParam(b[20:]),
	}, nil
}

// AddrLen is the length in bytes of the answer to QUERY with QueryAddr.
const AddrLen = 280

// ParseAddr parses the answer to QUERY with QueryAddr.
func ParseAddr(b []byte) (r Route, err error) {
	if len(b) < AddrLen {
		return r, ErrShort
	}
	copy(r.GUID[:], b)
	for i, to := range []*netip.AddrPort{&r.Src, &r.Dst} {
		a, err := parseAddress(b[16+storageLen*i:][:storageLen])
		if err != nil {
			return r, err
		}
		*to = a.AddrPort
	}
	return r, nil
}

// AppendGetEvent appends the input of GET_EVENT.
func AppendGetEvent(b []byte, response uint64) []byte { return le.AppendUint64(b, response) }
