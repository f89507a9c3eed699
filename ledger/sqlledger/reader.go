package sqlledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/spillway/spillway"
)

// readers is a fixed number of sessions for reading, opened as needed.
type readers struct {
	db   *sql.DB
	free chan *session // nil for one that is not open yet
}

func newReaders(db *sql.DB, n int) *readers {
	r := &readers{db: db, free: make(chan *session, n)}
	for range n {
		r.free <- nil
	}
	return r
}

func (r *readers) take(ctx context.Context) (*session, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case s := <-r.free:
		if s != nil {
			return s, nil
		}
	}
	s, err := newSession(context.WithoutCancel(ctx), r.db)
	if err != nil {
		r.free <- nil
		return nil, err
	}
	return s, nil
}

// give puts a session back; one that failed is replaced by a new one.
func (r *readers) give(s *session, err error) {
	if !isStore(err) {
		r.free <- s
		return
	}
	_ = s.close() // it is being thrown away because it failed
	r.free <- nil
}

// pause waits until nobody reads, and lets nobody begin until resume is called.
func (r *readers) pause() (resume func()) {
	held := make([]*session, cap(r.free))
	for i := range held {
		held[i] = <-r.free
	}
	return func() {
		for _, s := range held {
			r.free <- s
		}
	}
}

func (r *readers) close() error {
	var errs []error
	for range cap(r.free) {
		if s := <-r.free; s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(append(errs, r.db.Close())...)
}

// read runs f on a session, outside a transaction: for reads of one statement
// each, or such as need not agree.
func (l *Ledger) read(ctx context.Context, f func(*session) error) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	defer l.inUse.Done()
	s, err := l.readers.take(ctx)
	if err != nil {
		return l.explain(err)
	}
	err = f(s)
	l.readers.give(s, err)
	return l.explain(err)
}

// readAtOnce runs f in a transaction: all that it reads is of one moment.
func (l *Ledger) readAtOnce(ctx context.Context, f func(*session) error) error {
	return l.read(ctx, func(s *session) error { return s.atOnce(f) })
}

func (s *session) atOnce(f func(*session) error) (err error) {
	if err := s.control("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if e := s.control("COMMIT"); err == nil {
			err = e
		}
	}()
	return f(s)
}

// snapshot is readAtOnce with the groups in memory. Until f releases the view,
// what it shows is of the moment that the database shows; f must have read
// from that before, and must not keep the view for long, because commits wait.
func (l *Ledger) snapshot(ctx context.Context, f func(*session, *view) error) error {
	return l.read(ctx, func(s *session) error {
		v := &view{l: l}
		l.commit.RLock()
		defer v.release()
		return s.atOnce(func(s *session) error { return f(s, v) })
	})
}

// view is what the owner has in memory, held still.
type view struct {
	l        *Ledger
	released bool
}

func (v *view) group(id spillway.GroupID) (*group, bool) { return v.l.groups.get(id) }

func (v *view) release() {
	if !v.released {
		v.released = true
		v.l.commit.RUnlock()
	}
}
