package flow

// MaxSlots and Slots are for tests of the log's bound.
const MaxSlots = maxSlots

// Slots is how many slots the log holds.
func (s *Sliding) Slots() int { return len(s.log.slots) }
