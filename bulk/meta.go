package bulk

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// meta is what the engine remembers of a group it works on: what never
// changes, and running counts for max_failures.
type meta struct {
	id       spillway.GroupID
	tenant   spillway.TenantID
	action   spillway.ActionName
	resource spillway.ResourceName
	spec     ledger.Spec
	rate     flow.Rate
	created  time.Time
	maxFail  maxFailures

	mu struct {
		sync.Mutex
		failed, final int64 // since the group was last resumed
		pausing       bool
	}
}

// metas is the groups that the engine works on; ended ones are forgotten.
type metas struct {
	mu   sync.Mutex
	byID map[spillway.GroupID]*meta
}

// meta returns what is known of a group, reading it from the ledger at first.
func (e *Engine) meta(ctx context.Context, id spillway.GroupID) (*meta, error) {
	e.metas.mu.Lock()
	m := e.metas.byID[id]
	e.metas.mu.Unlock()
	if m != nil {
		return m, nil
	}
	g, err := e.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return e.remember(g), nil
}

// remember keeps what a group's ledger row says.
func (e *Engine) remember(g ledger.Group) *meta {
	e.metas.mu.Lock()
	defer e.metas.mu.Unlock()
	m := e.metas.byID[g.ID]
	if m == nil {
		m = newMeta(g)
		if g.Finished.IsZero() {
			e.metas.byID[g.ID] = m
		}
	}
	return m
}

// renew forgets what was counted of a group before a change of its state.
func (e *Engine) renew(g ledger.Group) {
	e.metas.mu.Lock()
	defer e.metas.mu.Unlock()
	delete(e.metas.byID, g.ID)
	if g.Finished.IsZero() {
		e.metas.byID[g.ID] = newMeta(g)
	}
}

// current is the group's counts as they are kept now: a delivery or an upload
// may have begun before the group was resumed.
func (e *Engine) current(m *meta) *meta {
	e.metas.mu.Lock()
	defer e.metas.mu.Unlock()
	if now := e.metas.byID[m.id]; now != nil {
		return now
	}
	return m
}

func newMeta(g ledger.Group) *meta {
	m := &meta{
		id: g.ID, tenant: g.Tenant, action: g.Action, resource: g.Resource,
		spec: g.Spec, created: g.Created,
	}
	// Both were validated when the group was made.
	m.rate, _ = flow.ParseRate(g.Spec.Rate)
	m.maxFail, _ = parseMaxFailures(g.Spec.MaxFailures)
	m.mu.failed = g.Counts.Failed - g.FailedBase
	m.mu.final = g.Counts.Final() - g.FinalBase
	return m
}

func (e *Engine) forget(id spillway.GroupID) {
	e.metas.mu.Lock()
	delete(e.metas.byID, id)
	e.metas.mu.Unlock()
}

// find reads one group from the ledger.
func (e *Engine) find(ctx context.Context, id spillway.GroupID) (ledger.Group, error) {
	groups, _, err := e.ledger.Find(ctx, ledger.Filter{IDs: []spillway.GroupID{id}})
	if err != nil {
		return ledger.Group{}, err
	}
	if len(groups) == 0 {
		return ledger.Group{}, spillway.Errorf(spillway.CodeNotFound, "there is no group %q", id)
	}
	return groups[0], nil
}

// indexed is a group as the queue needs it.
func (e *Engine) indexed(g ledger.Group) queue.Group {
	m := e.remember(g)
	q := e.entry(m, g.Version, g.Total, g.Sealed, g.State)
	q.MaxCost = g.MaxCost
	q.Finished = g.Counts.Final()
	return q
}

func (e *Engine) entry(m *meta, version, total int64, sealed bool, state spillway.State) queue.Group {
	return queue.Group{
		ID: m.id, Version: version, Tenant: m.tenant, Resource: m.resource, Action: m.action,
		Total: total, Sealed: sealed, Submitted: m.created,
		Priority: m.spec.Priority + e.actions.priority(m.action),
		Rate:     m.rate, Concurrency: m.spec.Concurrency,
		NotBefore: m.spec.NotBefore, Expires: m.spec.Expires,
		Paused: state == spillway.Paused, Gone: state.Ended(),
	}
}

// put indexes groups, and wakes who waits for work.
func (e *Engine) put(ctx context.Context, groups ...queue.Group) error {
	for _, g := range groups {
		if err := e.ensure(ctx, g.Resource, g.Tenant); err != nil {
			return err
		}
	}
	if err := e.queue.Put(ctx, time.Now(), groups); err != nil {
		return err
	}
	e.bell.ring()
	poke(e.feed)
	return nil
}

// maxFailures is when a group pauses by itself.
type maxFailures struct {
	set     bool
	count   int64
	percent float64 // counts if it is not negative
}

// judgedFrom is the number of final jobs from which a percentage is judged.
const judgedFrom = 100

// CheckMaxFailures says what is wrong with a bound of failures, nil if nothing.
func CheckMaxFailures(s string) error {
	_, err := parseMaxFailures(s)
	return err
}

func parseMaxFailures(s string) (maxFailures, error) {
	bad := func() (maxFailures, error) {
		return maxFailures{}, spillway.Errorf(spillway.CodeInvalid, "%q is neither a number of failures (50) nor a percentage of what is done (1%%)", s)
	}
	if s == "" {
		return maxFailures{}, nil
	}
	if num, ok := strings.CutSuffix(s, "%"); ok {
		p, err := strconv.ParseFloat(num, 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return bad()
		}
		return maxFailures{set: true, percent: p}, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return bad()
	}
	return maxFailures{set: true, count: n, percent: -1}, nil
}

// passed reports whether so many failures of so many final jobs are too many.
func (m maxFailures) passed(failed, final int64) bool {
	switch {
	case !m.set:
		return false
	case m.percent >= 0:
		return final >= judgedFrom && float64(failed)*100 > m.percent*float64(final)
	}
	return failed > m.count
}
