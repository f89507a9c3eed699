package memqueue

// crew is the workers of an instance on one resource, as a claim with
// PerResource sees them, while it looks for the tenant that goes first.
//
// A tenant's part of the workers is its weight's. Whoever has its part, rounded
// down but at least one worker, lets those go first who have less. If all who
// have something ready have that much, what the others don't hold is divided
// among these alone, so that no worker stands idle. Below its part a tenant
// waits for its turn by virtual time, as it would without a bound.
//
// Nothing is kept but the number of leases by tenant: the lane's heap is
// searched from its top, and below a line only if its tenant has its part. Each
// of those holds a lease, so that a search costs at most as much as the crew
// has workers out, and usually one look.
type crew struct {
	resource *resource
	instance string
	workers  int

	full  []*line // ready, but the tenant has its part
	first *line   // of the others, the one whose turn it is
	least key
}

// scarce says that the workers have to be shared out. Where a rate bounds the
// resource, its tokens are what is shared while over a quarter of the workers
// is free.
func (r *resource) scarce(instance string, workers int) bool {
	if unlimited(r.limit.rate) && (r.parent == nil || unlimited(r.parent.limit.rate)) {
		return true
	}
	return 4*(workers-r.holders[instance]) <= workers+3
}

// part is how many workers of those given are the tenant's by weight.
func (s *share) part(workers int, weights float64) float64 {
	return float64(workers) * s.tenant.weight() / weights
}

// has says that a tenant has its part.
func (c *crew) has(s *share) bool {
	n := s.held(c.instance)
	return n > 0 && float64(n+1) > s.part(c.workers, c.resource.weights)+roundingWeights
}

// search looks for the first line of a lane whose tenant has less than its part.
func (c *crew) search(lines []item[*line], i int) {
	if i >= len(lines) || c.first != nil && !lines[i].less(c.least) {
		return
	}
	if !c.has(lines[i].x.share) {
		c.first, c.least = lines[i].x, lines[i].key
		return
	}
	c.full = append(c.full, lines[i].x)
	for child := 4*i + 1; child <= 4*i+4; child++ {
		c.search(lines, child)
	}
}

// choose is the share that goes first in the lanes, or nil if none is ready.
func (c *crew) choose(lanes []*lane) *share {
	for _, l := range lanes {
		c.search(l.lines.items, 0)
	}
	if c.first != nil {
		return c.first.share
	}
	return c.divide(lanes)
}

// divide finds who goes first when all have their parts: the workers that the
// tenants without ready groups leave are divided among the ready.
func (c *crew) divide(lanes []*lane) *share {
	workers, weights := c.workers-c.resource.holders[c.instance], 0.0
	for _, l := range c.full {
		if l == l.share.firstLine(lanes) { // once per tenant
			workers += l.share.held(c.instance)
			weights += l.share.tenant.weight()
		}
	}
	var best *share
	for _, l := range c.full {
		s := l.share
		if float64(s.held(c.instance)) < s.part(workers, weights)-roundingWeights && (best == nil || s.before(best)) {
			best = s
		}
	}
	return best
}

// before says that a share has its turn before another.
func (s *share) before(o *share) bool {
	return key{s.v, s.seq}.less(key{o.v, o.seq})
}

// firstLine is the share's first line that is ready in the lanes.
func (s *share) firstLine(lanes []*lane) *line {
	for _, l := range s.lines {
		if l.ready(lanes) {
			return l
		}
	}
	return nil
}

// crewed is how many leases a tenant's share has out at an instance.
type crewed struct {
	instance string
	leases   int
}

// held is the leases of the share at an instance.
func (s *share) held(instance string) int {
	for i := range s.crews {
		if s.crews[i].instance == instance {
			return s.crews[i].leases
		}
	}
	return 0
}

// hold counts a lease that starts (or, negative, ends) at an instance.
func (s *share) hold(instance string, leases int) {
	s.resource.hold(instance, leases)
	for i := range s.crews {
		x := &s.crews[i]
		if x.instance != instance {
			continue
		}
		if x.leases += leases; x.leases == 0 {
			last := len(s.crews) - 1
			*x = s.crews[last]
			s.crews[last] = crewed{}
			s.crews = s.crews[:last]
		}
		return
	}
	s.crews = append(s.crews, crewed{instance, leases})
}
