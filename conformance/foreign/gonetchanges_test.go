//go:build foreign

package foreign

import "regexp"

// goNetChanges are made to the text of package net's tests before they become a suite of their own.
var goNetChanges = []struct {
	old *regexp.Regexp
	new string
	why string
}{
	{
		regexp.MustCompile(`func \((\w+) \*(OpError|TCPListener|UDPConn)\) (isValid|port)\(\)`), "func ${3}Of$2($1 *$2)",
		"a package declares methods of its own types only",
	},
	{regexp.MustCompile(`\berr\.isValid\(\)`), "isValidOfOpError(err)", "as above"},
	{regexp.MustCompile(`(\w+\.\(\*TCPListener\))\.port\(\)`), "portOfTCPListener($1)", "as above"},
	{regexp.MustCompile(`(\w+\.\(\*UDPConn\))\.port\(\)`), "portOfUDPConn($1)", "as above"},
	{regexp.MustCompile(`lns\[0\]\.port\(\)`), "portOfTCPListener(lns[0])", "as above"},
	{regexp.MustCompile(`cs\[0\]\.port\(\)`), "portOfUDPConn(cs[0])", "as above"},
	{regexp.MustCompile(`\baddr\.isWildcard\(\)`), "(addr == nil || addr.IP == nil || addr.IP.IsUnspecified())", "an unexported method"},
	{regexp.MustCompile(`zoneCache\.name\(ifi\.Index\)`), "ifi.Name", "an unexported method"},
	{
		regexp.MustCompile(`if !supportsSendfile\(\) \{`), "if true {",
		"whether the kernel copies the file is not what a drop-in has to show; that the file arrives is",
	},
	{regexp.MustCompile(`&wantConn\.\(\*TCPConn\)\.fd\.pfd != gotFD`), "gotFD == nil", "as above"},
}
