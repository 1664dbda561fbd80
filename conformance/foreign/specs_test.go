//go:build foreign

package foreign

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// specs of Ginkgo are one test to package testing. Ginkgo reports them in a file, and they count as
// subtests.

// addSpecs counts the specs of a report; there is none if the program ended early.
func (r *result) addSpecs(report, test string) error {
	b, err := os.ReadFile(report)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeType, LeafNodeText, State string
		}
	}
	if err := json.Unmarshal(b, &suites); err != nil {
		return err
	}
	for _, s := range suites {
		for _, spec := range s.SpecReports {
			if spec.LeafNodeType != "It" {
				continue // set up before all specs, or clean up behind them
			}
			name := test + "/" + strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")
			t := r.tests[name]
			switch spec.State {
			case "passed":
				t.passed++
			case "skipped", "pending":
				t.skipped++
			default:
				t.failed++
			}
			r.tests[name] = t
		}
	}
	return nil
}
