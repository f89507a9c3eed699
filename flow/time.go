package flow

import (
	"math"
	"time"
)

// Time is microseconds since the Unix epoch: an integer that Lua's doubles
// hold exactly, so that both twins of an algorithm compute the same.
type Time int64

// Never is later than every time.
const Never Time = math.MaxInt64

// At converts a time, rounding down.
func At(t time.Time) Time { return Time(t.UnixMicro()) }

// Time converts back.
func (t Time) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// Add returns t+d, rounding d down to microseconds.
func (t Time) Add(d time.Duration) Time { return t + Time(d/time.Microsecond) }

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Microsecond }
