package command

import (
	"syscall"
	"unsafe"
)

const (
	byPID   = 1 // P_PID of waitid(2), the same on Linux and Darwin
	wexited = 4 // WEXITED, likewise
)

// awaitExit returns once the process has exited, and does not reap it.
func awaitExit(pid int) {
	var info [128]byte // at least a siginfo_t
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), wexited|wnowait, 0, 0)
		if e != syscall.EINTR {
			return
		}
	}
}
