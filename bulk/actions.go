package bulk

import (
	"context"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// action is a registered action.
type action struct {
	Action
	name    spillway.ActionName
	handler Handler
}

// actions is the registered actions.
type actions struct {
	mu     sync.RWMutex
	byName map[spillway.ActionName]*action
	pushed []spillway.ActionName // those with a handler here
}

// Handle registers an action, with its handler unless it is a pull action.
// Groups of an action that no engine has registered wait.
func (e *Engine) Handle(name spillway.ActionName, a Action, h Handler) error {
	a = a.withDefaults(string(name))
	if err := a.validate(string(name)); err != nil {
		return err
	}
	if a.Pull != (h == nil) {
		panic("bulk: Handle needs a handler, and a pull action has none; the caller mixed them up")
	}
	e.actions.mu.Lock()
	if e.actions.byName[name] == nil && !a.Pull {
		e.actions.pushed = append(e.actions.pushed, name)
	}
	e.actions.byName[name] = &action{Action: a, name: name, handler: h}
	e.actions.mu.Unlock()
	err := e.queue.Configure(context.Background(), time.Now(), queue.Settings{Actions: []queue.Action{a.setting(name)}})
	e.bell.ring()
	return err
}

// setting is what the queue knows of the action.
func (a Action) setting(name spillway.ActionName) queue.Action {
	return queue.Action{Name: name, Batch: int64(a.Batch), Order: a.Order, Concurrency: a.Concurrency}
}

func (a *actions) get(name spillway.ActionName) *action {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.byName[name]
}

// handled is the actions that the pool's workers can do.
func (a *actions) handled() []spillway.ActionName {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.pushed
}

func (a *actions) priority(name spillway.ActionName) time.Duration {
	if x := a.get(name); x != nil {
		return x.Priority
	}
	return 0
}

// action returns a registered action.
func (e *Engine) action(name spillway.ActionName) (*action, error) {
	if a := e.actions.get(name); a != nil {
		return a, nil
	}
	return nil, spillway.Errorf(spillway.CodeUnknownAction, "there is no action %q: register or configure it", name)
}
