package sim

import "time"

// FIFO is when each group is done if the jobs of all are handled strictly in
// the order of arrival at rate per second. Arrivals must be in order of time.
func FIFO(arrivals []Arrival, rate float64) []time.Duration {
	done := make([]time.Duration, len(arrivals))
	var busy time.Duration // until then
	for i, a := range arrivals {
		busy = max(busy, a.At) + seconds(float64(a.Total)/rate)
		done[i] = busy
	}
	return done
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// sharing is a tenant's groups under processor sharing: served is what each
// of its groups has got since the tenant began, and a group ends when that has
// grown by its size.
type sharing struct {
	served float64
	ends   marks
}

// Sharing is when each group is done under ideal tenant-fair sharing: the rate
// is divided evenly, as a fluid, among the tenants that have work at each
// moment, and a tenant's part among its groups. Arrivals must be in order.
func Sharing(arrivals []Arrival, rate float64) []time.Duration {
	done := make([]time.Duration, len(arrivals))
	tenants := map[string]*sharing{}
	var active []*sharing
	now := 0.0
	for next := 0; next < len(arrivals) || len(active) > 0; {
		at, who := 1e18, -1
		for i, s := range active {
			left := (s.ends[0].at - s.served) * float64(len(s.ends)*len(active)) / rate
			if now+left < at {
				at, who = now+left, i
			}
		}
		arrival := next < len(arrivals) && arrivals[next].At.Seconds() <= at
		if arrival {
			at = max(now, arrivals[next].At.Seconds())
		}
		for _, s := range active {
			s.served += (at - now) * rate / float64(len(s.ends)*len(active))
		}
		now = at
		if arrival {
			a := arrivals[next]
			s := tenants[string(a.Tenant)]
			if s == nil {
				s = &sharing{}
				tenants[string(a.Tenant)] = s
			}
			if len(s.ends) == 0 {
				active = append(active, s)
			}
			s.ends.push(mark{s.served + float64(a.Total), next})
			next++
			continue
		}
		s := active[who]
		s.served = s.ends[0].at
		done[s.ends.pop().index] = seconds(now)
		if len(s.ends) == 0 {
			active = append(active[:who], active[who+1:]...)
		}
	}
	return done
}

// mark is where a group ends on its tenant's scale.
type mark struct {
	at    float64
	index int
}

// marks is a binary heap, the least first.
type marks []mark

func (h *marks) push(m mark) {
	*h = append(*h, m)
	s := *h
	for i := len(s) - 1; i > 0 && s[i].at < s[(i-1)/2].at; i = (i - 1) / 2 {
		s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
	}
}

func (h *marks) pop() mark {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		least := 2*i + 1
		if least+1 < last && s[least+1].at < s[least].at {
			least++
		}
		if least >= last || s[least].at >= s[i].at {
			return top
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}
