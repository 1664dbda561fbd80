package mutations

var toeFaults = []Fault{
	{Name: "EMSS asked for once", File: "toe/kernel/stream_linux.go",
		Old: "if s.hasEMSS && s.emssCalls", New: "if false && s.emssCalls",
		IDs: []string{"MPA-5044-2-1"}},
}
