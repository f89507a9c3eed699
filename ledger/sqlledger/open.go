package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// readerSessions is how many reads run at a time; more wait.
const readerSessions = 4

// cachedGroups is how many groups' counts are kept in memory.
const cachedGroups = 4096

// Ledger is a ledger in one SQLite file. Its methods may be called
// concurrently.
type Ledger struct {
	path     string
	options  Options
	dialect  dialect
	lock     *ownerLock
	readers  *readers
	writer   *writer // nil when opened for reading only
	segments *segmentCache
	tenants  map[spillway.TenantID]int64 // bytes held; the writer's alone

	// commit is held for writing while a transaction is committed and its
	// changes reach groups: what a reader sees of both is of one moment.
	commit sync.RWMutex
	groups *lru[spillway.GroupID, *group]
	epochs atomic.Int64

	mu struct {
		sync.Mutex
		closed bool
	}
	inUse sync.WaitGroup
}

var _ ledger.Ledger = (*Ledger)(nil)

// OpenSQLite opens the ledger in a file, and makes it if there is none. The
// errors: CodeInvalid for a file that is something else, CodeLedgerNewer,
// CodeLedgerInUse if another process owns it, CodeNotFound for reading what
// is not there.
func OpenSQLite(ctx context.Context, path string, o Options) (*Ledger, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	l := &Ledger{
		path: path, options: o, dialect: dialectSQLite,
		segments: newSegmentCache(o.CacheBytes),
		tenants:  map[spillway.TenantID]int64{},
		groups:   newLRU[spillway.GroupID, *group](cachedGroups),
	}
	if err := l.start(ctx); err != nil {
		return nil, l.explain(errors.Join(err, l.lock.release()))
	}
	return l, nil
}

// resolve makes one name of the many that a file can have, for the lock.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", errFile(path, err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", errFile(path, err)
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

func (l *Ledger) start(ctx context.Context) error {
	exists, err := checkHeader(l.path)
	if err != nil {
		return err
	}
	if l.options.ReadOnly {
		return l.startReading(ctx, exists)
	}
	if l.lock, err = lockOwner(l.path); err != nil {
		return err
	}
	if exists {
		if _, err := l.identify(ctx); err != nil {
			return err
		}
	}
	db, err := l.prepareFile(ctx)
	if err != nil {
		return err
	}
	s, err := newSession(ctx, db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	beside, err := sql.Open("sqlite", dsnSQLite(l.path, accessBeside, l.options.BusyTimeout))
	if err != nil {
		return errors.Join(err, s.close(), db.Close())
	}
	l.readers = newReaders(beside, readerSessions)
	l.writer = newWriter(l, db, s)
	go l.writer.run()
	return nil
}

func (l *Ledger) startReading(ctx context.Context, exists bool) error {
	if !exists {
		return spillway.Errorf(spillway.CodeNotFound, "there is no ledger at %s", l.path)
	}
	version, err := l.identify(ctx)
	if err != nil {
		return err
	}
	if version < latestVersion() {
		return spillway.Errorf(spillway.CodeState,
			"the ledger %s is of an older version (schema %d): open it once for writing to bring it up to date", l.path, version)
	}
	db, err := sql.Open("sqlite", dsnSQLite(l.path, accessRead, l.options.BusyTimeout))
	if err != nil {
		return err
	}
	l.readers = newReaders(db, readerSessions)
	return nil
}

// identify checks an existing file by a connection that cannot write. Only
// where SQLite must first undo what a crash left, the owner lets it.
func (l *Ledger) identify(ctx context.Context) (version int64, err error) {
	version, err = l.identifyBy(ctx, accessRead)
	if l.lock != nil && l.dialect.classify(err) == faultIO {
		return l.identifyBy(ctx, accessBeside)
	}
	return version, err
}

func (l *Ledger) identifyBy(ctx context.Context, a access) (version int64, err error) {
	db, err := sql.Open("sqlite", dsnSQLite(l.path, a, l.options.BusyTimeout))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return checkIdentity(ctx, l.path, db)
}

// prepareFile opens the file for writing, brings its schema up to date and
// marks it as ours.
func (l *Ledger) prepareFile(ctx context.Context) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsnSQLite(l.path, accessWrite, l.options.BusyTimeout))
	if err != nil {
		return nil, err
	}
	changed, err := migrate(ctx, db, l.dialect.goose, l.dialect.words)
	if err == nil {
		err = l.mark(ctx, db, changed)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if changed {
		l.options.Logger.Info("ledger: schema brought up to date", "path", l.path, "version", latestVersion())
	}
	return db, nil
}

func (l *Ledger) mark(ctx context.Context, db *sql.DB, changed bool) error {
	var app, version int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if !changed && app == applicationID && version == latestVersion() {
		return nil
	}
	if err := markFile(ctx, db); err != nil {
		return err
	}
	return syncDir(filepath.Dir(l.path))
}

// syncDir makes the file's own name durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every file system knows how; SQLite has synced the file
	return d.Close()
}
