package post

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"

	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/internal/wire"
)

// payload is a pooled request body. The transport may still be writing it
// after the answer came, so it returns to the pool with the last Close.
type payload struct {
	text []byte
	refs atomic.Int32
}

var payloads = sync.Pool{New: func() any { return new(payload) }}

func newPayload(b *bulk.Batch) *payload {
	p := payloads.Get().(*payload)
	p.refs.Store(1)
	p.text = appendBatch(p.text[:0], b)
	return p
}

func (p *payload) release() {
	if p.refs.Add(-1) == 0 && cap(p.text) <= maxPooled {
		payloads.Put(p)
	}
}

// maxPooled is the largest buffer that is kept for the next request.
const maxPooled = 4 << 20

// open returns a reader for one request. Only who holds a reference may call
// it.
func (p *payload) open() io.ReadCloser {
	p.refs.Add(1)
	b := &body{payload: p}
	b.Reset(p.text)
	return b
}

type body struct {
	bytes.Reader
	payload *payload
	closed  atomic.Bool
}

func (b *body) Close() error {
	if b.closed.CompareAndSwap(false, true) {
		b.payload.release()
	}
	return nil
}

// appendBatch encodes the request:
// {"group","tenant","action","resource","jobs":[{"index","attempt","key","data"}]}.
func appendBatch(out []byte, b *bulk.Batch) []byte {
	out = append(out, `{"group":`...)
	out = wire.AppendString(out, string(b.Group))
	out = append(out, `,"tenant":`...)
	out = wire.AppendString(out, string(b.Tenant))
	out = append(out, `,"action":`...)
	out = wire.AppendString(out, string(b.Action))
	out = append(out, `,"resource":`...)
	out = wire.AppendString(out, string(b.Resource))
	out = append(out, `,"jobs":[`...)
	for i := range b.Jobs {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '{')
		out = wire.AppendJob(out, &b.Jobs[i])
		out = append(out, '}')
	}
	return append(out, ']', '}')
}
