package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// stops are the two ways to stop that signals ask for: the first ends soft,
// the second closes hard, the third ends the process. said carries the number
// of the first two.
type stops struct {
	said     chan int
	soft     context.Context
	hard     chan struct{}
	released chan struct{}
	end      context.CancelFunc
	signals  chan os.Signal
}

// catchStops begins to catch SIGINT and SIGTERM.
func catchStops(ctx context.Context) *stops {
	s := &stops{said: make(chan int, 2), hard: make(chan struct{}), released: make(chan struct{}), signals: make(chan os.Signal, 3)}
	s.soft, s.end = context.WithCancel(ctx)
	signal.Notify(s.signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		n := 0
		for range s.signals {
			n++
			switch n {
			case 1:
				s.end()
				s.said <- n
			case 2:
				close(s.hard)
				s.said <- n
			default:
				os.Exit(exitInterrupted) //nolint:forbidigo // the third signal ends what the second could not
			}
		}
	}()
	return s
}

// release gives the signals back.
func (s *stops) release() {
	signal.Stop(s.signals)
	close(s.signals)
	close(s.released)
	s.end()
}

// untilHard is a context that ends with the second signal.
func (s *stops) untilHard(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-s.hard:
		case <-s.released:
		}
	}()
	return ctx
}
