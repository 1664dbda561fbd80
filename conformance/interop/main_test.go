//go:build interop

package interop

import (
	"os"
	"testing"

	"github.com/rddp/rddp/internal/testkit/nopanic"
)

func TestMain(m *testing.M) {
	code := Main(m)
	_ = os.RemoveAll(built.dir)
	nopanic.Exit(code)
}
