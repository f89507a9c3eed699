package server

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
)

// rates bounds the requests of each key.
type rates struct {
	limit rate.Limit
	burst int
	mu    struct {
		sync.Mutex
		byName map[string]*rate.Limiter
	}
}

// maxRates bounds the limiters that are kept; past it all start anew.
const maxRates = 10_000

func (r *rates) init(of flow.Rate) {
	r.limit, r.burst = rate.Limit(of.PerSecond()), int(min(of.N, math.MaxInt32))
	if of.Unlimited() {
		r.limit = rate.Inf
	}
	r.mu.byName = map[string]*rate.Limiter{}
}

// take counts one request, or says when to come back.
func (r *rates) take(now time.Time, name string) error {
	r.mu.Lock()
	l := r.mu.byName[name]
	if l == nil {
		if len(r.mu.byName) >= maxRates {
			clear(r.mu.byName)
		}
		l = rate.NewLimiter(r.limit, r.burst)
		r.mu.byName[name] = l
	}
	r.mu.Unlock()
	res := l.ReserveN(now, 1)
	wait := res.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	res.CancelAt(now)
	p := problemOf(spillway.Errorf(codeRateExceeded, "more requests than this key may make: come back in %v", wait.Round(time.Millisecond)))
	p.retryAfter = max(1, int(math.Ceil(wait.Seconds())))
	return p
}

// slots bounds what is under way at once, for all and for each key.
type slots struct {
	what   string
	all    int
	perKey int
	mu     struct {
		sync.Mutex
		used  int
		byKey map[string]int
	}
}

func (s *slots) init(n int, what string) {
	s.what, s.all, s.perKey = what, n, max(1, n/4)
	s.mu.byKey = map[string]int{}
}

// take holds a slot until release is called.
func (s *slots) take(key string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.used >= s.all || s.mu.byKey[key] >= s.perKey {
		return nil, spillway.Errorf(spillway.CodeLimit, "too many %s at once (%d for one key, %d in all): try again when one has ended", s.what, s.perKey, s.all)
	}
	s.mu.used++
	s.mu.byKey[key]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.used--
		if s.mu.byKey[key]--; s.mu.byKey[key] == 0 {
			delete(s.mu.byKey, key)
		}
	}), nil
}
