package mutations

var cmdFaults = []Fault{
	{Name: "the idle timer of a pipe that never comes early", File: "cmd/rddp/internal/proxy/pipe.go",
		Old: "timer.Reset(left)", New: "timer.Reset(max(left, idle-time.Second))",
		Package: "cmd/rddp/internal/proxy", Tests: "^TestIdleTime"},
	{Name: "the idle timer of a pipe set for the whole time again", File: "cmd/rddp/internal/proxy/pipe.go",
		Old: "timer.Reset(left)", New: "timer.Reset(idle)",
		Package: "cmd/rddp/internal/proxy", Tests: "^TestIdleTime"},
	{Name: "a half-close that fails is no failure of the pipe", File: "cmd/rddp/internal/proxy/pipe.go",
		Old: "if err := dst.CloseWrite(); err != nil {", New: "if err := dst.CloseWrite(); false {",
		Package: "cmd/rddp/internal/proxy", Tests: "^TestHalfCloseFails$"},
	{Name: "a half-close that was told of a reset forgotten", File: "cmd/rddp/internal/proxy/end.go",
		Old:     "	err := e.Conn.(interface{ CloseWrite() error }).CloseWrite()\n	if err != nil {",
		New:     "	err := e.Conn.(interface{ CloseWrite() error }).CloseWrite()\n	if false {",
		Package: "cmd/rddp/internal/proxy", Tests: "^TestOrderlyAsksTheHalfClose$"},
	{Name: "files that are lost counted though they are not in a row", File: "cmd/rddp/internal/filecopy/client.go",
		Old: "				lost = 0\n", New: "				_ = lost\n",
		Package: "cmd/rddp/internal/filecopy", Tests: "^TestServerNotGivenUp$"},
	{Name: "a part that is whole begins anew", File: "cmd/rddp/internal/filecopy/part.go",
		Old: "info.Size() <= p.attr.size()", New: "info.Size() < p.attr.size()",
		Package: "cmd/rddp/internal/filecopy", Tests: "^TestResumeTrust$"},
}
