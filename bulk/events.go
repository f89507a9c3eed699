package bulk

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spillway/spillway"
)

// events tells subscribers what changes. A group that changes often is told
// of at most once per eventEvery, as it is then.
type events struct {
	mu    sync.Mutex
	subs  map[chan Event]bool
	dirty map[spillway.GroupID]bool
	wake  chan struct{} // there is something dirty
}

// Bounds of events.
const (
	eventEvery  = 200 * time.Millisecond
	eventBuffer = 256
)

func (v *events) init() {
	v.wake = make(chan struct{}, 1)
	v.subs, v.dirty = map[chan Event]bool{}, map[spillway.GroupID]bool{}
}

// Subscribe yields events until cancel is called. A reader that is slow misses
// some, and never holds up the engine.
func (e *Engine) Subscribe() (events <-chan Event, cancel func()) {
	ch := make(chan Event, eventBuffer)
	e.events.mu.Lock()
	e.events.subs[ch] = true
	e.events.mu.Unlock()
	return ch, func() {
		e.events.mu.Lock()
		delete(e.events.subs, ch)
		e.events.mu.Unlock()
	}
}

// group notes that a group has changed.
func (v *events) group(id spillway.GroupID) {
	v.mu.Lock()
	if len(v.subs) > 0 {
		v.dirty[id] = true
		poke(v.wake)
	}
	v.mu.Unlock()
}

// publish gives an event to every subscriber that has room.
func (v *events) publish(x Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for ch := range v.subs {
		select {
		case ch <- x:
		default:
		}
	}
}

func (v *events) take() []spillway.GroupID {
	v.mu.Lock()
	defer v.mu.Unlock()
	ids := make([]spillway.GroupID, 0, len(v.dirty))
	for id := range v.dirty {
		ids = append(ids, id)
	}
	clear(v.dirty)
	return ids
}

// eventLoop publishes the groups that have changed.
func (e *Engine) eventLoop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.events.wake:
		}
		if !sleep(ctx, eventEvery) {
			return nil
		}
		for _, id := range e.events.take() {
			g, err := e.Group(ctx, id)
			if errors.Is(err, spillway.CodeNotFound) {
				continue
			}
			if err != nil {
				e.events.group(id)
				continue
			}
			e.events.publish(Event{Type: "group", Group: g, At: time.Now()})
		}
	}
}
