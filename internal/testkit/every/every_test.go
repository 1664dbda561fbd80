package every_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rddp/rddp/internal/testkit/every"
)

// TestEveryCombination: each combination comes once, even if later choices depend on earlier ones.
func TestEveryCombination(t *testing.T) {
	var c every.Choices
	var got []string
	for c.Next() {
		switch c.Of(3) {
		case 0:
		case 1:
			c.Of(2)
		case 2:
			for range c.Of(3) {
				c.Of(1)
			}
		}
		got = append(got, c.String())
	}
	want := []string{"[0]", "[1 0]", "[1 1]", "[2 0]", "[2 1 0]", "[2 2 0 0]"}
	if !slices.Equal(got, want) {
		t.Errorf("the runs were %v, want %v", got, want)
	}
	if c.Next() {
		t.Error("there is a run after the last one")
	}
}

func TestNoChoices(t *testing.T) {
	var c every.Choices
	runs := 0
	for c.Next() {
		runs++
	}
	if runs != 1 {
		t.Errorf("%d runs without a choice, want 1", runs)
	}
}

// TestForgottenChoice: Of panics in a test that depends on something besides its choices.
func TestForgottenChoice(t *testing.T) {
	for _, second := range []int{0, 3} {
		t.Run(fmt.Sprint(second), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			var c every.Choices
			for n := 2; c.Next(); n = second {
				c.Of(2)
				c.Of(n)
			}
		})
	}
}
