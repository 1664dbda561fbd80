package locks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"testing"
)

// TestOrderHasEachRank: order has each Rank of rank.go once.
func TestOrderHasEachRank(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "rank.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared, listed []string
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok && s.Name.Name != "Rank" {
			declared = append(declared, s.Name.Name)
		}
		return true
	})
	for _, r := range order {
		listed = append(listed, reflect.TypeOf(r).Name())
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("order has\n%v, rank.go declares\n%v", listed, declared)
	}
}
