package demo

import "fmt"

// A NoRoomError is why the demo does not begin.
type NoRoomError struct {
	Folder     string // the folder for temporary files
	Need, Free int64  // in bytes
}

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("the file needs %.1f MiB in %s (TMPDIR), where %.1f MiB are free", mebibytes(e.Need), e.Folder, mebibytes(e.Free))
}

// checkRoom returns a *NoRoomError if a folder has no room for need bytes.
func checkRoom(folder string, need int64) error {
	free, err := freeBytes(folder)
	if err != nil {
		return fmt.Errorf("the folder for temporary files (TMPDIR): %w", err)
	}
	if free < need {
		return &NoRoomError{folder, need, free}
	}
	return nil
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
