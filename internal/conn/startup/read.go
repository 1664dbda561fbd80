package startup

// IsAhead reports whether Read gives out what startup has read ahead.
func (h *Handshake) IsAhead() bool { return h.isAhead.Load() }

// HasUnread reports whether bytes that startup has read ahead are unread.
func (h *Handshake) HasUnread() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ahead) > 0
}

// Read reads from the stream. What was read ahead comes first, and then the error that came behind
// it, once.
func (h *Handshake) Read(p []byte) (int, error) {
	if h.isAhead.Load() && len(p) > 0 {
		if n, err := h.takeAhead(p); n > 0 || err != nil {
			return n, err
		}
	}
	return h.stream.Read(p)
}

func (h *Handshake) takeAhead(p []byte) (n int, err error) {
	h.mu.Lock()
	turn := h.looks
	h.mu.Unlock()
	if turn != nil {
		turn <- struct{}{}
		defer func() { <-turn }()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n = copy(p, h.ahead)
	h.ahead = h.ahead[n:]
	if n == 0 {
		err, h.aheadErr = h.aheadErr, nil
	}
	if len(h.ahead) == 0 && h.aheadErr == nil {
		h.ahead = nil
		h.isAhead.Store(false)
	}
	return n, err
}
