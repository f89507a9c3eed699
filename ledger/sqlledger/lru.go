package sqlledger

import (
	"container/list"
	"sync"
)

// lru keeps the entries that were used last, within a bound on their sum of
// costs. It may be used concurrently.
type lru[K comparable, V any] struct {
	limit int64
	mu    struct {
		sync.Mutex
		order *list.List // of *lruEntry[K, V], the last used in front
		byKey map[K]*list.Element
		cost  int64
	}
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
	cost  int64
}

func newLRU[K comparable, V any](limit int64) *lru[K, V] {
	c := &lru[K, V]{limit: limit}
	c.mu.order, c.mu.byKey = list.New(), map[K]*list.Element{}
	return c
}

func (c *lru[K, V]) get(k K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.byKey[k]
	if !ok {
		return v, false
	}
	c.mu.order.MoveToFront(e)
	return e.Value.(*lruEntry[K, V]).value, true
}

// update replaces an entry by what f makes of it (ok is false if there is
// none) and its cost; a cost below 0 leaves no entry.
func (c *lru[K, V]) update(k K, f func(old V, ok bool) (V, int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var old V
	e, ok := c.mu.byKey[k]
	if ok {
		old = e.Value.(*lruEntry[K, V]).value
		c.dropLocked(e)
	}
	v, cost := f(old, ok)
	if cost < 0 {
		return
	}
	c.mu.byKey[k] = c.mu.order.PushFront(&lruEntry[K, V]{k, v, cost})
	c.mu.cost += cost
	for c.mu.cost > c.limit && c.mu.order.Len() > 0 {
		c.dropLocked(c.mu.order.Back())
	}
}

func (c *lru[K, V]) put(k K, v V, cost int64) {
	c.update(k, func(V, bool) (V, int64) { return v, cost })
}

func (c *lru[K, V]) drop(k K) {
	c.update(k, func(v V, _ bool) (V, int64) { return v, -1 })
}

func (c *lru[K, V]) dropLocked(e *list.Element) {
	x := e.Value.(*lruEntry[K, V])
	c.mu.order.Remove(e)
	delete(c.mu.byKey, x.key)
	c.mu.cost -= x.cost
}
