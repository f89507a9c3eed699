package flow

import "math"

// Window is the limiter of fixed windows [k·Per, (k+1)·Per), counted from the
// Unix epoch: each window holds at most r.N. An interval of length r.Per that
// lies across a boundary may hold up to twice as much, and a window's whole
// rate may go at once; it is what many providers count by. State: two numbers.
//
// When the rate changes, what was granted in the window of the latest grant
// counts in the new rate's window if the latest grant lies in it.
type Window struct {
	last Time  // of the latest grant
	used int64 // in its window
}

// StartSpent implements Limiter.
func (w *Window) StartSpent(r Rate, at Time) {
	*w = Window{}
	if !r.unbounded() {
		*w = Window{last: at, used: r.N}
	}
}

// When implements Limiter.
func (w *Window) When(r Rate, now Time, n int64) Time {
	if r.unbounded() {
		return now
	}
	c, now := w.at(r, now)
	return c.when(r, now, n)
}

// Fit implements Limiter: what a window has left goes before the next begins.
func (w *Window) Fit(r Rate, now Time, n int64) (int64, Time) {
	if r.unbounded() || n <= 0 || n > r.N {
		return n, w.When(r, now, n)
	}
	c, now := w.at(r, now)
	if room := r.N - c.used; room > 0 {
		return min(n, room), now
	}
	return n, c.when(r, now, n)
}

// Take implements Limiter.
func (w *Window) Take(r Rate, now Time, n int64) Decision {
	if r.unbounded() {
		return Decision{Granted: true, At: now, Remaining: math.MaxInt64}
	}
	c, now := w.at(r, now)
	if at := c.when(r, now, n); at > now {
		return Decision{At: at, Remaining: max(0, r.N-c.used)}
	}
	if n > 0 {
		c.last = now
		c.used += n
		*w = c
	}
	return Decision{Granted: true, At: now, Remaining: max(0, r.N-c.used)}
}

// Refund implements Limiter: only the window of the latest grant still counts.
func (w *Window) Refund(r Rate, stamp Time, n int64) {
	if r.unbounded() || n <= 0 || windowStart(r, stamp) != windowStart(r, w.last) {
		return
	}
	w.used -= min(n, w.used)
}

// Spent implements Limiter: in the window that now lies in.
func (w *Window) Spent(r Rate, now Time) int64 {
	if r.unbounded() {
		return 0
	}
	c, _ := w.at(r, now)
	return c.used
}

// at returns the time that counts when the clock says now, and the state of the
// window it lies in.
func (w *Window) at(r Rate, now Time) (Window, Time) {
	c := *w
	if c.last > now {
		if c.last-now <= r.micros() {
			now = c.last
		}
		c.last = now
	}
	if c.last < windowStart(r, now) {
		c.used = 0
	}
	return c, now
}

func (w *Window) when(r Rate, now Time, n int64) Time {
	switch {
	case n > r.N:
		return Never
	case n <= 0 || w.used+n <= r.N:
		return now
	}
	return windowStart(r, now) + r.micros()
}

// windowStart is the start of the window that t lies in.
func windowStart(r Rate, t Time) Time {
	into := t % r.micros()
	if into < 0 {
		into += r.micros()
	}
	return t - into
}
