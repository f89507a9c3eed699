package memqueue

// ordering is a type without data that orders the items of a heap and knows
// where an item keeps its place in it.
type ordering[T any] interface {
	less(a, b T) bool
	// place holds the item's position plus one; 0 is not in the heap.
	place(x T) *int32
}

// heap is a binary heap whose items know their place, so that any of them can
// be moved or removed in O(log n). The zero value is empty.
type heap[T any, O ordering[T]] struct{ items []T }

func (h *heap[T, O]) len() int { return len(h.items) }

// top is the least item, or the zero value.
func (h *heap[T, O]) top() (x T) {
	if len(h.items) > 0 {
		x = h.items[0]
	}
	return x
}

// set inserts an item, or restores the order after its key has changed.
func (h *heap[T, O]) set(x T) {
	var o O
	p := o.place(x)
	if *p == 0 {
		h.items = append(h.items, x)
		*p = int32(len(h.items))
	}
	i := int(*p) - 1
	h.up(i)
	h.down(int(*p) - 1)
}

// remove takes an item out if it is in.
func (h *heap[T, O]) remove(x T) {
	var o O
	p := o.place(x)
	if *p == 0 {
		return
	}
	i, last := int(*p)-1, len(h.items)-1
	h.swap(i, last)
	var none T
	h.items[last] = none
	h.items = h.items[:last]
	*p = 0
	if i < last {
		h.up(i)
		h.down(i)
	}
	if cap(h.items) > 64 && len(h.items) < cap(h.items)/4 {
		h.items = append(make([]T, 0, 2*len(h.items)), h.items...)
	}
}

func (h *heap[T, O]) up(i int) {
	var o O
	for i > 0 {
		parent := (i - 1) / 2
		if !o.less(h.items[i], h.items[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *heap[T, O]) down(i int) {
	var o O
	for {
		least := 2*i + 1
		if least >= len(h.items) {
			return
		}
		if right := least + 1; right < len(h.items) && o.less(h.items[right], h.items[least]) {
			least = right
		}
		if !o.less(h.items[least], h.items[i]) {
			return
		}
		h.swap(i, least)
		i = least
	}
}

func (h *heap[T, O]) swap(i, j int) {
	var o O
	h.items[i], h.items[j] = h.items[j], h.items[i]
	*o.place(h.items[i]) = int32(i + 1)
	*o.place(h.items[j]) = int32(j + 1)
}
