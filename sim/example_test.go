package sim_test

import (
	"fmt"
	"time"

	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
	"github.com/spillway/spillway/sim"
)

// When is a tenant's upload of 60,000 rows done if another with 10,000 comes
// half a minute later, on an API of 1,000 calls a second?
func ExampleRun() {
	r, err := sim.Run(sim.Scenario{
		Settings: queue.Settings{
			Resources: []queue.Resource{{Name: "api", Rate: flow.Rate{N: 1000, Per: time.Second}}},
			Actions:   []queue.Action{{Name: "tag", Batch: 50}},
		},
		Arrivals: []sim.Arrival{
			sim.Job(0, "first", "acme", "tag", "api", 60_000),
			sim.Job(30*time.Second, "second", "zeta", "tag", "api", 10_000),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range []*sim.Group{r.Groups["first"], r.Groups["second"]} {
		fmt.Printf("%s: %v after its arrival\n", g.ID, g.Time().Round(time.Second))
	}
	fmt.Printf("deliveries per job: %.3f\n", float64(r.Delivered)/float64(r.Jobs))
	// Output:
	// first: 1m10s after its arrival
	// second: 20s after its arrival
	// deliveries per job: 1.000
}
