package ledgertest

import (
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func testAppend(b *bench) {
	v := b.create(newGroup("g")).Version
	out := b.append(ledger.Append{Group: "g", Rows: rows(0, 600), Hash: 7})
	b.same("appended", out, ledger.Appended{Total: 600, Version: v + 1, State: spillway.Receiving})

	costly := ledger.Rows{}
	costly.Add([]byte(`"a"`), 1)
	costly.Add([]byte(`"b"`), 9)
	out = b.append(ledger.Append{Group: "g", Offset: 600, Rows: costly, Hash: 1 << 63})
	b.same("appended", out, ledger.Appended{Total: 602, Version: v + 2, State: spillway.Receiving})

	g := b.find("g")
	all := rows(0, 600)
	if g.Total != 602 || g.MaxCost != 9 || g.Hash != 1<<63 || g.Bytes != int64(len(all.Data))+6 || g.Version != v+2 {
		b.Errorf("after appending: %+v", g)
	}
	b.fill("g", 602, 2500) // over the ends of chunks
	b.recount("g")
	if g := b.find("g"); g.Total != 2500 {
		b.Errorf("total %d, want 2500", g.Total)
	}
}

func testAppendRefused(b *bench) {
	b.group("g", 10)
	version := b.find("g").Version
	refuse := func(a ledger.Append, want spillway.Code, total int64) {
		b.Helper()
		out := b.append(a)
		b.refused(out.Err, want)
		if out.Total != total {
			b.Errorf("total %d in the answer, want %d", out.Total, total)
		}
	}
	refuse(ledger.Append{Group: "none", Rows: rows(0, 1)}, spillway.CodeNotFound, 0)
	refuse(ledger.Append{Group: "g", Offset: 0, Rows: rows(0, 10)}, spillway.CodeOffset, 10)
	refuse(ledger.Append{Group: "g", Offset: 11, Rows: rows(11, 12)}, spillway.CodeOffset, 10)
	if out := b.append(ledger.Append{Group: "g", Offset: 10}); out.Err != nil || out.Total != 10 {
		b.Errorf("no rows: %+v, want no change", out)
	}

	for _, wrong := range []ledger.Append{
		{Group: "g", Offset: 990, Rows: rows(990, 1010)},
		{Group: "g", Offset: -1, Rows: rows(0, 1)},
		{Group: "g", Offset: 10, Rows: rows(10, 12), Bad: []ledger.BadRow{{Index: 12}}},
	} {
		_, err := b.l.Append(b.ctx(), b.now, []ledger.Append{wrong})
		b.refused(err, spillway.CodeInvalid)
	}
	if v := b.find("g").Version; v != version {
		b.Errorf("version %d after refusals, want %d", v, version)
	}

	b.change("g", ledger.Seal)
	refuse(ledger.Append{Group: "g", Offset: 10, Rows: rows(10, 11)}, spillway.CodeSealed, 10)
	b.group("c", 3)
	b.change("c", ledger.Cancel)
	refuse(ledger.Append{Group: "c", Offset: 3, Rows: rows(3, 4)}, spillway.CodeState, 3)
	b.recount("g")
}

func testAppendOneBadOfMany(b *bench) {
	b.create(newGroup("a"))
	b.create(newGroup("z"))
	out, err := b.l.Append(b.ctx(), b.now, []ledger.Append{
		{Group: "a", Rows: rows(0, 5)},
		{Group: "a", Offset: 4, Rows: rows(4, 8)}, // wrong
		{Group: "a", Offset: 5, Rows: rows(5, 8)}, // follows the first
		{Group: "none", Rows: rows(0, 5)},         // wrong
		{Group: "z", Rows: rows(0, 2)},
	})
	b.ok(err)
	b.ok(out[0].Err)
	b.refused(out[1].Err, spillway.CodeOffset)
	b.ok(out[2].Err)
	b.refused(out[3].Err, spillway.CodeNotFound)
	b.ok(out[4].Err)
	if a, z := b.find("a").Total, b.find("z").Total; a != 8 || z != 2 {
		b.Errorf("totals %d and %d, want 8 and 2", a, z)
	}
}

func testAppendLimit(b *bench) {
	b.create(newGroup("a"))
	b.create(newGroup("z"))
	r := rows(0, 10)
	size := int64(len(r.Data))
	add := func(id spillway.GroupID, offset int64) error {
		return b.append(ledger.Append{Group: id, Offset: offset, Rows: r, MaxBytes: 3 * size}).Err
	}
	b.ok(add("a", 0))
	b.ok(add("z", 0)) // the limit is the tenant's, over its groups
	b.reopen()
	b.ok(add("a", 10))
	b.refused(add("a", 20), spillway.CodeLimit)

	b.change("z", ledger.Cancel)
	b.complete("z")
	_, err := b.l.Prune(b.ctx(), b.now, ledger.Prune{Payloads: b.now.Add(time.Second)})
	b.ok(err)
	b.ok(add("a", 20)) // what is deleted counts no longer
	b.refused(add("a", 30), spillway.CodeLimit)
}

func testAppendBadRows(b *bench) {
	b.create(newGroup("g"))
	long := strings.Repeat("é", spillway.MaxReason)
	out := b.append(ledger.Append{Group: "g", Rows: rows(0, 1000), Bad: []ledger.BadRow{
		{Index: 7, Reason: "3 fields, want 4"}, {Index: 999, Reason: long},
	}})
	b.ok(out.Err)
	if out.Final != 2 {
		b.Errorf("%d final in the answer, want 2", out.Final)
	}
	b.fill("g", 1000, 1010)
	b.recount("g")
	b.counts("g", 0, 2, 0, 0, 0)
	b.same("job 7", b.job("g", 7), ledger.JobRecord{Index: 7, Done: true, Status: spillway.Failed, Reason: "3 fields, want 4", Attempt: 1})
	if r := b.job("g", 999).Reason; len(r) > spillway.MaxReason || !strings.HasPrefix(long, r) || len(r) < spillway.MaxReason-1 {
		b.Errorf("a reason of %d bytes is kept as %d bytes", len(long), len(r))
	}
	v := b.verify("g", spillway.One(0, 1000), false)
	b.same("final", v.Final, spillway.Of(7, 999))
	b.same("to run", v.Run, spillway.One(0, 1000).Minus(spillway.Of(7, 999)))
}
