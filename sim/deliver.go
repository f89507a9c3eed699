package sim

import (
	"context"
	"slices"
	"time"

	"github.com/spillway/spillway/queue"
	"github.com/spillway/spillway/queue/memqueue"
)

// deliver hands a lease to its worker.
func (m *simulation) deliver(l queue.Lease) error {
	i := slices.Index(m.free, l.ID)
	m.free = slices.Delete(m.free, i, i+1)
	m.out.MaxRunning = max(m.out.MaxRunning, m.Workers-len(m.free))
	g := m.out.Groups[l.Group]
	m.record(g, l)
	var took time.Duration
	if m.Service != nil {
		took = m.Service(m.rng, l).Truncate(time.Microsecond)
	}
	if took <= 0 {
		return m.settle(l)
	}
	m.token++
	m.ends.push(end{at: m.now + took, order: m.token, lease: l})
	return nil
}

func (m *simulation) record(g *Group, l queue.Lease) {
	o, n := m.out, l.Jobs.Len()
	o.Leases++
	o.Delivered += n
	if g.First < 0 {
		g.First = m.now
	}
	g.next = max(g.next, l.Jobs[len(l.Jobs)-1].To)
	bin := int(m.now / m.Bin)
	o.Tenants[l.Tenant] = o.Tenants[l.Tenant].add(bin, l.Charged)
	o.Resources[l.Resource] = o.Resources[l.Resource].add(bin, l.Charged)
	if m.ByGroup {
		g.Series = g.Series.add(bin, l.Charged)
	}
	if m.Log {
		o.Log[l.Resource] = append(o.Log[l.Resource], Grant{m.now, l.Charged})
	}
}

// settle ends a delivery: the ledger's part first, then the queue's.
func (m *simulation) settle(l queue.Lease) error {
	m.free = append(m.free, l.ID)
	g := m.out.Groups[l.Group]
	s := queue.Settlement{Ref: l.Ref}
	s.Finished = m.outcomes(g, l, &s)
	g.final += s.Finished
	m.out.Jobs += s.Finished
	if _, err := m.queue.Settle(context.Background(), m.clock(), []queue.Settlement{s}); err != nil {
		return err
	}
	if g.final < g.Total {
		return nil
	}
	g.Done = m.now
	gone := g.Group
	gone.Version, gone.Gone = 2, true
	return m.queue.Put(context.Background(), m.clock(), []queue.Group{gone})
}

// apply makes a change of settings, or restarts the queue.
func (m *simulation) apply(c Change) error {
	ctx := context.Background()
	if !c.Restart {
		m.known.Resources = append(slices.Clone(m.known.Resources), c.Resources...)
		m.known.Actions = append(slices.Clone(m.known.Actions), c.Actions...)
		m.known.Tenants = append(slices.Clone(m.known.Tenants), c.Tenants...)
		return m.queue.Configure(ctx, m.clock(), c.Settings)
	}
	m.queue = memqueue.New(memqueue.Options{Epoch: m.clock()})
	if err := m.queue.Configure(ctx, m.clock(), m.known); err != nil {
		return err
	}
	for _, a := range m.Arrivals[:m.arrive] {
		g := m.out.Groups[a.ID]
		if g.final == g.Total {
			continue
		}
		x := g.Group
		x.Next, x.Finished = g.next, g.final
		x.Parked, x.ParkedDue = g.waiting()
		if err := m.queue.Put(ctx, m.clock(), []queue.Group{x}); err != nil {
			return err
		}
	}
	return nil
}

// end is a delivery on its way.
type end struct {
	at    time.Duration
	order int // of equal times
	lease queue.Lease
}

func (e end) before(x end) bool { return e.at < x.at || e.at == x.at && e.order < x.order }

// ends is a binary heap, the earliest first.
type ends []end

func (h *ends) push(e end) {
	*h = append(*h, e)
	s := *h
	for i := len(s) - 1; i > 0 && s[i].before(s[(i-1)/2]); i = (i - 1) / 2 {
		s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
	}
}

func (h *ends) pop() end {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s[last] = end{}
	s = s[:last]
	*h = s
	for i := 0; ; {
		least := 2*i + 1
		if least+1 < last && s[least+1].before(s[least]) {
			least++
		}
		if least >= last || !s[least].before(s[i]) {
			return top
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}
