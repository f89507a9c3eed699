package bulk

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// held is a lease that this engine holds, for its own workers or for a pull
// worker.
type held struct {
	lease queue.Lease
	// actionable leases are extended for as long as they are held; a pull
	// worker extends its own.
	actionable bool
	cancel     context.CancelCauseFunc // stops the handler; nil before it runs
	delivery   *delivery               // of a pull worker; nil otherwise
}

// leases is the leases that the engine holds.
type leases struct {
	mu   sync.Mutex
	byID map[spillway.LeaseID]*held
}

func (l *leases) add(h *held) {
	l.mu.Lock()
	l.byID[h.lease.ID] = h
	l.mu.Unlock()
}

func (l *leases) remove(id spillway.LeaseID) {
	l.mu.Lock()
	delete(l.byID, id)
	l.mu.Unlock()
}

// of is the leases of a group.
func (l *leases) of(id spillway.GroupID) []queue.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []queue.Lease
	for _, h := range l.byID {
		if h.lease.Group == id {
			out = append(out, h.lease)
		}
	}
	return out
}

// groupsOn is the groups with leases on a resource.
func (l *leases) groupsOn(name spillway.ResourceName) []spillway.GroupID {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []spillway.GroupID
	for _, h := range l.byID {
		if h.lease.Resource == name && !slices.Contains(out, h.lease.Group) {
			out = append(out, h.lease.Group)
		}
	}
	return out
}

// take removes a lease; false if it was removed before.
func (l *leases) take(h *held) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID[h.lease.ID] != h {
		return false
	}
	delete(l.byID, h.lease.ID)
	return true
}

func (l *leases) get(id spillway.LeaseID) *held {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byID[id]
}

// cancels sets what stops a lease's handler.
func (l *leases) cancels(id spillway.LeaseID, cancel context.CancelCauseFunc) {
	l.mu.Lock()
	if h := l.byID[id]; h != nil {
		h.cancel = cancel
	}
	l.mu.Unlock()
}

// errLeaseLost is the cause of contexts whose lease was given to another.
var errLeaseLost = spillway.Errorf(spillway.CodeLeaseLost, "the lease expired and was taken over")

// extendLoop keeps the leases of the workers alive, and stops handlers whose
// lease is lost.
func (e *Engine) extendLoop(ctx context.Context) error {
	return every(ctx, visibility/3, nil, func() { e.extend(ctx) })
}

func (e *Engine) extend(ctx context.Context) {
	now := time.Now()
	var all []*held
	var x []queue.Extension
	e.leases.mu.Lock()
	for _, h := range e.leases.byID {
		if h.actionable {
			all = append(all, h)
			x = append(x, queue.Extension{Ref: h.lease.Ref, Until: now.Add(visibility)})
		} else if now.Sub(h.lease.Deadline) > time.Hour {
			// A pull worker that never came back; its lease was reclaimed.
			delete(e.leases.byID, h.lease.ID)
		}
	}
	e.leases.mu.Unlock()
	if len(x) == 0 {
		return
	}
	still, err := e.queue.Extend(ctx, now, x)
	if err != nil {
		e.log.Warn("leases could not be extended; trying again", "leases", len(x), "err", err)
		return
	}
	for i, h := range all {
		if still[i] {
			continue
		}
		e.leases.mu.Lock()
		cancel := h.cancel
		e.leases.mu.Unlock()
		if cancel != nil && e.leases.get(h.lease.ID) == h {
			e.metrics.leasesLost.Add(1)
			e.log.Warn("a lease was lost while its handler ran", "group", h.lease.Group, "lease", h.lease.ID)
			cancel(errLeaseLost)
		}
	}
}
