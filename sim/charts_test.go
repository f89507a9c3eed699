package sim

import "testing"

func fairCharts(t *testing.T, r *Result) { t.Helper() }
