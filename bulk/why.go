package bulk

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// Why says why a group is not running, or not faster: one reason, the one
// that would have to go first.
func (e *Engine) Why(ctx context.Context, id spillway.GroupID) (*Why, error) {
	g, err := e.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if w := e.whyEngine(g); w != nil {
		return w, nil
	}
	stats, err := e.queue.Stats(ctx, time.Now(), queue.Query{Groups: []spillway.GroupID{id}, Resources: []spillway.ResourceName{g.Resource}})
	if err != nil {
		return nil, err
	}
	s, known := stats.Groups[id]
	if !known {
		return &Why{Code: "not_indexed", Reason: "The index does not hold the group yet; no engine runs, or it is starting. The reconciler adds it within a minute."}, nil
	}
	return e.whyQueue(g, s, stats.Resources[g.Resource]), nil
}

// whyEngine is the reasons that the ledger and this engine know of.
func (e *Engine) whyEngine(g ledger.Group) *Why {
	switch {
	case g.State == spillway.Completed:
		return &Why{Code: "completed", Reason: "The group is completed."}
	case g.State == spillway.Cancelled:
		return &Why{Code: "cancelled", Reason: "The group is cancelled."}
	case g.State == spillway.Paused && g.PausedBy == pausedByFailures:
		return &Why{Code: "max_failures", Reason: fmt.Sprintf("More jobs failed than max_failures (%s) allows. Look at the failures, then resume; it counts anew.", g.Spec.MaxFailures)}
	case g.State == spillway.Paused:
		return &Why{Code: string(queue.ReasonPaused), Reason: "The group is paused. Resume it to go on."}
	case g.Counts.Final() >= g.Total && g.Sealed:
		return &Why{Code: "completing", Reason: "Every job is done; its result is being put together."}
	case g.Counts.Final() >= g.Total && !g.Sealed:
		return &Why{Code: "receiving", Reason: "Every row so far is done; the upload is not sealed yet."}
	}
	if e.cfg.ReadOnly {
		return &Why{Code: "read_only", Reason: "This process only reads the ledger: the one that runs the group knows why. Ask it with --server URL."}
	}
	if err := e.health.ledgerErr(); err != nil {
		return &Why{Code: string(spillway.CodeOf(err)), Reason: "The ledger does not take writes, so no work is claimed: " + err.Error()}
	}
	if e.actions.get(g.Action) == nil {
		return &Why{Code: "no_handler", Reason: fmt.Sprintf("No handler for action %q is registered here. Start an engine that has it.", g.Action)}
	}
	if !e.health.recovered.Load() {
		return &Why{Code: "not_running", Reason: "The engine does not run, or is still reading its index from the ledger."}
	}
	return nil
}

// whyQueue is the reasons that the queue knows of.
func (e *Engine) whyQueue(g ledger.Group, s queue.GroupStats, r queue.ResourceStats) *Why {
	w := &Why{Code: string(s.Blocked), Until: moment(s.Until)}
	name, left := g.Resource, g.Total-g.Counts.Final()
	if s.Blocked == "" && e.breakers.open(name) {
		s.Blocked, w.Code = queue.ReasonBroken, string(queue.ReasonBroken)
	}
	switch s.Blocked {
	case queue.ReasonTenantPaused:
		w.Reason = fmt.Sprintf("Tenant %q is paused.", g.Tenant)
	case queue.ReasonResourcePaused:
		w.Reason = fmt.Sprintf("Resource %q is paused.", name)
	case queue.ReasonNotBefore:
		w.Reason = "It is not to start before its not_before."
	case queue.ReasonExpired:
		w.Reason = "It has expired; its remaining jobs are being skipped."
	case queue.ReasonNoJobs:
		w.Reason = fmt.Sprintf("All rows so far are handed out: %d are in flight.", s.InFlight)
		if !g.Sealed {
			w.Reason += " The upload is not sealed yet."
		}
	case queue.ReasonBackoff:
		w.Reason = fmt.Sprintf("Only jobs that wait for their next attempt are left: %d.", s.Waiting+s.Parked)
	case queue.ReasonBroken:
		w.Reason = fmt.Sprintf("Resource %q is down and probed once a second: %s", name, e.breakers.cause(name))
	case queue.ReasonGroupConcurrency:
		w.Reason = fmt.Sprintf("The group's own concurrency (%d) is in use.", g.Spec.Concurrency)
	case queue.ReasonActionConcurrency:
		w.Reason = fmt.Sprintf("The concurrency of action %q is in use.", g.Action)
	case queue.ReasonResourceConcurrency:
		w.Reason = fmt.Sprintf("The concurrency of resource %q is in use.", name)
	case queue.ReasonGroupRate:
		w.Reason = fmt.Sprintf("The group's own rate (%s) is used up for now.", g.Spec.Rate)
	case queue.ReasonResourceRate:
		w.Reason = fmt.Sprintf("The rate of resource %q is used up for now; %d jobs of this group are left.", name, left)
	case queue.ReasonParentRate:
		w.Reason = fmt.Sprintf("The rate of the parent of resource %q is used up for now.", name)
	case queue.ReasonShare:
		w.Reason = fmt.Sprintf("Others of resource %q go first: %d groups of this tenant stand before it.", name, s.Ahead)
	case queue.ReasonGone:
		w.Reason = "The group has ended."
	case "":
		return e.whyWorkers(g, s, r)
	default:
		w.Reason = string(s.Blocked)
	}
	return w
}

// whyWorkers is the reason of a group that nothing blocks: it goes as fast as
// the workers do.
func (e *Engine) whyWorkers(g ledger.Group, s queue.GroupStats, r queue.ResourceStats) *Why {
	busy := e.pool.busy.Load()
	if int(busy) >= e.pool.size {
		return &Why{Code: "workers_busy", Reason: fmt.Sprintf("All %d workers are busy; %d of its jobs are in flight. More workers or instances would help.", e.pool.size, s.InFlight)}
	}
	if most := e.cfg.perResource(); s.InFlight == 0 && r.Leases >= most {
		return &Why{Code: "resource_workers", Reason: fmt.Sprintf("Resource %q holds %d of the %d workers, and one resource may hold no more; the next that becomes free is for this group's tenant. Deliveries that hang end at their time-out.", g.Resource, r.Leases, e.pool.size)}
	}
	if s.InFlight > 0 {
		return &Why{Code: "running", Reason: fmt.Sprintf("It is running: %d jobs are in flight, and nothing holds it back.", s.InFlight)}
	}
	return &Why{Code: "ready", Reason: "It is ready and its turn is now."}
}
