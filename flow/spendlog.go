package flow

import (
	"cmp"
	"math"
	"slices"
)

// maxSlots bounds the state of a Sliding. More slots would make it less
// pessimistic (by N/maxSlots at most) and cost as much in memory and Lua.
const maxSlots = 100

// slot is tokens granted from first to last; all of them count until last is a
// period old.
type slot struct {
	first, last Time
	tokens      int64
}

// spendLog is what was granted, oldest slot first; slots don't overlap.
//
// Slots are of equal count rather than equal length: a slot takes grants until
// it holds a hundredth of N. So every slot but the newest holds at least that
// much, hence a period's N tokens need at most maxSlots; N up to maxSlots gets a
// slot per grant; and at any time only one slot is partly older than a period,
// so that less than N/100 tokens count for too long.
type spendLog struct {
	slots []slot
	total int64
}

// add logs tokens at now, which is not before the newest slot.
func (l *spendLog) add(now Time, tokens, n int64) {
	l.total += tokens
	quantum := (n + maxSlots - 1) / maxSlots
	if k := len(l.slots); k > 0 {
		if newest := &l.slots[k-1]; newest.last == now || newest.tokens < quantum {
			newest.last = now
			newest.tokens += tokens
			return
		}
		if k >= maxSlots {
			l.join()
		}
	}
	l.slots = append(l.slots, slot{now, now, tokens})
}

// join merges the two neighbours that hold least into the later one. It is
// needed only after refunds or a change of rate have left slots that are too
// small.
func (l *spendLog) join() {
	best, least := 0, int64(math.MaxInt64)
	for i := range len(l.slots) - 1 {
		if sum := l.slots[i].tokens + l.slots[i+1].tokens; sum < least {
			best, least = i, sum
		}
	}
	l.slots[best+1].first = l.slots[best].first
	l.slots[best+1].tokens = least
	l.slots = slices.Delete(l.slots, best, best+1)
}

// expire drops what was granted at or before old.
func (l *spendLog) expire(old Time) {
	gone := 0
	for gone < len(l.slots) && l.slots[gone].last <= old {
		l.total -= l.slots[gone].tokens
		gone++
	}
	if gone > 0 {
		l.slots = slices.Delete(l.slots, 0, gone)
	}
}

// spent is the sum of what was granted after old.
func (l *spendLog) spent(old Time) int64 {
	sum := l.total
	for _, s := range l.slots {
		if s.last > old {
			break
		}
		sum -= s.tokens
	}
	return sum
}

// fits is the stamp up to which slots have to expire so that at most keep
// tokens are left; the lowest time if none has to.
func (l *spendLog) fits(keep int64) Time {
	sum, stamp := l.total, Time(math.MinInt64/2)
	for _, s := range l.slots {
		if sum <= keep {
			break
		}
		sum -= s.tokens
		stamp = s.last
	}
	return stamp
}

// remove takes back up to tokens of the slot that stamp lies in and returns how
// many: none if no slot was granted then.
func (l *spendLog) remove(stamp Time, tokens int64) int64 {
	i, _ := slices.BinarySearchFunc(l.slots, stamp, func(s slot, t Time) int {
		return cmp.Compare(s.last, t)
	})
	if i == len(l.slots) || l.slots[i].first > stamp {
		return 0
	}
	tokens = min(tokens, l.slots[i].tokens)
	l.total -= tokens
	if l.slots[i].tokens -= tokens; l.slots[i].tokens == 0 {
		l.slots = slices.Delete(l.slots, i, i+1)
	}
	return tokens
}

// collapsed is the log with everything granted at now.
func (l *spendLog) collapsed(now Time) spendLog {
	if l.total == 0 {
		return spendLog{}
	}
	return spendLog{slots: []slot{{now, now, l.total}}, total: l.total}
}
