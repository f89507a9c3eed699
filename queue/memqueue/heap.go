package memqueue

// key orders the items of a heap: the least first goes first, ties go by second.
// Times and numbers of turns fit a float64 exactly.
type key struct {
	first  float64
	second int64
}

func (k key) less(o key) bool {
	return k.first < o.first || k.first == o.first && k.second < o.second
}

// ordering is a type without data that says where an item keeps its place in
// one heap: its position plus one; 0 is not in it.
type ordering[T any] interface{ place(x T) *int32 }

// heap is a 4-ary heap whose items know their place, so that any of them can be
// moved or removed in O(log n). Keys lie beside the pointers, so that comparing
// reads no item. The zero value is empty.
type heap[T any, O ordering[T]] struct{ items []item[T] }

type item[T any] struct {
	key
	x T
}

func (h *heap[T, O]) len() int { return len(h.items) }

// top is the least item, or the zero value.
func (h *heap[T, O]) top() (x T) {
	if len(h.items) > 0 {
		x = h.items[0].x
	}
	return x
}

// next is the least first key; only if there is an item.
func (h *heap[T, O]) next() key { return h.items[0].key }

// set inserts an item, or moves it to where its new key belongs.
func (h *heap[T, O]) set(x T, first float64, second int64) {
	var o O
	it := item[T]{key{first, second}, x}
	p := *o.place(x)
	if p == 0 {
		h.items = append(h.items, it)
		h.up(len(h.items)-1, it)
		return
	}
	h.fix(int(p)-1, it)
}

// remove takes an item out if it is in.
func (h *heap[T, O]) remove(x T) {
	var o O
	p := o.place(x)
	if *p == 0 {
		return
	}
	i, last := int(*p)-1, len(h.items)-1
	*p = 0
	it := h.items[last]
	h.items[last] = item[T]{}
	h.items = h.items[:last]
	if i < last {
		h.fix(i, it)
	}
	if cap(h.items) > 64 && len(h.items) < cap(h.items)/4 {
		h.items = append(make([]item[T], 0, 2*len(h.items)), h.items...)
	}
}

// fix puts an item at position i or where it belongs from there.
func (h *heap[T, O]) fix(i int, it item[T]) {
	if i > 0 && it.less(h.items[(i-1)/4].key) {
		h.up(i, it)
		return
	}
	h.down(i, it)
}

func (h *heap[T, O]) up(i int, it item[T]) {
	for i > 0 {
		parent := (i - 1) / 4
		if !it.less(h.items[parent].key) {
			break
		}
		h.put(i, h.items[parent])
		i = parent
	}
	h.put(i, it)
}

func (h *heap[T, O]) down(i int, it item[T]) {
	for {
		child := 4*i + 1
		if child >= len(h.items) {
			break
		}
		for k := child + 1; k < min(4*i+5, len(h.items)); k++ {
			if h.items[k].less(h.items[child].key) {
				child = k
			}
		}
		if !h.items[child].less(it.key) {
			break
		}
		h.put(i, h.items[child])
		i = child
	}
	h.put(i, it)
}

func (h *heap[T, O]) put(i int, it item[T]) {
	var o O
	h.items[i] = it
	*o.place(it.x) = int32(i + 1)
}
