package sqlledger

import (
	"context"
	"strconv"
	"strings"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const (
	defaultFind  = 100
	defaultIndex = 1000
	defaultRead  = 1000
)

// Find lists groups; see ledger.Groups.
func (l *Ledger) Find(ctx context.Context, f ledger.Filter) (out []ledger.Group, next string, err error) {
	if f.Limit <= 0 {
		f.Limit = defaultFind
	}
	err = l.snapshot(ctx, func(s *session, v *view) error {
		text, args := findQuery(f)
		groups, err := readGroups(s, len(f.IDs) <= 1, text, args)
		if err != nil {
			return err
		}
		if len(groups) > f.Limit {
			groups = groups[:f.Limit]
			next = string(groups[f.Limit-1].ID)
		}
		if err := l.describeAt(s, v, groups); err != nil {
			return err
		}
		for _, g := range groups {
			out = append(out, g.Group)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return out, next, nil
}

// readGroups reads the rows of groups, without counts. keep keeps the query
// prepared: it is one of few.
func readGroups(s *session, keep bool, text string, args []any) (groups []*group, err error) {
	each := s.eachOnce
	if keep {
		each = s.each
	}
	err = each(func(scan func(...any) error) error {
		g, err := scanGroup(scan)
		groups = append(groups, g)
		return err
	}, text, args...)
	return groups, err
}

// findQuery makes the query of a filter; it asks for one row more than the
// page has.
func findQuery(f ledger.Filter) (text string, args []any) {
	var where []string
	value := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	if f.IDs != nil {
		where = append(where, "id IN ("+placeholders(f.IDs, value)+")")
	}
	if f.Tenant != "" {
		where = append(where, "tenant = "+value(string(f.Tenant)))
	}
	if f.Key != nil {
		where = append(where, "dedup_key = "+value(*f.Key))
		if *f.Key != "" {
			where = append(where, "dedup_key <> ''") // so that the index of keys serves
		}
	}
	if f.States != nil {
		where = append(where, "state IN ("+placeholders(f.States, value)+")")
	}
	order, than := "id", " > "
	if f.Newest {
		order, than = "id DESC", " < "
	}
	if f.Cursor != "" {
		where = append(where, "id"+than+value(f.Cursor))
	}
	text = "SELECT " + groupColumns + " FROM groups"
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	return text + " ORDER BY " + order + " LIMIT " + value(int64(f.Limit)+1), args
}

func placeholders[T ~string](values []T, value func(any) string) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = value(string(v))
	}
	return strings.Join(names, ", ")
}

const selectTenants = `SELECT tenant, COUNT(*), SUM(CASE WHEN finished = 0 THEN 1 ELSE 0 END), SUM(bytes)
	FROM groups GROUP BY tenant ORDER BY tenant`

// Tenants lists the tenants and what they use; see ledger.Groups.
func (l *Ledger) Tenants(ctx context.Context) (out []ledger.TenantUse, err error) {
	err = l.read(ctx, func(s *session) error {
		return s.each(func(scan func(...any) error) error {
			var u ledger.TenantUse
			var tenant string
			err := scan(&tenant, &u.Groups, &u.Unfinished, &u.Bytes)
			u.Tenant = spillway.TenantID(tenant)
			out = append(out, u)
			return err
		}, selectTenants)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
