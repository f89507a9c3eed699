package sqlledger

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// versionTable is where goose keeps which migrations were applied.
const versionTable = "goose_db_version"

// migrations reads the embedded files, each in its own words of the dialect:
// {{id}}, {{sequence}} and {{blob}} are the types that SQL databases disagree on.
func migrations(words *strings.Replacer) ([]*goose.Migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var all []*goose.Migration
	for _, name := range names {
		version, err := goose.NumericComponent(path.Base(name))
		if err != nil {
			return nil, err
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		script := words.Replace(string(text))
		up := func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, script)
			return err
		}
		all = append(all, goose.NewGoMigration(version, &goose.GoFunc{RunTx: up}, nil))
	}
	return all, nil
}

// latestVersion is the schema that this program writes.
func latestVersion() int64 {
	all, err := migrations(strings.NewReplacer())
	if err != nil || len(all) == 0 {
		panic(fmt.Sprintf("sqlledger: the embedded migrations cannot be read: %v", err))
	}
	return all[len(all)-1].Version
}

// migrate brings the schema to the latest version, and says whether anything
// was to be done.
func migrate(ctx context.Context, db *sql.DB, d goose.Dialect, words *strings.Replacer) (changed bool, err error) {
	all, err := migrations(words)
	if err != nil {
		return false, err
	}
	p, err := goose.NewProvider(d, db, nil,
		goose.WithGoMigrations(all...),
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return false, err
	}
	done, err := p.Up(ctx)
	return len(done) > 0, err
}
