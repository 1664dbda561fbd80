package perf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseRows(t *testing.T) {
	rows, err := ParseRows("write/on/64k/16/batch, echo/off/64/1,atomic/on/8/1/one")
	want := []Row{{"write", "on", 64 << 10, 16, PostBatch}, {"echo", "off", 64, 1, ""}, {"atomic", "on", 8, 1, PostOne}}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("%v, %v", rows, err)
	}
	for list, want := range map[string]string{
		"":                                    "is not as op/crc/size/depth",
		"write/on/64":                         "is not as op/crc/size/depth",
		"write/on/64/1/one/more":              "is not as op/crc/size/depth",
		"bite/on/64/1/one":                    "is no operation of rddp",
		"tcp/on/64/1":                         "is no operation of rddp",
		"write/maybe/64/1/one":                "neither on nor off",
		"write/on/4x/1/one":                   "is not a size",
		"write/on/64/deep/one":                "is not a number",
		"write/on/64/1":                       "needs the post one",
		"write/on/64/1/batch":                 "needs the post one",
		"write/on/64/2/often":                 "needs the post one",
		"echo/on/64/2":                        "is not posted",
		"stream/on/64/1/one":                  "is not posted",
		"atomic/on/64/1/one":                  "is not 8",
		"write/on/64/1/one,write/on/64/1/one": "is there twice",
	} {
		wrong := (*OptionError)(nil)
		if _, err := ParseRows(list); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRows(%q) = %v, want %s", list, err, want)
		}
	}
}

// TestRowsOnly: with rows, exactly these and their references are measured, each once.
func TestRowsOnly(t *testing.T) {
	const list = "write/on/4096/16/one,write/off/1048576/16/one,write/on/64/64/batch,stream/on/65536/1,echo/on/4096/1"
	rows, err := ParseRows(list)
	if err != nil {
		t.Fatal(err)
	}
	o := &Options{Rows: rows}
	complete(t, o)
	var got, want []string
	for _, size := range o.groups() {
		for _, j := range o.jobs(size) {
			got = append(got, fmt.Sprint(j))
		}
	}
	for _, w := range rows {
		want = append(want, fmt.Sprint(w.job()))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || o.deepest() != 64 || o.largest() != 1<<20 {
		t.Errorf("jobs %q, want %q; options %+v", got, want, o)
	}
	var texts []string
	for _, w := range rows {
		texts = append(texts, w.String())
	}
	if text := strings.Join(texts, ","); text != list {
		t.Errorf("the rows are %s, want %s", text, list)
	}
}
