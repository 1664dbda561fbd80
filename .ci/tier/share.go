package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// shareVariable is the environment variable that limits make gate and make wild to a part of their
// long steps. With SHARE=2/3 they run the second of three shares. Package testmode reads it too.
const shareVariable = "SHARE"

// shareCommand prints this run's share of the words, in their order. Packages are weighted by their
// times under the race detector.
func shareCommand(_ context.Context, words []string) error {
	own, err := shareOf(os.Getenv(shareVariable), words)
	if err != nil {
		return fmt.Errorf("%s: %w", shareVariable, err)
	}
	fmt.Println(strings.Join(own, " "))
	return nil
}

func shareOf(share string, words []string) ([]string, error) {
	if share == "" {
		return words, nil
	}
	s, err := parseShard(share)
	if err != nil {
		return nil, err
	}
	var items []item
	for _, word := range words {
		folder := strings.Replace(word, "github.com/rddp/rddp", ".", 1)
		items = append(items, item{step{name: word}, estimate("race", folder)})
	}
	own := divide(items, s.of)[s.index-1]
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return !slices.ContainsFunc(own, func(it item) bool { return it.name == word })
	}), nil
}
