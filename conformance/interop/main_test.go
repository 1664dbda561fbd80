//go:build interop

package interop

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := Main(m)
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}
