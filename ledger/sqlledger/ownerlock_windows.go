package sqlledger

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockAt is where the locked byte lies: beyond the pid, which stays readable.
const lockAt = 1 << 20

func tryLock(f *os.File) (taken bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{Offset: lockAt})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
