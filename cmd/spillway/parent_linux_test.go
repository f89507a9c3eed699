package main

import "syscall"

// endWithParent makes this process end with the one that started it, so that
// nothing outlives a test that is killed.
func endWithParent() {
	// The flag is of this thread, and Go ends no thread that it may use again.
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
	if errno != 0 {
		panic(errno)
	}
}
