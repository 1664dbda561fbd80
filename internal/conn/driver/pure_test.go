package driver

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"strings"
	"testing"
)

// TestLogicIsPure: the files that doc.go calls logic start no goroutine, read no clock, wait for
// nothing and use no lock and no channel, so a test can call them in any order. The byte stream's
// lock is the exception: the way in passes the peer's credits and answers to the Sender, and the
// program's calls use the Sender too.
func TestLogicIsPure(t *testing.T) {
	for _, file := range []string{"receiver.go", "sender.go", "reading.go", "delivery.go", "placing.go", "deliverystates.go", "taking.go", "grant.go", "rest.go",
		"../inbox/inbox.go", "../inbox/note.go", "../inbox/states.go"} {
		f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			switch path := strings.Trim(i.Path.Value, `"`); path {
			case "sync", "time", "context", "os", "net", "github.com/rddp/rddp/internal/conn/wait", "github.com/rddp/rddp/toe":
				t.Errorf("%s imports %s", file, path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				t.Errorf("%s has a %T", file, n)
			case *ast.UnaryExpr:
				if n.Op == gotoken.ARROW {
					t.Errorf("%s receives from a channel", file)
				}
			}
			return true
		})
	}
}
