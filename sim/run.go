package sim

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
	"github.com/spillway/spillway/queue/memqueue"
)

// visibility is longer than any scenario: deliveries here never get lost.
const visibility = 366 * 24 * time.Hour

// atOnce is how many leases are asked for in one call. An engine asks for all
// its free workers; the answers are the same, for each lease is decided by
// itself, and smaller calls cost less.
const atOnce = 8

// never is later than every event.
const never = time.Duration(1<<63 - 1)

// simulation is a scenario on its way.
type simulation struct {
	Scenario
	out     *Result
	rng     *rand.Rand
	queue   *memqueue.Queue
	known   queue.Settings
	actions []spillway.ActionName

	now     time.Duration
	wake    time.Duration // when to claim again by itself
	promote time.Duration // when to promote again, if something may be parked
	arrive  int           // next of Arrivals
	change  int           // next of Changes
	ends    ends          // deliveries on their way
	free    []spillway.LeaseID
	token   int
}

// Run simulates a scenario. What the queue refuses is an error; a scenario
// that makes no sense is too.
func Run(s Scenario) (*Result, error) {
	s = s.withDefaults()
	m := &simulation{
		Scenario: s, wake: never, promote: never, known: s.Settings,
		rng: rand.New(rand.NewPCG(s.Seed, 0x5b1a1)),
		out: &Result{
			Groups:    map[spillway.GroupID]*Group{},
			Tenants:   map[spillway.TenantID]Series{},
			Resources: map[spillway.ResourceName]Series{},
			Log:       map[spillway.ResourceName][]Grant{},
		},
	}
	m.Arrivals = slices.Clone(s.Arrivals)
	slices.SortStableFunc(m.Arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(m.Changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	for i := range s.Workers {
		m.free = append(m.free, spillway.LeaseID("w"+strconv.Itoa(i)))
	}
	seen := map[spillway.ActionName]bool{}
	for _, a := range m.Arrivals {
		if !seen[a.Action] {
			seen[a.Action] = true
			m.actions = append(m.actions, a.Action)
		}
	}
	if len(m.actions) == 0 {
		return nil, fmt.Errorf("sim: a scenario needs at least one group")
	}
	m.queue = memqueue.New(memqueue.Options{Epoch: Start, Fresh: !s.Spent})
	if err := m.queue.Configure(context.Background(), m.clock(), m.known); err != nil {
		return nil, err
	}
	return m.out, m.run()
}

// run lets one instant after the other happen.
func (m *simulation) run() error {
	for {
		at := m.next()
		if at == never || m.Until > 0 && at > m.Until {
			m.out.End = max(m.now, m.Until)
			return nil
		}
		timer := at == m.wake && at != m.nextEvent()
		m.now = at
		if err := m.happen(); err != nil {
			return err
		}
		if err := m.claim(timer); err != nil {
			return err
		}
	}
}

func (m *simulation) clock() time.Time { return Start.Add(m.now) }

// nextEvent is when something happens from outside.
func (m *simulation) nextEvent() time.Duration {
	at := m.promote
	if m.arrive < len(m.Arrivals) {
		at = min(at, m.Arrivals[m.arrive].At)
	}
	if m.change < len(m.Changes) {
		at = min(at, m.Changes[m.change].At)
	}
	if len(m.ends) > 0 {
		at = min(at, m.ends[0].at)
	}
	return max(at, m.now)
}

func (m *simulation) next() time.Duration { return min(m.nextEvent(), m.wake) }

// happen does all that is due from outside.
func (m *simulation) happen() error {
	for m.change < len(m.Changes) && m.Changes[m.change].At <= m.now {
		m.change++
		if err := m.apply(m.Changes[m.change-1]); err != nil {
			return err
		}
	}
	for m.arrive < len(m.Arrivals) && m.Arrivals[m.arrive].At <= m.now {
		m.arrive++
		if err := m.admit(m.Arrivals[m.arrive-1]); err != nil {
			return err
		}
	}
	for len(m.ends) > 0 && m.ends[0].at <= m.now {
		if err := m.settle(m.ends.pop().lease); err != nil {
			return err
		}
	}
	return m.feed()
}

func (m *simulation) admit(a Arrival) error {
	if m.out.Groups[a.ID] != nil {
		return fmt.Errorf("sim: two groups %q", a.ID)
	}
	a.Version = 1
	a.Submitted = Start.Add(a.At)
	m.out.Groups[a.ID] = &Group{Arrival: a, First: -1, Done: -1}
	if err := m.tell(a.Resource); err != nil {
		return err
	}
	return m.queue.Put(context.Background(), m.clock(), []queue.Group{a.Group})
}

// tell tells the queue again what holds for a resource and its parent, which it
// forgets while nothing uses them.
func (m *simulation) tell(name spillway.ResourceName) error {
	var s queue.Settings
	if r, known := m.latest(name); known {
		if parent, known := m.latest(r.Parent); known {
			s.Resources = append(s.Resources, parent)
		}
		s.Resources = append(s.Resources, r)
	}
	return m.queue.Configure(context.Background(), m.clock(), s)
}

// latest is what was said last of a resource.
func (m *simulation) latest(name spillway.ResourceName) (queue.Resource, bool) {
	for _, r := range slices.Backward(m.known.Resources) {
		if r.Name == name {
			return r, true
		}
	}
	return queue.Resource{}, false
}

// claim asks for all free workers until there is nothing more.
func (m *simulation) claim(timer bool) error {
	m.wake = never
	for len(m.free) > 0 {
		c, err := m.queue.Claim(context.Background(), m.clock(), queue.Claim{
			Instance: "sim", Leases: m.free[:min(len(m.free), atOnce)], Actions: m.actions,
			PerResource: m.perResource(), Visibility: visibility,
		})
		if err != nil {
			return err
		}
		m.out.Claims++
		if len(c.Leases) == 0 {
			if timer {
				m.out.Vain++
			}
			m.sleep(c.Next)
			return nil
		}
		timer = false
		for i := range c.Leases {
			if err := m.deliver(c.Leases[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *simulation) sleep(next time.Time) {
	if next.IsZero() {
		return
	}
	m.wake = max(next.Sub(Start), m.now+time.Microsecond)
	if m.Lateness > 0 {
		m.wake += time.Duration(m.rng.Int64N(int64(m.Lateness))).Truncate(time.Microsecond)
	}
}
