package flow

import "math"

const (
	// The slack is what may be left of the pace after a grant: slackClaims of the
	// widest claim, within slackLeast and slackMost of a period. It has to exceed
	// the lateness of wake-ups, or each late one loses tokens for good. It has to
	// hold the widest claim, or the pace makes that claim wait for what was
	// dropped after a small one, while the log has room: sizes at random up to
	// N/5 get 96 % of N with a slack of N/10, 98 % with one claim, over 99 % with
	// one and a half (TestSlidingYield). And it has to be small, because it is what an idle
	// limiter grants at once: that burst comes back each period as the log lets
	// go of it, and ten periods that lie between two of them have one less.
	slackClaims = 1.5
	slackLeast  = 1.0 / 50
	slackMost   = 1.0 / 5
	// paceError is added before a wait is rounded up to a microsecond: more than
	// float64 loses over the longest period, less than anyone notices.
	paceError = 0.01
)

// Sliding is the default limiter: no half-open interval of length r.Per, however
// it is placed, holds more than r.N, and grants are spread over the period.
//
// Two rules must both allow a grant. The log holds what was granted in the last
// period, in at most 100 slots, and makes the bound exact: it is never
// optimistic. It is pessimistic by less than r.N/100 tokens, and exact for r.N
// up to 100. The pace accumulates r.N tokens a period and keeps little of them
// after a grant (one and a half claims of the widest, at least r.N/50, at most
// r.N/5), so that an idle limiter does not grant r.N at once, yet a claimer that
// comes late by less than a fiftieth of a period loses nothing of the pace. Only
// what is left over is capped, so that a claim of any size up to r.N becomes due.
//
// With work that never lacks, 99 % of r.N goes in the long run, in claims of any
// size up to r.N/5, if wake-ups are late by less than half a percent of a period
// on average: under a bound that holds everywhere, a token that was taken d late
// is free again d late. Claims that insist on one size n get at most r.N rounded
// down to a multiple of n; Fit trims claims so that no room is left idle.
//
// When the rate changes, a grant under the new rate counts every grant that is
// still logged: all of the last new period, or of the last old one if that is
// shorter. Lowering N revokes nothing; grants resume once the log has room.
//
// The log is the sliding-window log, in slots of equal count instead of one
// entry per request; the pace is a token bucket in its virtual-scheduling form
// (GCRA, ITU-T I.371) whose depth is counted after the grant.
type Sliding struct {
	last   Time    // of the latest grant; credit is as of then
	credit float64 // time whose tokens have accumulated, in microseconds
	widest int64   // claim granted since the log was last empty
	log    spendLog
}

// StartSpent implements Limiter.
func (s *Sliding) StartSpent(r Rate, at Time) {
	*s = Sliding{}
	if r.unbounded() {
		return
	}
	s.last = at
	s.log.add(at, r.N, r.N)
}

// When implements Limiter.
func (s *Sliding) When(r Rate, now Time, n int64) Time {
	if r.unbounded() {
		return now
	}
	c, now := s.at(r, now)
	return c.when(r, now, n, n)
}

// Fit implements Limiter: it waits for the pace to reach n, and takes what the
// log has room for by then.
func (s *Sliding) Fit(r Rate, now Time, n int64) (int64, Time) {
	if r.unbounded() || n <= 0 || n > r.N {
		return n, s.When(r, now, n)
	}
	c, now := s.at(r, now)
	at := c.when(r, now, n, 1)
	return min(n, r.N-c.log.spent(at-r.micros())), at
}

// Take implements Limiter.
func (s *Sliding) Take(r Rate, now Time, n int64) Decision {
	if r.unbounded() {
		return Decision{Granted: true, At: now, Remaining: math.MaxInt64}
	}
	c, now := s.at(r, now)
	if at := c.when(r, now, n, n); at > now {
		return Decision{At: at, Remaining: c.remaining(r, now)}
	}
	if n > 0 {
		c.grant(r, now, n)
		*s = c
	}
	return Decision{Granted: true, At: now, Remaining: c.remaining(r, now)}
}

// Refund implements Limiter.
func (s *Sliding) Refund(r Rate, stamp Time, n int64) {
	if r.unbounded() || n <= 0 || stamp+r.micros() <= s.last {
		return
	}
	s.credit += float64(float64(s.log.remove(stamp, n)) * r.spacing())
}

// Spent implements Limiter. Like the log it is never too low, and too high by
// less than r.N/100.
func (s *Sliding) Spent(r Rate, now Time) int64 {
	if r.unbounded() {
		return 0
	}
	c, now := s.at(r, now)
	return c.log.spent(now - r.micros())
}

// at returns the state and time that count when the clock says now.
func (s *Sliding) at(r Rate, now Time) (Sliding, Time) {
	c := *s
	switch {
	case now >= c.last:
		return c, now
	case c.last-now <= r.micros():
		return c, c.last
	}
	c.last = now
	c.log = c.log.collapsed(now)
	return c, now
}

// when is the earliest time at which the pace has pace tokens and the log has
// room for room.
func (s *Sliding) when(r Rate, now Time, pace, room int64) Time {
	switch {
	case pace > r.N:
		return Never
	case pace <= 0 || s.log.spent(now-r.micros()) == 0:
		return now // a whole period without grants has accumulated everything
	}
	wait := math.Ceil(float64(float64(pace)*r.spacing()) - s.credit - paceError)
	free := s.log.fits(r.N-room) + r.micros()
	return max(now, s.last+Time(wait), free)
}

// grant logs n tokens and charges the pace.
func (s *Sliding) grant(r Rate, now Time, n int64) {
	s.log.expire(now - r.micros())
	if s.log.total == 0 {
		s.widest = 0
		s.credit = math.MaxFloat64
	}
	s.widest = max(s.widest, n)
	left := s.credit + float64(now-s.last) - float64(float64(n)*r.spacing())
	s.credit = min(left, s.slack(r))
	s.last = now
	s.log.add(now, n, r.N)
}

// slack is the most credit that a grant leaves.
func (s *Sliding) slack(r Rate) float64 {
	per := float64(r.micros())
	return max(slackLeast*per, min(slackMost*per, slackClaims*float64(float64(s.widest)*r.spacing())))
}

// remaining is what both rules leave at now.
func (s *Sliding) remaining(r Rate, now Time) int64 {
	spent := s.log.spent(now - r.micros())
	room := max(0, r.N-spent)
	if spent == 0 {
		return room
	}
	paced := (s.credit + float64(now-s.last) + paceError/2) / r.spacing()
	return min(room, int64(max(0, min(paced, float64(r.N)))))
}
