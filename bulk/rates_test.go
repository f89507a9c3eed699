package bulk_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
	"github.com/spillway/spillway/flow"
)

// starts is when handlers were given jobs, and of what cost.
type starts struct {
	mu  sync.Mutex
	all []start
}

type start struct {
	at    time.Time
	group spillway.GroupID
	cost  int64
}

// during is a handler that notes its starts and takes a while.
func (s *starts) during(d time.Duration) bulk.Handler {
	return func(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
		x := start{at: time.Now(), group: b.Group}
		for _, j := range b.Jobs {
			x.cost += j.Cost
		}
		s.mu.Lock()
		s.all = append(s.all, x)
		s.mu.Unlock()
		return slow(d)(ctx, b)
	}
}

// of is the starts of one group; "" is all.
func (s *starts) of(id spillway.GroupID) []start {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(s.all), func(x start) bool { return id != "" && x.group != id })
	slices.SortFunc(out, func(a, b start) int { return a.at.Compare(b.at) })
	return out
}

// checkBound looks at every half-open window of the period: none may hold more
// than the rate.
func checkBound(t *testing.T, all []start, r flow.Rate) {
	t.Helper()
	var sum, most int64
	from := 0
	for _, x := range all {
		sum += x.cost
		for x.at.Sub(all[from].at) >= r.Per {
			sum -= all[from].cost
			from++
		}
		most = max(most, sum)
	}
	if most > r.N {
		t.Errorf("a window of %v holds %d, the rate is %v", r.Per, most, r)
	}
}

// checkUse looks at every run of ten periods that begins right after a start,
// up to the last one: each must hold 98 % of what the rate allows.
func checkUse(t *testing.T, all []start, r flow.Rate) {
	t.Helper()
	span, want := 10*r.Per, int64(0.98*10*float64(r.N))
	end, runs := all[len(all)-1].at, 0
	least := int64(1 << 60)
	var sum int64
	to := 0
	for i, x := range all {
		for to < len(all) && all[to].at.Sub(x.at) <= span {
			sum += all[to].cost
			to++
		}
		sum -= all[i].cost
		if end.Sub(x.at) < span {
			break
		}
		least = min(least, sum)
		runs++
	}
	if runs == 0 {
		t.Fatalf("the test is too short to judge the use of %v", r)
	}
	if least < want {
		t.Errorf("ten periods of %v hold only %d, want %d", r, least, want)
	}
}

// finish waits for a group's end, however long it takes.
func finish(t *testing.T, b *bulktest.Bench, id spillway.GroupID) *bulk.Group {
	t.Helper()
	for wait := 10 * time.Millisecond; wait < 10*time.Hour; wait += wait / 50 {
		g, err := b.Group(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		bulktest.Sum(t, g)
		if g.FinishedAt != nil {
			return g
		}
		time.Sleep(wait)
	}
	g, _ := b.Group(t.Context(), id)
	w, _ := b.Why(t.Context(), id)
	t.Fatalf("the group does not end: %+v; why: %+v", g, w)
	return nil
}

func rate(t *testing.T, s string) flow.Rate {
	t.Helper()
	r, err := flow.ParseRate(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRatesHoldInEveryWindowAndAreUsed(t *testing.T) {
	for _, c := range []struct {
		rate string
		jobs int
	}{
		{"1/2s", 40}, {"5/h", 70}, {"50/5s", 700}, {"200/s", 3000}, {"3/250ms", 60}, {"2000/s", 30_000}, {"10000/100ms", 250_000},
	} {
		if testing.Short() {
			c.jobs = min(c.jobs, 3000)
		}
		for _, where := range []string{"resource", "group"} {
			t.Run(c.rate+" of the "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := rate(t, c.rate)
					cfg, s := bulk.Config{Workers: 64, AllWorkers: true}, bulk.Submission{Action: "tag"}
					if where == "group" {
						s.Rate = r
					} else {
						cfg.Resources = []bulk.ResourceRule{{Name: "tag", Rate: r}}
					}
					b := bulktest.New(t, cfg)
					var seen starts
					b.Handle("tag", bulk.Action{Batch: 1000}, seen.during(10*time.Millisecond))
					b.Start()
					time.Sleep(time.Minute) // 64 workers are idle
					g := b.Submit(s, bulktest.Numbers(c.jobs))
					if g = finish(t, b, g.ID); g.Succeeded != int64(c.jobs) {
						t.Errorf("got %+v", g)
					}
					checkBound(t, seen.of(""), r)
					if int64(c.jobs) > 12*r.N {
						checkUse(t, seen.of(""), r)
					}
				})
			})
		}
	}
}

func TestRatesOfGroupAndResourceHoldTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, own := perSecond(200), perSecond(150)
		b := bulktest.New(t, bulk.Config{Resources: []bulk.ResourceRule{{Name: "t*", Rate: all}}})
		var seen starts
		b.Handle("tag", bulk.Action{Batch: 1000}, seen.during(10*time.Millisecond))
		b.Start()
		one := b.Submit(bulk.Submission{Tenant: "a", Action: "tag", Rate: own}, bulktest.Numbers(2000))
		two := b.Submit(bulk.Submission{Tenant: "b", Action: "tag", Rate: own}, bulktest.Numbers(2000))
		finish(t, b, one.ID)
		finish(t, b, two.ID)
		checkBound(t, seen.of(""), all)
		checkUse(t, seen.of(""), all)
		checkBound(t, seen.of(one.ID), own)
		checkBound(t, seen.of(two.ID), own)
	})
}

// Every window holds at most the highest rate that was in force within it, and
// from one period after a change on, the new one.
func TestRateChangedInMidRunHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Resources: []bulk.ResourceRule{{Name: "tag", Rate: perSecond(100)}}})
		var seen starts
		b.Handle("tag", bulk.Action{Batch: 1000}, seen.during(10*time.Millisecond))
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(26_500))
		type phase struct {
			from time.Time
			rate flow.Rate
		}
		phases := []phase{{time.Now(), perSecond(100)}}
		for _, n := range []int64{1000, 20, 500, 3, 1000} {
			time.Sleep(12*time.Second + 345*time.Millisecond)
			r := perSecond(n)
			if _, err := b.SetResource(t.Context(), "tag", bulk.ResourceChange{Rate: &r}, "test"); err != nil {
				t.Fatal(err)
			}
			phases = append(phases, phase{time.Now(), r})
		}
		finish(t, b, g.ID)
		phases = append(phases, phase{time.Now(), flow.Rate{}})
		for i, p := range phases[:len(phases)-1] {
			end := phases[i+1].from
			in := slices.DeleteFunc(seen.of(""), func(x start) bool { return x.at.Before(p.from) || !x.at.Before(end) })
			checkBound(t, in, p.rate)
			if i < len(phases)-2 {
				settled := slices.DeleteFunc(in, func(x start) bool { return x.at.Sub(p.from) < time.Second })
				checkUse(t, settled, p.rate)
			}
		}
		checkBound(t, seen.of(""), perSecond(1000))
	})
}

func TestRatesHoldAcrossRestarts(t *testing.T) {
	for _, s := range []string{"200/s", "50/5s"} {
		t.Run(s, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rate(t, s)
				b := bulktest.New(t, bulk.Config{Workers: 16, Resources: []bulk.ResourceRule{{Name: "tag", Rate: r}}})
				var seen starts
				b.Handle("tag", bulk.Action{Batch: 100}, seen.during(10*time.Millisecond))
				b.Start()
				g := b.Submit(bulk.Submission{Action: "tag", Rate: r}, bulktest.Numbers(int(r.N)*25))
				for range 8 {
					time.Sleep(r.Per*8/5 + 77*time.Millisecond)
					b.Restart()
				}
				if g = finish(t, b, g.ID); g.Succeeded != r.N*25 {
					t.Errorf("got %+v", g)
				}
				checkBound(t, seen.of(""), r)
			})
		})
	}
}

// costly is rows of which each tenth costs more.
type costly struct{ rows bulk.Source }

func (s *costly) Next() (bulk.Row, error) {
	r, err := s.rows.Next()
	if n := len(r.Data); n > 1 && r.Data[n-2] == '7' {
		r.Cost = 9
	}
	return r, err
}

func TestCostIsWhatCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := perSecond(100)
		b := bulktest.New(t, bulk.Config{Resources: []bulk.ResourceRule{{Name: "tag", Rate: r}}})
		var seen starts
		b.Handle("tag", bulk.Action{Batch: 100}, seen.during(10*time.Millisecond))
		b.Start()
		began := time.Now()
		g := b.Submit(bulk.Submission{Action: "tag"}, &costly{bulktest.Numbers(2000)})
		finish(t, b, g.ID)
		all := seen.of("")
		checkBound(t, all, r)
		var cost int64
		for _, x := range all {
			cost += x.cost
		}
		if cost != 1800+200*9 {
			t.Errorf("the jobs cost %d", cost)
		}
		// Each lease is charged the highest cost and gets the rest back.
		if took := all[len(all)-1].at.Sub(began); took > 45*time.Second {
			t.Errorf("%d at %v took %v: what was charged too much is not given back", cost, r, took)
		}
	})
}
