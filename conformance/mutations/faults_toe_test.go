package mutations

var toeFaults = []Fault{
	{Name: "EMSS asked for once", File: "toe/kernel/stream_linux.go",
		Old: "if s.hasEMSS && s.emssCalls", New: "if false && s.emssCalls",
		IDs: []string{"MPA-5044-2-1"}},
	{Name: "a part of a batch taken for all of it", File: "toe/kernel/writev_linux.go",
		Old: "		case unix.EAGAIN:\n			return false\n", New: "		case unix.EAGAIN:\n			return w.n > 0\n",
		Package: "toe/kernel", Tests: "^TestWriteBatchOverSeveralWritevs$"},
}
