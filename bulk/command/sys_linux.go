package command

import "syscall"

// wnowait leaves an exited process to be reaped later (linux/wait.h).
const wnowait = 0x1000000

func leaderAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
