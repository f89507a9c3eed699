package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func testSettings(b *bench) {
	set := func(kind, name, value string) {
		b.Helper()
		s := ledger.Setting{Kind: kind, Name: name, By: "ann"}
		if value != "" {
			s.Value = json.RawMessage(value)
		}
		b.ok(b.l.Save(b.ctx(), b.now, []ledger.Setting{s}))
		b.now = b.now.Add(time.Second)
	}
	set("resource", "b", `{"rate":"5/s"}`)
	set("resource", "a", `1`)
	set("tenant", "a", `2`)
	set("resource", "a", `3`)
	set("resource", "c", `4`)
	set("resource", "c", ``)
	b.reopen()
	values := func(s []ledger.Setting, err error) (out []string) {
		b.Helper()
		b.ok(err)
		for _, x := range s {
			out = append(out, fmt.Sprintf("%s/%s=%s by %s at %d", x.Kind, x.Name, x.Value, x.By, x.At.Sub(epoch)/time.Second))
		}
		return out
	}
	b.same("resources", values(b.l.Load(b.ctx(), "resource")), []string{
		"resource/a=3 by ann at 3", `resource/b={"rate":"5/s"} by ann at 0`,
	})
	b.same("none", values(b.l.Load(b.ctx(), "other")), []string(nil))
	b.same("history", values(b.l.History(b.ctx(), "resource", "a", 10)), []string{
		"resource/a=3 by ann at 3", "resource/a=1 by ann at 1",
	})
	b.same("history, the last", values(b.l.History(b.ctx(), "resource", "a", 1)), []string{"resource/a=3 by ann at 3"})
	b.same("deleted", values(b.l.History(b.ctx(), "resource", "c", 10)), []string{
		"resource/c= by ann at 5", "resource/c=4 by ann at 4",
	})
	b.refused(b.l.Save(b.ctx(), b.now, []ledger.Setting{{Kind: "resource"}}), spillway.CodeInvalid)

	// What the program writes all the time does not pile up.
	var many []ledger.Setting
	for i := range 250 {
		many = append(many, ledger.Setting{Kind: "law", Name: "x", Value: json.RawMessage(fmt.Sprint(i)), By: "spillway"})
	}
	b.ok(b.l.Save(b.ctx(), b.now, many))
	h, err := b.l.History(b.ctx(), "law", "x", 1000)
	b.ok(err)
	if len(h) < 100 || len(h) > 200 || string(h[0].Value) != "249" {
		b.Errorf("%d values kept of 250, the newest %s", len(h), h[0].Value)
	}
}

// What was answered is there after a restart.
func testReopen(b *bench) {
	b.failedGroup("f")
	b.doubtful("d")
	b.group("g", 1234)
	b.verify("g", spillway.One(0, 10), true)
	b.settle("g", outcome(spillway.OK, 1), again(spillway.Retry, 1, 2, b.now, 2))
	type state struct {
		Groups []ledger.Group
		Index  []ledger.Indexed
		Jobs   [][]ledger.JobRecord
		Use    []ledger.TenantUse
	}
	look := func() (s state) {
		b.Helper()
		var err error
		s.Groups, _, err = b.l.Find(b.ctx(), ledger.Filter{})
		b.ok(err)
		s.Index = b.index(ledger.IndexQuery{})
		for _, g := range s.Groups {
			b.recount(g.ID)
			s.Jobs = append(s.Jobs, b.all(ledger.JobQuery{Group: g.ID, Data: true}))
		}
		s.Use, err = b.l.Tenants(b.ctx())
		b.ok(err)
		return s
	}
	before := look()
	b.reopen()
	b.same("after a restart", look(), before)
	if v := b.verify("g", spillway.One(0, 10), true); v.Run.Len() != 1 {
		b.Errorf("intents were lost: %+v", v)
	}
}

func testCancelledContext(b *bench) {
	b.group("g", 10)
	ctx, cancel := context.WithCancel(b.ctx())
	cancel()
	_, err := b.l.Settle(ctx, b.now, []ledger.Settlement{{Group: "g", Outcomes: []ledger.Outcome{outcome(spillway.OK, 0)}}})
	if !errors.Is(err, context.Canceled) {
		b.Errorf("Settle: %v", err)
	}
	if _, err := b.l.Append(ctx, b.now, []ledger.Append{{Group: "g", Offset: 10, Rows: rows(10, 11)}}); !errors.Is(err, context.Canceled) {
		b.Errorf("Append: %v", err)
	}
	if _, _, err := b.l.Find(ctx, ledger.Filter{}); !errors.Is(err, context.Canceled) {
		b.Errorf("Find: %v", err)
	}
	b.counts("g", 0, 0, 0, 0, 0)
	if g := b.find("g"); g.Total != 10 {
		b.Errorf("total %d, want 10", g.Total)
	}
}

func testClosed(b *bench) {
	b.group("g", 10)
	l := b.l
	b.close()
	_, _, err := l.Find(b.ctx(), ledger.Filter{})
	b.refused(err, spillway.CodeUnavailable)
	_, err = l.Settle(b.ctx(), b.now, nil)
	b.refused(err, spillway.CodeUnavailable)
	b.ok(l.Close()) // twice is harmless
	b.open()
}
