package sqlledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"

	"github.com/spillway/spillway"
)

// Bounds of what is committed together: enough to share an fsync, small enough
// that nobody waits long and memory stays flat.
const (
	maxBatchBytes    = 8 << 20
	maxBatchRequests = 512
)

// request is one call that writes.
type request struct {
	// apply makes the changes, in a transaction that others share. Its own
	// faults it finds before it changes anything; it may be called again.
	apply func(*batch) error
	bytes int
	// upload lets others go first.
	upload bool
	done   chan error
}

// writer is the one goroutine that writes. While it commits one transaction,
// the requests of the next one gather.
type writer struct {
	l       *Ledger
	db      *sql.DB
	session *session // nil after it failed
	commits int      // since the last tidying
	// walLimit is in bytes; a test lowers it.
	walLimit int64
	ended    chan struct{}
	wake     chan struct{} // holds one token when there may be something to do
	mu       struct {
		sync.Mutex
		first, uploads []*request
		closing        bool
	}
}

func newWriter(l *Ledger, db *sql.DB, s *session) *writer {
	return &writer{l: l, db: db, session: s, walLimit: walLimit, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// write runs a request and waits for its commit. When ctx ends before the
// request was taken up, nothing is done.
func (l *Ledger) write(ctx context.Context, r *request) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	defer l.inUse.Done()
	if l.writer == nil {
		return spillway.Errorf(spillway.CodeState, "the ledger %s was opened for reading only", l.path)
	}
	r.done = make(chan error, 1)
	l.writer.submit(r)
	select {
	case err := <-r.done:
		return l.explain(err)
	case <-ctx.Done():
	}
	if l.writer.withdraw(r) {
		return ctx.Err()
	}
	return l.explain(<-r.done) // it is being written: the answer says whether it was
}

func (w *writer) submit(r *request) {
	w.mu.Lock()
	if r.upload {
		w.mu.uploads = append(w.mu.uploads, r)
	} else {
		w.mu.first = append(w.mu.first, r)
	}
	w.mu.Unlock()
	w.signal()
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// withdraw takes back a request that was not taken up yet.
func (w *writer) withdraw(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, queue := range []*[]*request{&w.mu.first, &w.mu.uploads} {
		for i, x := range *queue {
			if x == r {
				*queue = append((*queue)[:i:i], (*queue)[i+1:]...)
				return true
			}
		}
	}
	return false
}

// take returns what is committed next: what is not an upload first, and always
// an upload if there is one.
func (w *writer) take() (next []*request, closing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.mu.first), maxBatchRequests)
	next = append(next, w.mu.first[:n]...)
	w.mu.first = w.mu.first[n:]
	bytes, k := 0, 0
	for k < len(w.mu.uploads) && (k == 0 || len(next) < maxBatchRequests) {
		if bytes += w.mu.uploads[k].bytes; k > 0 && bytes > maxBatchBytes {
			break
		}
		next = append(next, w.mu.uploads[k])
		k++
	}
	w.mu.uploads = w.mu.uploads[k:]
	return next, w.mu.closing
}

func (w *writer) run() {
	defer close(w.ended)
	for range w.wake {
		for {
			next, closing := w.take()
			if len(next) == 0 {
				if closing {
					return
				}
				break
			}
			w.commit(next)
			w.tidy()
		}
	}
}

// commit runs requests in one transaction. When the database fails it, each is
// tried alone: one that is too large for the disk, or meets a damaged page,
// must not fail the others.
func (w *writer) commit(requests []*request) {
	errs, err := w.transaction(requests)
	if err != nil && len(requests) > 1 && w.l.dialect.classify(err) != faultBusy {
		for _, r := range requests {
			w.commit([]*request{r})
		}
		return
	}
	for i, r := range requests {
		if err != nil {
			r.done <- err
		} else {
			r.done <- errs[i]
		}
	}
}

// tidyEvery is the number of commits between two looks at the log's size.
const tidyEvery = 256

func (w *writer) tidy() {
	if w.commits++; w.commits < tidyEvery || w.session == nil {
		return
	}
	w.commits = 0
	if err := w.l.dialect.tidy(w); err != nil {
		w.l.options.Logger.Warn("ledger: the log could not be emptied; it will be tried again", "path", w.l.path, "err", err)
	}
}

// transaction applies requests and commits. errs are the requests' own faults;
// err means that nothing was changed.
func (w *writer) transaction(requests []*request) (errs []error, err error) {
	if err := w.connect(); err != nil {
		return nil, err
	}
	if err := w.session.control(w.l.dialect.begin); err != nil {
		w.discard(err)
		return nil, err
	}
	b := newBatch(w.l, w.session)
	errs = make([]error, len(requests))
	for i, r := range requests {
		errs[i] = r.apply(b)
		if isStore(errs[i]) {
			w.discard(errs[i])
			return nil, errs[i]
		}
	}
	if err := b.flush(); err != nil {
		w.discard(err)
		return nil, err
	}
	w.l.commit.Lock()
	defer w.l.commit.Unlock()
	if err := w.session.control("COMMIT"); err != nil {
		w.discard(err)
		return nil, err
	}
	b.install()
	return errs, nil
}

// connect replaces a session that failed.
func (w *writer) connect() (err error) {
	if w.session == nil {
		w.session, err = newSession(context.Background(), w.db)
	}
	return err
}

// discard ends a transaction that failed. The database may have ended it by
// itself already; a session that cannot be trusted any more is replaced.
func (w *writer) discard(cause error) {
	_ = w.session.control("ROLLBACK") // fails if there is no transaction left
	if errors.Is(cause, driver.ErrBadConn) || errors.Is(cause, sql.ErrConnDone) {
		_ = w.session.close()
		w.session = nil
	}
}

func (w *writer) close() error {
	w.mu.Lock()
	w.mu.closing = true
	w.mu.Unlock()
	w.signal()
	<-w.ended
	var err error
	if w.session != nil {
		err = w.session.close()
	}
	return errors.Join(err, w.db.Close())
}
