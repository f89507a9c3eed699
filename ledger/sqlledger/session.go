package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// storeError is what the database answered instead of a result, as opposed to
// an error found in what was asked. It fails a whole transaction.
type storeError struct {
	doing string
	cause error
}

func (e *storeError) Error() string { return fmt.Sprintf("%s: %v", e.doing, e.cause) }
func (e *storeError) Unwrap() error { return e.cause }

func isStore(err error) bool {
	var failed *storeError
	return errors.As(err, &failed)
}

// session is one connection with its prepared statements. It is used by one
// goroutine at a time. Statements take no context: modernc would start a
// goroutine for each, and all of them are short.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newSession(ctx context.Context, db *sql.DB) (*session, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, &storeError{"open a connection", err}
	}
	return &session{conn: c, stmts: map[string]*sql.Stmt{}}, nil
}

func (s *session) close() error {
	var errs []error
	for _, st := range s.stmts {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

func (s *session) prepare(text string) (*sql.Stmt, error) {
	if st, ok := s.stmts[text]; ok {
		return st, nil
	}
	st, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, &storeError{"prepare a statement", err}
	}
	s.stmts[text] = st
	return st, nil
}

// exec runs a statement and returns the number of rows it changed.
func (s *session) exec(text string, args ...any) (int64, error) {
	st, err := s.prepare(text) //nolint:sqlclosecheck // kept prepared until the session closes
	if err != nil {
		return 0, err
	}
	r, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, &storeError{"write", err}
	}
	n, err := r.RowsAffected()
	if err != nil {
		return 0, &storeError{"write", err}
	}
	return n, nil
}

// each runs a query and calls row for every row. An error of row ends it and
// is returned as it is.
func (s *session) each(row func(scan func(...any) error) error, text string, args ...any) error {
	st, err := s.prepare(text) //nolint:sqlclosecheck // kept prepared until the session closes
	if err != nil {
		return err
	}
	return eachRow(st.QueryContext, row, args)
}

// eachOnce is each for a text that is not worth keeping prepared.
func (s *session) eachOnce(row func(scan func(...any) error) error, text string, args ...any) error {
	query := func(ctx context.Context, args ...any) (*sql.Rows, error) {
		return s.conn.QueryContext(ctx, text, args...)
	}
	return eachRow(query, row, args)
}

func eachRow(query func(context.Context, ...any) (*sql.Rows, error), row func(scan func(...any) error) error, args []any) (err error) {
	rows, err := query(context.Background(), args...)
	if err != nil {
		return &storeError{"read", err}
	}
	defer func() {
		if e := rows.Close(); e != nil && err == nil {
			err = &storeError{"read", e}
		}
	}()
	for rows.Next() {
		if err := row(func(dest ...any) error {
			if err := rows.Scan(dest...); err != nil {
				return &storeError{"read", err}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return &storeError{"read", err}
	}
	return nil
}

// one scans the only row of a query; found is false if there is none.
func (s *session) one(dest []any, text string, args ...any) (found bool, err error) {
	err = s.each(func(scan func(...any) error) error {
		found = true
		return scan(dest...)
	}, text, args...)
	return found, err
}

// control runs BEGIN, COMMIT and the like.
func (s *session) control(text string) error {
	st, err := s.prepare(text) //nolint:sqlclosecheck // kept prepared until the session closes
	if err != nil {
		return err
	}
	if _, err := st.ExecContext(context.Background()); err != nil {
		return &storeError{text, err}
	}
	return nil
}
