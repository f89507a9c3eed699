package sqlledger

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// keptHistory is how many values of a setting are kept: some settings are
// written by the program itself, every few seconds.
const keptHistory = 100

const (
	selectSettings = `SELECT name, value, author, at FROM settings WHERE kind = $1 ORDER BY name`

	upsertSetting = `INSERT INTO settings (kind, name, value, author, at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, author = excluded.author, at = excluded.at`

	deleteSetting = `DELETE FROM settings WHERE kind = $1 AND name = $2`

	insertHistory = `INSERT INTO settings_history (kind, name, value, author, at) VALUES ($1, $2, $3, $4, $5)`

	trimHistory = `DELETE FROM settings_history WHERE kind = $1 AND name = $2 AND id <= (
		SELECT id FROM settings_history WHERE kind = $1 AND name = $2 ORDER BY id DESC LIMIT 1 OFFSET $3)`

	selectHistory = `SELECT value, author, at FROM settings_history WHERE kind = $1 AND name = $2 ORDER BY id DESC LIMIT $3`
)

// Load lists the settings of a kind; see ledger.Settings.
func (l *Ledger) Load(ctx context.Context, kind string) (out []ledger.Setting, err error) {
	err = l.read(ctx, func(s *session) error {
		return s.each(func(scan func(...any) error) error {
			x := ledger.Setting{Kind: kind}
			var value string
			var at int64
			err := scan(&x.Name, &value, &x.By, &at)
			x.Value, x.At = json.RawMessage(value), fromMicros(at)
			out = append(out, x)
			return err
		}, selectSettings, kind)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Save upserts settings; see ledger.Settings. The last 100 values of each are
// kept as its history.
func (l *Ledger) Save(ctx context.Context, now time.Time, settings []ledger.Setting) error {
	for _, x := range settings {
		if x.Kind == "" || x.Name == "" {
			return spillway.Errorf(spillway.CodeInvalid, "a setting needs a kind and a name: got %q, %q", x.Kind, x.Name)
		}
	}
	return l.write(ctx, &request{apply: func(b *batch) error {
		for i := range settings {
			if err := save(b.s, now, &settings[i]); err != nil {
				return err
			}
		}
		return nil
	}})
}

func save(s *session, now time.Time, x *ledger.Setting) (err error) {
	var value any // NULL for a deletion
	if x.Value == nil {
		_, err = s.exec(deleteSetting, x.Kind, x.Name)
	} else {
		value = string(x.Value)
		_, err = s.exec(upsertSetting, x.Kind, x.Name, value, x.By, micros(now))
	}
	if err != nil {
		return err
	}
	if _, err := s.exec(insertHistory, x.Kind, x.Name, value, x.By, micros(now)); err != nil {
		return err
	}
	_, err = s.exec(trimHistory, x.Kind, x.Name, keptHistory)
	return err
}

// History lists the values that a setting had, the present one included,
// newest first; see ledger.Settings.
func (l *Ledger) History(ctx context.Context, kind, name string, limit int) (out []ledger.Setting, err error) {
	if limit <= 0 {
		limit = keptHistory
	}
	err = l.read(ctx, func(s *session) error {
		return s.each(func(scan func(...any) error) error {
			x := ledger.Setting{Kind: kind, Name: name}
			var value *string
			var at int64
			err := scan(&value, &x.By, &at)
			if value != nil {
				x.Value = json.RawMessage(*value)
			}
			x.At = fromMicros(at)
			out = append(out, x)
			return err
		}, selectHistory, kind, name, int64(limit))
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
