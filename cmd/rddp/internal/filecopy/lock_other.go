//go:build !unix || solaris || illumos || aix

package filecopy

import (
	"os"

	"github.com/rddp/rddp/internal/locks"
)

const openNonBlock = 0

// locked contains the files that this process has locked. These systems have no flock(2).
var locked struct {
	mu    locks.Mutex[locks.Leaf]
	files []os.FileInfo
}

// lockFile locks f until unlock. If f is locked, the error is ErrBusy.
func lockFile(f *os.File) (unlock func(), err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	locked.mu.Lock()
	defer locked.mu.Unlock()
	for _, other := range locked.files {
		if os.SameFile(info, other) {
			return nil, ErrBusy
		}
	}
	locked.files = append(locked.files, info)
	return func() {
		locked.mu.Lock()
		defer locked.mu.Unlock()
		for i, other := range locked.files {
			if other == info {
				locked.files = append(locked.files[:i], locked.files[i+1:]...)
				return
			}
		}
	}, nil
}
