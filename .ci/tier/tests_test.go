package main

import (
	"slices"
	"testing"
)

func TestFunctions(t *testing.T) {
	const src = `package p
func TestMain(m *testing.M) {}
func Test(t *testing.T) {}
func TestOne(t *testing.T) {}
func Test2(t *testing.T) {}
func Testament() {}
func (s suite) TestMethod() {}
func FuzzParse(f *testing.F) {}
func ExampleT_method() {}
func BenchmarkX(b *testing.B) {}
`
	want := []string{"TestMain", "Test", "TestOne", "Test2", "FuzzParse", "ExampleT_method"}
	if got := matches(testFunction, []byte(src)); !slices.Equal(got, want) {
		t.Errorf("functions: %q, want %q", got, want)
	}
	if got := pattern([]string{"TestA", "TestB"}); got != "^(TestA|TestB)$" {
		t.Errorf("pattern = %s", got)
	}
}
