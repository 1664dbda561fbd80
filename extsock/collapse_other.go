//go:build !linux

package extsock

import (
	"context"
	"errors"
)

func collapseHeap(context.Context) (int64, error) { return 0, errors.ErrUnsupported }
