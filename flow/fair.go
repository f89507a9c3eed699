package flow

// Fair is start-time fair queueing (Goyal, Vin, Cheng: "Start-time Fair
// Queuing", SIGCOMM 1996) without the packets: each flow keeps a virtual time
// v, the flow with the least v goes first, and what it is granted moves its v
// on by cost ÷ weight. Two flows that always have work then differ, in grants
// per weight, by at most one grant of each.
//
// Idleness earns no credit and newcomers don't owe: a flow joins at the virtual
// time of the latest pick, unless its own is later. State: one number here, one
// per flow.
type Fair struct {
	// V is the virtual time of the latest pick; it never goes back.
	V float64
}

// Join is the virtual time of a flow that becomes active, given the one it had
// (0 for a new flow).
func (f *Fair) Join(v float64) float64 { return max(v, f.V) }

// Charge records that the flow at v was picked and granted cost, and returns
// its next virtual time. A weight that is not positive counts as 1.
func (f *Fair) Charge(v float64, cost int64, weight float64) float64 {
	if !(weight > 0) {
		weight = 1
	}
	f.V = max(f.V, v)
	return v + float64(cost)/weight
}

// Forgets reports whether an idle flow's v may be dropped: joining with 0 would
// give it the same.
func (f *Fair) Forgets(v float64) bool { return v <= f.V }

// Jain is the fairness index of Jain, Chiu and Hawe (DEC-TR-301, 1984): 1 if
// all shares are equal, 1/n if one of n has everything. Divide each share by
// its weight first. Nothing shared is fair: 1.
func Jain(shares []float64) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}
