package bulk_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
	"github.com/spillway/spillway/ledger/sqlledger"
	"github.com/spillway/spillway/queue/memqueue"
)

// What a child process is told, and its size.
const (
	chaosLedger   = "SPILLWAY_CHAOS_LEDGER"
	chaosDelivery = "SPILLWAY_CHAOS_DELIVERY"

	chaosJobs    = 4000
	chaosWorkers = 4
	chaosBatch   = 25
)

// chaosChild is a process that works on one group until it is done or killed.
// It says what it begins ("run INDEX ATTEMPT") before it does it, and at the
// end the group ("done JSON").
func chaosChild() error {
	ctx := context.Background()
	l, err := sqlledger.OpenSQLite(ctx, os.Getenv(chaosLedger), sqlledger.Options{})
	if err != nil {
		return err
	}
	e, err := bulk.New(ctx, bulk.Config{
		Ledger: l, Queue: memqueue.New(memqueue.Options{Epoch: time.Now()}), Workers: chaosWorkers, AllWorkers: true, Logger: quiet,
	})
	if err != nil {
		return err
	}
	a := bulk.Action{Batch: chaosBatch, Attempts: 3, Backoff: -1, Delivery: spillway.Delivery(os.Getenv(chaosDelivery))}
	if err := e.Handle("tag", a, chaosHandler); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx, nil) }()
	events, cancel := e.Subscribe()
	defer cancel()
	g, _, err := e.Submit(ctx, bulk.Submission{Action: "tag", Key: "chaos"}, bulktest.Numbers(chaosJobs))
	if err != nil {
		return err
	}
	for !g.State.Ended() {
		select {
		case <-events:
		case <-time.After(50 * time.Millisecond):
		}
		if g, err = e.Group(ctx, g.ID); err != nil {
			return err
		}
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	body, err := json.Marshal(g)
	if err != nil {
		return err
	}
	fmt.Printf("done %s\n", body)
	return l.Close()
}

// chaosHandler fails some jobs, asks for a second attempt of some, and reports
// some while it runs.
func chaosHandler(_ context.Context, b *bulk.Batch) (out []spillway.Outcome, err error) {
	for _, j := range b.Jobs {
		fmt.Printf("run %d %d\n", j.Index, j.Attempt)
		o := spillway.Outcome{Index: j.Index, Value: []byte(`1`)}
		switch {
		case j.Index%10 == 3:
			o.Status = spillway.Failed
		case j.Index%10 == 5 && j.Attempt == 1:
			o.Status = spillway.Retry
		}
		if j.Index%2 == 0 {
			b.Report(o)
		} else {
			out = append(out, o)
		}
	}
	return out, nil
}

type chaosRun struct {
	index   int64
	attempt int
}

// chaosRound lets one child work until it has said lines things, and kills it;
// below 0 it may finish. It answers the group if the child came to its end.
func chaosRound(t *testing.T, path string, delivery spillway.Delivery, lines int, ran map[chaosRun]int) *bulk.Group {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), chaosLedger+"="+path, chaosDelivery+"="+string(delivery))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if lines == 0 {
		_ = cmd.Process.Kill() // while it starts
	}
	var g *bulk.Group
	in := bufio.NewReader(said)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if err != nil {
			if err != io.EOF {
				t.Fatal(err)
			}
			break
		}
		var r chaosRun
		if _, err := fmt.Sscanf(line, "run %d %d", &r.index, &r.attempt); err == nil {
			ran[r]++
		} else if body, ok := strings.CutPrefix(line, "done "); ok {
			g = new(bulk.Group)
			if err := json.Unmarshal([]byte(body), g); err != nil {
				t.Fatal(err)
			}
		}
		if n == lines {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err != nil && lines < 0 {
		t.Fatalf("the child that was to finish: %v\n%s", err, stderr.String())
	}
	return g
}

// chaos kills a process again and again, lets the last one finish, and checks
// what users care about.
func chaos(t *testing.T, seed uint64, delivery spillway.Delivery, kills int) {
	t.Logf("seed %d, %s, %d kills", seed, delivery, kills)
	r := rand.New(rand.NewPCG(seed, 3))
	path := filepath.Join(t.TempDir(), "ledger.db")
	ran := map[chaosRun]int{}
	killed := 0
	var g *bulk.Group
	for range kills {
		if chaosRound(t, path, delivery, r.IntN(2*chaosJobs/kills), ran) == nil {
			killed++
		}
	}
	if g = chaosRound(t, path, delivery, -1, ran); g == nil {
		t.Fatal("the last child said nothing of the group")
	}
	checkSum(t, g)
	if g.State != spillway.Completed || g.Total != chaosJobs || g.Succeeded+g.Failed+g.InDoubt != chaosJobs {
		t.Errorf("got %+v", g)
	}
	twice, jobs := 0, map[int64]bool{}
	for x, n := range ran {
		twice += n - 1
		jobs[x.index] = true
	}
	inHand := killed * chaosWorkers * chaosBatch
	switch {
	case delivery == spillway.AtMostOnce && (twice > 0 || g.InDoubt > int64(inHand)):
		t.Errorf("at most once: %d deliveries were repeated, %d of %d jobs in doubt after %d kills", twice, g.InDoubt, chaosJobs, killed)
	case delivery == spillway.AtLeastOnce && (g.InDoubt > 0 || g.Failed != chaosJobs/10 || len(jobs) != chaosJobs || twice > inHand):
		t.Errorf("%d jobs ran, %d deliveries were repeated in %d kills, at most %d were in hand: %+v", len(jobs), twice, killed, inHand, g)
	}
	t.Logf("%d kills: %d deliveries repeated, %d in doubt", killed, twice, g.InDoubt)
}

// A process is killed at random moments, of its start, its upload and its work;
// SPILLWAY_CHAOS=DURATION goes on for that long.
func TestChaosKillNine(t *testing.T) {
	var length time.Duration
	kills := 5
	if s := os.Getenv("SPILLWAY_CHAOS"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
		kills = 20
	}
	end := time.Now().Add(length)
	for seed := rand.Uint64N(1_000_000); ; seed++ {
		for _, delivery := range []spillway.Delivery{spillway.AtLeastOnce, spillway.AtMostOnce} {
			t.Run(fmt.Sprintf("%s/%d", delivery, seed), func(t *testing.T) { chaos(t, seed, delivery, kills) })
		}
		if t.Failed() || time.Now().After(end) {
			return
		}
	}
}
