package perf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Row is one operation with all its parameters, named as in a Result.
type Row struct {
	Op    string
	CRC   string // "on" or "off"
	Size  int
	Depth int
	Post  string // "" for operations that are not posted
}

// String returns the row in the form that ParseRows parses.
func (w Row) String() string {
	text := fmt.Sprintf("%s/%s/%d/%d", w.Op, w.CRC, w.Size, w.Depth)
	if w.Post != "" {
		text += "/" + w.Post
	}
	return text
}

// ParseRows parses a list of rows, such as "write/on/64k/16/batch,echo/off/64/1". The error is an
// *OptionError.
func ParseRows(list string) (rows []Row, err error) {
	for _, text := range strings.Split(list, ",") {
		parts := append(strings.Split(strings.TrimSpace(text), "/"), "")
		if len(parts) != 5 && len(parts) != 6 {
			return nil, wrongOption("rows", "%q is not as op/crc/size/depth or op/crc/size/depth/post", text)
		}
		w := Row{Op: parts[0], CRC: parts[1], Post: parts[4]}
		sizes, err := ParseSizes(parts[2])
		if err != nil {
			return nil, err
		}
		w.Size = sizes[0]
		if w.Depth, err = strconv.Atoi(parts[3]); err != nil {
			return nil, wrongOption("rows", "the depth %q of %q is not a number", parts[3], text)
		}
		if err := w.check(); err != nil {
			return nil, err
		}
		if slices.Contains(rows, w) {
			return nil, wrongOption("rows", "%v is there twice", w)
		}
		rows = append(rows, w)
	}
	return rows, nil
}

// check makes the checks of a row that Options.Complete does not make.
func (w Row) check() error {
	op, known := operationOf(w.Op)
	switch {
	case !known || op.over == overTCP:
		return wrongOption("rows", "%q is no operation of rddp", w.Op)
	case w.CRC != onOff(true) && w.CRC != onOff(false):
		return wrongOption("rows", "the CRC of %v is neither on nor off", w)
	case op.kind == kindAtomic && w.Size != atomicSize:
		return wrongOption("rows", "the size of %v is not %d", w, atomicSize)
	case !op.kind.posts() && (w.Post != "" || w.Depth != 1):
		return wrongOption("rows", "%v is not posted, so its depth is 1", w)
	case op.kind.posts() && w.Post != PostOne && (w.Post != PostBatch || w.Depth == 1):
		return wrongOption("rows", "%v needs the post %s, or %s if it is deeper than 1", w, PostOne, PostBatch)
	}
	return nil
}

// job returns the job that measures the row.
func (w Row) job() job {
	op, _ := operationOf(w.Op)
	return job{operation: op, crc: w.CRC == onOff(true), size: w.Size, depth: w.Depth, batch: w.Post == PostBatch}
}

// completeRows sets the operations, sizes, depths and CRC of the rows.
func (o *Options) completeRows() {
	o.Ops, o.Sizes, o.Depths, o.Posts, o.CRC = nil, nil, nil, nil, nil
	for _, w := range o.Rows {
		o.Ops = append(o.Ops, w.Op)
		o.Sizes = append(o.Sizes, w.Size)
		o.Depths = append(o.Depths, w.Depth)
		o.CRC = append(o.CRC, w.CRC == onOff(true))
	}
}
