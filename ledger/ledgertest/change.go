package ledgertest

import (
	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func testChangeVersions(b *bench) {
	b.group("g", 3)
	version := b.find("g").Version
	step := func(kind ledger.ChangeKind, state spillway.State, sealed bool, raised int64) {
		b.Helper()
		g := b.change("g", kind)
		version += raised
		if g.State != state || g.Sealed != sealed || g.Version != version {
			b.Fatalf("%s: %s, sealed %v, version %d; want %s, %v, %d", kind, g.State, g.Sealed, g.Version, state, sealed, version)
		}
		b.same("found after "+string(kind), b.find("g"), g)
	}
	step(ledger.Resume, spillway.Receiving, false, 0) // it is so already
	step(ledger.Pause, spillway.Paused, false, 1)
	step(ledger.Pause, spillway.Paused, false, 0)
	step(ledger.Resume, spillway.Receiving, false, 1)
	step(ledger.Seal, spillway.Running, true, 1)
	step(ledger.Seal, spillway.Running, true, 0)
	step(ledger.Resume, spillway.Running, true, 0)
	step(ledger.Pause, spillway.Paused, true, 1)
	step(ledger.Resume, spillway.Running, true, 1)
	step(ledger.RetryFailed, spillway.Running, true, 0) // nothing failed
	b.reopen()
	step(ledger.Cancel, spillway.Cancelled, true, 1)
	step(ledger.Cancel, spillway.Cancelled, true, 0)
	step(ledger.Seal, spillway.Cancelled, true, 0)
}

func testAdjust(b *bench) {
	b.group("g", 3)
	before := b.find("g")
	rate, bound, many := "5/s", "10%", int64(7)
	g, err := b.l.Change(b.ctx(), b.now, ledger.Change{Group: "g", Kind: ledger.Adjust, Bounds: ledger.Bounds{Rate: &rate, MaxFailures: &bound}})
	b.ok(err)
	want := before.Spec
	want.Rate, want.MaxFailures = rate, bound
	b.same("the spec", g.Spec, want)
	if g.Version != before.Version+1 {
		b.Errorf("version %d after %d", g.Version, before.Version)
	}
	b.reopen()
	g, err = b.l.Change(b.ctx(), b.now, ledger.Change{Group: "g", Kind: ledger.Adjust, Bounds: ledger.Bounds{Concurrency: &many}})
	b.ok(err)
	want.Concurrency = many
	b.same("the spec after a restart", g.Spec, want)
	b.change("g", ledger.Cancel)
	b.refuse("g", ledger.Adjust, spillway.CodeState)
}

func testChangeRefused(b *bench) {
	for _, k := range []ledger.ChangeKind{ledger.Seal, ledger.Pause, ledger.Resume, ledger.Cancel, ledger.RetryFailed} {
		b.refuse("none", k, spillway.CodeNotFound)
	}
	b.group("g", 1)
	b.refuse("g", "explode", spillway.CodeInvalid)
	b.change("g", ledger.Seal)
	b.settle("g", outcome(spillway.OK, 0))
	b.complete("g")
	for _, k := range []ledger.ChangeKind{ledger.Pause, ledger.Resume, ledger.Cancel} {
		b.refuse("g", k, spillway.CodeState)
	}
	b.group("c", 1)
	b.change("c", ledger.Cancel)
	for _, k := range []ledger.ChangeKind{ledger.Seal, ledger.Pause, ledger.Resume, ledger.RetryFailed} {
		b.refuse("c", k, spillway.CodeState)
	}
	if s := b.find("g").State; s != spillway.Completed {
		b.Errorf("%s after refusals, want completed", s)
	}
}

// Uploads go on while a group is paused, and it may be sealed then.
func testPauseAndSeal(b *bench) {
	b.group("g", 3)
	if g := b.change("g", ledger.Pause); g.PausedBy != "test" {
		b.Errorf("paused by %q, want the reason given", g.PausedBy)
	}
	out := b.append(ledger.Append{Group: "g", Offset: 3, Rows: rows(3, 6)})
	b.ok(out.Err)
	if out.State != spillway.Paused {
		b.Errorf("state %s in the answer, want paused", out.State)
	}
	if v := b.verify("g", spillway.One(0, 6), false); v.State != spillway.Paused || v.Run != nil {
		b.Errorf("a paused group runs %v (%s)", v.Run, v.State)
	}
	if v := b.verify("g", spillway.One(0, 6), true); v.Run != nil {
		b.Errorf("a paused group runs %v", v.Run)
	}
	if g := b.change("g", ledger.Seal); g.State != spillway.Paused || !g.Sealed {
		b.Errorf("sealed while paused: %s, sealed %v", g.State, g.Sealed)
	}
	b.refused(b.append(ledger.Append{Group: "g", Offset: 6, Rows: rows(6, 7)}).Err, spillway.CodeSealed)

	// What is out may settle, but it does not complete before it is resumed.
	m := b.settle("g", ledger.Outcome{Jobs: spillway.One(0, 6)})
	if m.Ready || len(b.complete("g")) > 0 {
		b.Error("a paused group completed")
	}
	if g := b.change("g", ledger.Resume); g.State != spillway.Running || g.PausedBy != "" {
		b.Errorf("resumed: %s, paused by %q", g.State, g.PausedBy)
	}
	if len(b.complete("g")) != 1 {
		b.Error("a resumed group with all jobs done did not complete")
	}
}

func testResumeForgives(b *bench) {
	b.group("g", 10)
	b.settle("g", outcome(spillway.Failed, 0, 1), outcome(spillway.OK, 2), outcome(spillway.InDoubt, 3))
	b.change("g", ledger.Pause)
	g := b.change("g", ledger.Resume)
	if g.FailedBase != 2 || g.FinalBase != 4 {
		b.Errorf("bases %d of %d, want 2 of 4", g.FailedBase, g.FinalBase)
	}
	b.settle("g", outcome(spillway.Failed, 4))
	b.reopen()
	if g := b.find("g"); g.FailedBase != 2 || g.FinalBase != 4 || g.Counts.Failed != 3 {
		b.Errorf("bases %d of %d, %d failed; want 2 of 4, 3", g.FailedBase, g.FinalBase, g.Counts.Failed)
	}
}
