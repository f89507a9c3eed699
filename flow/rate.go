package flow

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is N per period: at most N in any window of length Per (what exactly a
// window is, each limiter says). The zero Rate is unlimited.
type Rate struct {
	N   int64
	Per time.Duration
}

// Bounds of a rate that ParseRate accepts.
const (
	MaxRateN   = 1_000_000_000
	MinRatePer = time.Millisecond
	MaxRatePer = 366 * 24 * time.Hour
)

// Unlimited reports whether r bounds nothing.
func (r Rate) Unlimited() bool { return r.N == 0 && r.Per == 0 }

// PerSecond is the rate in jobs per second; 0 if unlimited.
func (r Rate) PerSecond() float64 {
	if r.Per <= 0 {
		return 0
	}
	return float64(r.N) / r.Per.Seconds()
}

// String writes the rate as ParseRate reads it: 200/s, 600/m, 5/h, 50/5s;
// "" is unlimited.
func (r Rate) String() string {
	switch {
	case r.Unlimited():
		return ""
	case r.Per == time.Second:
		return fmt.Sprintf("%d/s", r.N)
	case r.Per == time.Minute:
		return fmt.Sprintf("%d/m", r.N)
	case r.Per == time.Hour:
		return fmt.Sprintf("%d/h", r.N)
	case r.Per%time.Hour == 0:
		return fmt.Sprintf("%d/%dh", r.N, r.Per/time.Hour)
	case r.Per%time.Minute == 0:
		return fmt.Sprintf("%d/%dm", r.N, r.Per/time.Minute)
	case r.Per%time.Second == 0:
		return fmt.Sprintf("%d/%ds", r.N, r.Per/time.Second)
	}
	return fmt.Sprintf("%d/%dms", r.N, r.Per/time.Millisecond)
}

// ParseRate reads N/PERIOD: 200/s, 600/m, 5/h, 50/5s, 3/250ms. "" is
// unlimited.
func ParseRate(s string) (Rate, error) {
	if s == "" {
		return Rate{}, nil
	}
	bad := func(why string) (Rate, error) {
		return Rate{}, fmt.Errorf("%q is no rate: %s (write 200/s, 600/m, 5/h or 50/5s)", s, why)
	}
	num, per, ok := strings.Cut(s, "/")
	if !ok {
		return bad("no period")
	}
	n, err := strconv.ParseInt(num, 10, 64)
	if err != nil || n < 1 || n > MaxRateN {
		return bad(fmt.Sprintf("the number must be from 1 to %d", MaxRateN))
	}
	if per != "" && per[0] >= 'a' && per[0] <= 'z' {
		per = "1" + per
	}
	d, err := time.ParseDuration(per)
	if err != nil || d < MinRatePer || d > MaxRatePer || d%time.Millisecond != 0 {
		return bad("the period must be a time from 1ms to 366 days")
	}
	return Rate{N: n, Per: d}, nil
}
