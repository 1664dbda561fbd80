package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
)

// TestAlerts: Prometheus's own parser accepts the rules, including expressions and templates. Each
// alert has a severity and a summary. The document about monitoring explains exactly these alerts,
// in this order.
func TestAlerts(t *testing.T) {
	groups, errs := rulefmt.ParseFile("../../../docs/alerts.yaml", false)
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		return
	}
	var names []string
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			names = append(names, r.Alert)
			if s := r.Labels["severity"]; s != "page" && s != "ticket" {
				t.Errorf("%s: severity %q", r.Alert, s)
			}
			if r.Annotations["summary"] == "" {
				t.Errorf("%s has no summary", r.Alert)
			}
		}
	}
	doc, err := os.ReadFile("../../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(Rddp\\w+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		told = append(told, m[1])
	}
	if !slices.Equal(names, told) || len(names) < 10 {
		t.Errorf("the alerts are\n%q, the document tells of\n%q", names, told)
	}
}

// TestBadAlerts: rules that Prometheus would not load are detected.
func TestBadAlerts(t *testing.T) {
	for _, bad := range []string{
		"groups: [{name: a, rules: [{alert: A, expr: 'rate(x[5m)'}]}]",
		"groups: [{name: a, rules: [{alert: A, expr: x, annotations: {summary: '{{ $labels.instance '}}]}]",
		"groups: [{name: a, rules: [{alert: A, expr: x, fro: 5m}]}]",
	} {
		if _, errs := rulefmt.Parse([]byte(bad), false); len(errs) == 0 {
			t.Errorf("%s is taken", bad)
		}
	}
}
