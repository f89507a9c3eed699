package main

import (
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/command"
	"github.com/spillway/spillway/bulk/post"
)

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
