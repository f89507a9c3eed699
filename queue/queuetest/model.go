package queuetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// The random model: seeded worlds of callers, groups and settings. A failure
// prints the seed and everything that was done.
const (
	modelSeeds = 200
	modelSteps = 250
)

func runModel(t *testing.T, open Open) {
	seeds := modelSeeds
	if testing.Short() {
		seeds /= 10
	}
	var done tally
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			m := newModel(t, open, seed)
			for range modelSteps {
				m.step()
			}
			m.drain()
			done.add(m.did)
		})
	}
	if done.worlds == seeds && !t.Failed() {
		done.check(t)
	}
}

// model is one world: the queue under test, what the ledger knows, and the
// leases that the queue must be holding.
type model struct {
	*testing.T
	open Open
	q    queue.Queue
	rng  *rand.Rand
	seed uint64
	now  time.Time

	script []string
	did    tally

	groups    []*modelGroup
	resources []*modelResource
	actions   []*queue.Action
	tenants   []*queue.Tenant
	held      map[spillway.LeaseID]*modelLease
	// Jobs in flight.
	ofAction   map[spillway.ActionName]int64
	ofResource map[spillway.ResourceName]int64

	workers []*modelLease // what living callers work on
	fed     []queue.Feed  // fed before, to be fed again
	lost    []queue.Claim // answers that were lost
	ids     int
}

// tally counts what a run has exercised, so that a model that does nothing
// fails.
type tally struct{ worlds, leases, jobs, reclaimed, parked, fed, probes, early, wiped int }

func (t *tally) add(u tally) {
	t.worlds++
	t.leases += u.leases
	t.jobs += u.jobs
	t.reclaimed += u.reclaimed
	t.parked += u.parked
	t.fed += u.fed
	t.probes += u.probes
	t.early += u.early
	t.wiped += u.wiped
}

func (t *tally) check(tt *testing.T) {
	tt.Logf("%+v", *t)
	least := min(t.leases/50, t.reclaimed, t.parked, t.fed, t.probes, t.early, t.wiped)
	if least < t.worlds/4 {
		tt.Errorf("too little was done to prove anything: %+v", *t)
	}
}

func newModel(t *testing.T, open Open, seed uint64) *model {
	m := &model{
		T: t, open: open, seed: seed, now: start,
		rng:  rand.New(rand.NewPCG(seed, 7)),
		held: map[spillway.LeaseID]*modelLease{}, ofAction: map[spillway.ActionName]int64{},
		ofResource: map[spillway.ResourceName]int64{},
	}
	m.q = open(t, Options{Epoch: start.Add(-time.Hour)})
	m.setUp()
	m.configure()
	return m
}

// do writes a line of the script.
func (m *model) do(format string, args ...any) {
	line := fmt.Sprintf("%-12v %s", m.now.Sub(start), fmt.Sprintf(format, args...))
	m.script = append(m.script, line)
}

// fail ends the test with the seed and the script.
func (m *model) fail(format string, args ...any) {
	m.Helper()
	m.Fatalf("%s\nseed %d, after:\n%s", fmt.Sprintf(format, args...), m.seed, strings.Join(m.script, "\n"))
}

func (m *model) must(err error) {
	m.Helper()
	if err != nil {
		m.fail("%v", err)
	}
}

// chance is true n times in a hundred.
func (m *model) chance(n int) bool { return m.rng.IntN(100) < n }

// one returns one of the choices.
func one[T any](m *model, choices ...T) T { return choices[m.rng.IntN(len(choices))] }

// modelResource is a resource's settings and what was granted on it.
type modelResource struct {
	set    queue.Resource
	grants []*modelGrant
	probed time.Time
}

// modelGrant is the true cost of a grant: what did not run is taken out.
type modelGrant struct {
	at   time.Time
	cost int64
}

// setUp draws the settings of the world.
func (m *model) setUp() {
	for _, name := range []string{"a", "b", "c"} {
		a := &queue.Action{Name: spillway.ActionName(name), Batch: one(m, int64(1), 7, 100, 1000)}
		a.Order = one(m, queue.Shortest, queue.Even, "")
		a.Concurrency = one(m, int64(0), 0, 3, 50)
		m.actions = append(m.actions, a)
	}
	for _, name := range []string{"big", "mid", "sml"} {
		m.tenants = append(m.tenants, &queue.Tenant{ID: spillway.TenantID(name), Weight: one(m, 0.0, 1, 3, 0.5)})
	}
	parent := spillway.ResourceName("")
	if m.chance(40) {
		parent = "par"
		m.resources = append(m.resources, &modelResource{set: queue.Resource{Name: parent, Rate: one(m, perSecond(30), perSecond(300))}})
	}
	for k := range 3 {
		r := queue.Resource{Name: spillway.ResourceName(fmt.Sprintf("r%d", k)), Rate: m.rate()}
		r.Window = m.chance(20)
		r.Concurrency = one(m, int64(0), 0, 5, 40)
		r.MaxParked = one(m, int64(0), 20)
		if m.chance(60) {
			r.Parent = parent
		}
		m.resources = append(m.resources, &modelResource{set: r})
	}
}

// rate draws a rate; half of them are none.
func (m *model) rate() flow.Rate {
	return one(m, flow.Rate{}, flow.Rate{}, perSecond(10), perSecond(100), perSecond(5000),
		flow.Rate{N: 50, Per: 5 * time.Second})
}

// configure tells the queue all settings.
func (m *model) configure() {
	var s queue.Settings
	for _, r := range m.resources {
		s.Resources = append(s.Resources, r.set)
	}
	s.Actions, s.Tenants = values(m.actions), values(m.tenants)
	m.must(m.q.Configure(context.Background(), m.now, s))
}

func (m *model) resource(name spillway.ResourceName) *modelResource {
	for _, r := range m.resources {
		if r.set.Name == name {
			return r
		}
	}
	return nil
}

func (m *model) action(name spillway.ActionName) *queue.Action {
	return m.actions[slices.IndexFunc(m.actions, func(a *queue.Action) bool { return a.Name == name })]
}

func (m *model) tenant(id spillway.TenantID) *queue.Tenant {
	return m.tenants[slices.IndexFunc(m.tenants, func(t *queue.Tenant) bool { return t.ID == id })]
}
