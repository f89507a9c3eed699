package command

import "syscall"

// wnowait leaves an exited process to be reaped later (sys/wait.h).
const wnowait = 0x20

func leaderAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
