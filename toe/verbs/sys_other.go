//go:build !linux || (!amd64 && !arm64)

package verbs

import (
	"errors"
	"os"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

func address([]byte) uint64 { return 0 }

func invoke(*os.File, call) error { return errors.ErrUnsupported }

func command(*os.File, ucma.Command, int, func(uint64) []byte) ([]byte, error) {
	return nil, errors.ErrUnsupported
}

func getEvent(*os.File) (ucma.Event, error) { return ucma.Event{}, errors.ErrUnsupported }

func adopt(uint32, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func pages(int) ([]byte, error) { return nil, errors.ErrUnsupported }

func mapQueue(*os.File, uverbs.Mapping) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) {}

func openNonblock(string) (*os.File, error) { return nil, errors.ErrUnsupported }
