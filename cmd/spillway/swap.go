package main

import (
	"io"
	"sync"
)

// swapWriter is a writer whose target changes: log lines go above the progress
// bar while there is one.
type swapWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *swapWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

func (s *swapWriter) swap(w io.Writer) (old io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.w = s.w, w
	return old
}
