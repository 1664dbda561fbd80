package locks

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
)

// The list in DESIGN.md is the order that race builds assert.
func TestOrderIsThatOfDesign(t *testing.T) {
	design, err := os.ReadFile("../../DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `([A-Za-z]+)` ").FindAllSubmatch(design, -1) {
		listed = append(listed, string(m[1]))
	}
	var ranks []string
	for _, r := range order {
		ranks = append(ranks, reflect.TypeOf(r).Name())
	}
	if !slices.Equal(listed, ranks) {
		t.Errorf("DESIGN.md lists the locks\n%v, the ranks are\n%v", listed, ranks)
	}
}
