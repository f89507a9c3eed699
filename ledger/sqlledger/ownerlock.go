package sqlledger

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spillway/spillway"
)

// ownerLock proves that no other process writes the file. It is an exclusive
// lock of the kernel on PATH.lock, which ends with the process however that
// dies; the file stays, and says who holds it.
type ownerLock struct{ f *os.File }

func lockOwner(path string) (*ownerLock, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, errFile(path, err)
	}
	taken, err := tryLock(f)
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, errFile(path, err)
	}
	if !taken {
		holder, _ := io.ReadAll(io.LimitReader(f, 32)) // an unread pid is only a worse message
		_ = f.Close()
		return nil, errInUse(path, strings.TrimSpace(string(holder)))
	}
	if err := writePID(f); err != nil {
		_ = f.Close() // releases the lock
		return nil, errFile(path, err)
	}
	return &ownerLock{f}, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

func errInUse(path, holder string) error {
	who := "another process"
	if holder != "" {
		who = "process " + holder
	}
	return spillway.Errorf(spillway.CodeLedgerInUse,
		"the ledger %s is in use by %s: stop it first; if it is a server, the other verbs reach it with --server URL", path, who)
}

// release gives the file up. The lock file is left: removing it would let two
// processes hold locks on two files of one name.
func (o *ownerLock) release() error {
	if o == nil {
		return nil
	}
	return o.f.Close()
}
