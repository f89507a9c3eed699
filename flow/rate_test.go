package flow_test

import (
	"testing"
	"time"

	"github.com/spillway/spillway/flow"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]flow.Rate{
		"":             {},
		"200/s":        {N: 200, Per: time.Second},
		"600/m":        {N: 600, Per: time.Minute},
		"5/h":          {N: 5, Per: time.Hour},
		"50/5s":        {N: 50, Per: 5 * time.Second},
		"3/250ms":      {N: 3, Per: 250 * time.Millisecond},
		"1/ms":         {N: 1, Per: time.Millisecond},
		"7/1h30m":      {N: 7, Per: 90 * time.Minute},
		"7/0.5s":       {N: 7, Per: 500 * time.Millisecond},
		"7/.5s":        {N: 7, Per: 500 * time.Millisecond},
		"9/8784h":      {N: 9, Per: flow.MaxRatePer},
		"1000000000/s": {N: flow.MaxRateN, Per: time.Second},
	} {
		got, err := flow.ParseRate(text)
		if err != nil || got != want {
			t.Errorf("ParseRate(%q) = %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := flow.ParseRate(got.String()); err != nil || again != got {
			t.Errorf("%q written as %q reads as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{
		"5", "/s", "5/", "0/s", "-1/s", "1.5/s", "1000000001/s", "99999999999999999999/s",
		"5/0s", "5/-1s", "5/-s", "5/us", "5/1500us", "5/8785h", "5/x", "5/s/s", " 5/s", "5 /s", "5/ s", "5/9999999999h",
	} {
		if got, err := flow.ParseRate(text); err == nil {
			t.Errorf("ParseRate(%q) = %+v, want an error", text, got)
		}
	}
}

func TestRate(t *testing.T) {
	if r := (flow.Rate{}); !r.Unlimited() || r.PerSecond() != 0 || r.String() != "" {
		t.Errorf("the zero rate is %+v", r)
	}
	if r := (flow.Rate{N: 90, Per: time.Minute}); r.Unlimited() || r.PerSecond() != 1.5 || r.String() != "90/m" {
		t.Errorf("90 a minute is %v, %v a second", r, r.PerSecond())
	}
}

func FuzzParseRate(f *testing.F) {
	for _, seed := range []string{"", "200/s", "3/250ms", "7/1h30m", "1000000000/8784h", "5/-1s", "+5/s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := flow.ParseRate(text)
		if err != nil {
			return
		}
		if r.Unlimited() != (text == "") {
			t.Fatalf("%q is unlimited", text)
		}
		if text != "" && (r.N < 1 || r.N > flow.MaxRateN || r.Per < flow.MinRatePer || r.Per > flow.MaxRatePer) {
			t.Fatalf("%q is out of bounds: %+v", text, r)
		}
		if again, err := flow.ParseRate(r.String()); err != nil || again != r {
			t.Fatalf("%q is %+v, written %q, read %+v, %v", text, r, r, again, err)
		}
	})
}
