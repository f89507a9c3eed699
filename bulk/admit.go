package bulk

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// Open makes a group that takes rows until it is sealed, or answers the known
// one for its key.
func (e *Engine) Open(ctx context.Context, s Submission) (g *Group, existing bool, err error) {
	lg, existing, err := e.open(ctx, s)
	if err != nil {
		return nil, false, err
	}
	g, err = e.view(ctx, lg)
	return g, existing, err
}

func (e *Engine) open(ctx context.Context, s Submission) (ledger.Group, bool, error) {
	n, err := e.newGroup(s)
	if err != nil {
		return ledger.Group{}, false, err
	}
	created, err := e.ledger.Create(ctx, time.Now(), []ledger.NewGroup{n})
	if err == nil {
		err = created[0].Err
	}
	if err != nil {
		return ledger.Group{}, false, err
	}
	lg := created[0].Group
	if !created[0].Existing {
		if err := e.put(ctx, e.indexed(lg)); err != nil {
			e.warn(ctx, "a group could not be indexed; the reconciler will", err, "group", lg.ID)
		}
		e.events.group(lg.ID)
	}
	return lg, created[0].Existing, nil
}

// newGroup checks a submission and completes it from its action.
func (e *Engine) newGroup(s Submission) (ledger.NewGroup, error) {
	a, err := e.action(s.Action)
	if err != nil {
		return ledger.NewGroup{}, err
	}
	s.Tenant = cmp.Or(s.Tenant, "default")
	s.Resource = cmp.Or(s.Resource, a.resource(s.Tenant))
	s.Delivery = cmp.Or(s.Delivery, a.Delivery)
	if err := s.validate(); err != nil {
		return ledger.NewGroup{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return ledger.NewGroup{}, err
	}
	return ledger.NewGroup{
		ID: spillway.GroupID("g_" + encodeID(id)), Tenant: s.Tenant, Action: s.Action, Resource: s.Resource, Key: s.Key,
		Spec: ledger.Spec{
			Rate: s.Rate.String(), Concurrency: s.Concurrency, Priority: s.Priority,
			NotBefore: s.NotBefore, Expires: s.Expires, Delivery: s.Delivery, MaxFailures: s.MaxFailures,
			Callback: s.Callback, TrustedCallback: s.TrustedCallback, CostField: s.CostField, Labels: s.Labels,
		},
		MaxGroups: e.cfg.tenant(s.Tenant).MaxGroups,
	}, nil
}

func (s Submission) validate() error {
	for _, f := range []struct{ what, value string }{
		{"tenant", string(s.Tenant)}, {"resource", string(s.Resource)}, {"key", s.Key},
	} {
		if len(f.value) > MaxName || !utf8.ValidString(f.value) || hasControl(f.value) {
			return spillway.Errorf(spillway.CodeInvalid, "%s: at most %d bytes of plain text are allowed", f.what, MaxName)
		}
	}
	if s.Concurrency < 0 {
		return spillway.Errorf(spillway.CodeInvalid, "concurrency %d is below 0", s.Concurrency)
	}
	if !s.Expires.IsZero() && s.Expires.Before(s.NotBefore) {
		return spillway.Errorf(spillway.CodeInvalid, "expires lies before not_before")
	}
	if err := CheckMaxFailures(s.MaxFailures); err != nil {
		return spillway.Errorf(spillway.CodeInvalid, "max_failures: %w", err)
	}
	return validDelivery(s.Delivery)
}

func hasControl(s string) bool {
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			return true
		}
	}
	return false
}

// Submit is Open, AppendFromStart and Seal in one. Nothing is made if the
// first row cannot be read. A known key whose group is sealed answers it
// without reading on.
func (e *Engine) Submit(ctx context.Context, s Submission, src Source) (g *Group, existing bool, err error) {
	src, err = peek(src)
	if err != nil {
		return nil, false, err
	}
	lg, existing, err := e.open(ctx, s)
	if err != nil {
		return nil, false, err
	}
	if !lg.Sealed && !lg.State.Ended() {
		if _, err = e.AppendFromStart(ctx, lg.ID, src); err == nil {
			_, err = e.Seal(ctx, lg.ID)
		}
	}
	g, verr := e.Group(ctx, lg.ID)
	return g, existing, errors.Join(err, verr)
}

// peek reads the first row ahead, so that what begins broken begins nothing.
func peek(src Source) (Source, error) {
	row, err := src.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &peeked{src: src, row: row, err: err, has: true}, nil
}

type peeked struct {
	src Source
	row Row
	err error
	has bool
}

func (p *peeked) Next() (Row, error) {
	if p.has {
		p.has = false
		return p.row, p.err
	}
	return p.src.Next()
}

// Seal ends the upload.
func (e *Engine) Seal(ctx context.Context, id spillway.GroupID) (*Group, error) {
	g, err := e.change(ctx, ledger.Change{Group: id, Kind: ledger.Seal})
	if err == nil {
		e.watch.check(id)
	}
	return g, err
}

// Append streams rows into a group: offset is the group's total so far, else
// CodeOffset. Jobs run while it streams. The answer is the new total, beside
// an error too.
func (e *Engine) Append(ctx context.Context, id spillway.GroupID, offset int64, src Source) (total int64, err error) {
	g, err := e.find(ctx, id)
	if err != nil {
		return 0, err
	}
	if g.Sealed {
		return g.Total, spillway.Errorf(spillway.CodeSealed, "group %q is sealed: it takes no more rows", g.ID)
	}
	if offset != g.Total {
		return g.Total, spillway.Errorf(spillway.CodeOffset, "the group has %d rows: go on from offset %d, not %d", g.Total, g.Total, offset)
	}
	return e.upload(ctx, g, src)
}

// AppendFromStart streams a source that is read from its beginning into a
// group that may hold the first part of it already: that part is compared by
// its hash (CodeSourceChanged), and what is new is added.
func (e *Engine) AppendFromStart(ctx context.Context, id spillway.GroupID, src Source) (total int64, err error) {
	g, err := e.find(ctx, id)
	if err != nil {
		return 0, err
	}
	var hash uint64
	for i := int64(0); i < g.Total; i++ {
		row, err := src.Next()
		if errors.Is(err, io.EOF) {
			return g.Total, spillway.Errorf(spillway.CodeSourceChanged, "the source has changed: it ends after %d rows, and %d were read from it before", i, g.Total)
		}
		if err != nil {
			return g.Total, err
		}
		hash = chain(hash, row)
	}
	if hash != g.Hash {
		return g.Total, spillway.Errorf(spillway.CodeSourceChanged, "the source has changed: row %d or one before it is not what was read before", g.Total)
	}
	return e.upload(ctx, g, src)
}
