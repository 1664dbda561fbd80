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
	{
		regexp.MustCompile(`len\(writeLog\.log\) < wantMinCalls|gotSum != wantSum`), "false",
		"how package net calls writev is not what a drop-in has to show; that the octets arrive is",
	},
	{
		regexp.MustCompile(`(\treturn fmt\.Errorf\("unexpected type on 2nd nested level)`),
		"\tif e, ok := nestedErr.(interface{ Timeout() bool }); ok && e.Timeout() || nestedErr == errors.ErrUnsupported {\n\t\treturn nil\n\t}\n$1",
		"a time limit may have a type of ours; errors.ErrUnsupported is what the documentation of extsock promises",
	},
}

// goNetOther matches the files of package net's tests that are not about connections: name
// resolution, which needs more network than loopback, and interfaces.
var goNetOther = regexp.MustCompile(`^(lookup|dnsclient|dnsconfig|dnsname|resolverdialfunc|hosts|nss|conf|cgo|addrselect|interface|external|parse|mac|ip|cidr)(_\w+)?_test\.go$`)

const (
	ownFields = "it looks into package net's own connection or listener"
	ownHooks  = "it takes the place of a function of package net that makes TCP connections, with one of package net's own type"
)

// goNetLeftOut are the tests of TCP connections that do not compile outside of package net, and
// why.
var goNetLeftOut = map[string]string{
	"TestBuffers_consume":                "it is about a method of package net's own Buffers",
	"TestDialParallel":                   ownHooks,
	"TestDialParallelSpuriousConnection": ownHooks,
	"TestDialerFallbackDelay":            ownHooks,
	"TestDualStackTCPListener":           ownFields,
	"TestDualStackUDPListener":           ownFields + "; it is of UDP, and shares a function with the above",
	"TestEndlessWrite":                   ownFields,
	"TestMultiPathTCP":                   ownFields,
	"TestSplice":                         ownFields + "; it shows that the kernel moves the octets",
	"TestTCPConnKeepAliveConfigDialer":   ownFields,
	"TestTCPConnKeepAliveConfigListener": ownFields,
	"TestTCPListener":                    ownFields,
	"TestUDPListener":                    ownFields + "; it is of UDP, and shares a function with the above",
}
