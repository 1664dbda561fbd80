package spec

// closing returns the cases about the end of a connection, and about the next connection.
func closing() []Case {
	return []Case{
		question("5044/7.2/fin", both, 0, "MPA-5044-7.2-1 DDP-5041-3-12",
			"A FIN between two FPDUs ends the other half too.", func(s *session) {
				s.start()
				s.alive()
				s.finish()
				s.wantClosed("the end of the connection")
			}),
		question("5044/7.2/fin-behind-send", both, 0, "MPA-5044-7.2-1 DDP-5041-6.2.1-5 DDP-5041-6.2.1-4",
			"A message with a FIN right after it may be answered or not, because only one half is closed. Then the connection ends.", func(s *session) {
				s.start()
				s.alive()
				s.send(s.sends("last words"))
				s.finish()
				o := s.outcome()
				echoed := len(o.messages) == 1 && string(o.messages[0].payload) == "last words"
				if s.err == nil && (s.ended == stillOpen || o.term != nil || len(o.messages) > 0 && !echoed) {
					s.fail("the echo or nothing, then the end of the connection", "%d messages; %v; %v", len(o.messages), o.term, s.ended)
				}
			}),
		question("5044/7.2/fin-behind-startup", both, 0, "MPA-5044-7.2-1 MPA-5044-7.1.2-16",
			"A FIN before the first message ends the connection, and nothing is sent for it.", func(s *session) {
				s.start()
				s.finish()
				s.wantClosed("the end of the connection")
			}),
		question("5044/8/reset", both, 0, "MPA-5044-8-1 DDP-5041-6.2.2-1",
			"A reset ends only its own connection.", func(s *session) {
				s.start()
				s.alive()
				s.send(s.pieces("never to be finished", "")[0])
				s.reset()
				s.start()
				s.alive()
			}),
		question("5044/8/reset-in-startup", both, 0, "MPA-5044-8-1",
			"A reset in startup ends only its own connection.", func(s *session) {
				s.open()
				if s.err == nil && s.initiator() {
					s.write(frame{key: keyRequest, flags: flagC, revision: 1}.octets()[:10])
				}
				s.reset()
				s.start()
				s.alive()
			}),
		question("5040/7/next-connection", both, 0, "RDMAP-5040-7-1 RDMAP-5040-7-4",
			"A failed stream ends alone: the next connection works.", func(s *session) {
				s.start()
				s.alive()
				s.send(badQueue(s))
				s.wantTerminate()
				s.start()
				s.alive()
			}),
		question("5044/7.2/many-connections", both, 0, "MPA-5044-7.2-1",
			"Connections that open and close do not affect the next one.", func(s *session) {
				for range 8 {
					s.start()
					s.alive()
					s.finish()
					s.wantClosed("the end of the connection")
				}
			}),
	}
}
