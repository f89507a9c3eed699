package main

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/command"
	"github.com/spillway/spillway/bulk/post"
)

// plainPath is a first word that the shell takes as it is.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_@%+:,./-]*/[A-Za-z0-9_@%+:,./-]*$`)

// checkExec refuses a command whose first word is a path at which there is
// nothing to run: every row would fail for it.
func checkExec(cmd string) error {
	words := strings.Fields(cmd)
	if len(words) == 0 || !plainPath.MatchString(words[0]) {
		return nil
	}
	path := words[0]
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("--exec: there is no %s", path)
	case err != nil:
		return usagef("--exec: %w", err)
	case info.IsDir():
		return usagef("--exec: %s is a folder", path)
	case info.Mode()&0o111 == 0:
		return usagef("--exec: %s is not executable: chmod +x %s", path, path)
	}
	return nil
}

// newHandler makes what does the work: a command, or a URL that an operator
// wrote. release gives back what it holds.
func newHandler(exec, url, secret string) (h bulk.Handler, release func(), err error) {
	if exec != "" {
		c, err := command.New(exec, command.Options{})
		if err != nil {
			return nil, nil, err
		}
		return c.Handle, c.Close, nil
	}
	h, err = post.New(url, post.Options{Secret: secret, Trusted: true})
	return h, func() {}, err
}
