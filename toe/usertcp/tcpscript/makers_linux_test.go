package tcpscript

import (
	"errors"
	"os"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/tun"
)

// makers returns the TCPs that this process can make. The kernel's TCP needs a network namespace,
// and so root. With full counts the test fails without root.
func makers(t *testing.T) []maker {
	t.Helper()
	var missing *tun.PrivilegeError
	ns, err := tun.NewNamespace()
	if errors.As(err, &missing) && os.Geteuid() != 0 && !testmode.Full {
		t.Logf("only toe/usertcp: %v", err)
		return []maker{userTCP}
	}
	if err != nil {
		t.Fatal(err)
	}
	ns.Close()
	return []maker{userTCP, kernelTCP}
}
