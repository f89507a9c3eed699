package bulk

import "sync"

// bell wakes everyone who waits for the queue to have something new.
type bell struct {
	mu      sync.Mutex
	ch      chan struct{}
	waiters int
}

// wait returns a channel that is closed at the next ring, and a function to
// be called when it is no longer waited for.
func (b *bell) wait() (<-chan struct{}, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	b.waiters++
	return b.ch, func() {
		b.mu.Lock()
		b.waiters--
		b.mu.Unlock()
	}
}

// ring wakes all who wait.
func (b *bell) ring() {
	b.mu.Lock()
	if b.waiters > 0 && b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
	b.mu.Unlock()
}
