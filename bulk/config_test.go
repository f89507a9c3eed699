package bulk

import (
	"errors"
	"testing"

	"github.com/spillway/spillway"
)

func TestParentsMustNotFormACircle(t *testing.T) {
	for _, x := range []struct {
		rules []ResourceRule
		ok    bool
	}{
		{[]ResourceRule{{Name: "a", Parent: "b"}, {Name: "b", Parent: "a"}}, false},
		{[]ResourceRule{{Name: "a", Parent: "b"}, {Name: "b", Parent: "c"}, {Name: "c"}}, true},
		{[]ResourceRule{{Name: "wa-*", Parent: "wa"}, {Name: "wa"}}, true},
		{[]ResourceRule{{Name: "*", Parent: "all"}}, true},
	} {
		c := Config{Resources: x.rules}
		if err := c.validateParents(); (err == nil) != x.ok || err != nil && !errors.Is(err, spillway.CodeInvalid) {
			t.Errorf("%v: %v", x.rules, err)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, x := range []struct {
		pattern, name string
		fits          bool
	}{
		{"wa-*", "wa-acme", true},
		{"wa-*", "wa-", true},
		{"wa-*", "wa", false},
		{"*", "a/b", true},
		{"a*b*c", "a1b2c", true},
		{"a*b*c", "a1c2b", false},
		{"x", "x", true},
		{"x", "xy", false},
	} {
		if got := fits(x.pattern, x.name); got != x.fits {
			t.Errorf("%q fits %q: %v", x.pattern, x.name, got)
		}
	}
}

func TestForeignResources(t *testing.T) {
	e := &Engine{}
	e.actions.byName = map[spillway.ActionName]*action{
		"send": {Action: Action{Resource: "wa-{tenant}"}}, "tag": {Action: Action{Resource: "customers"}},
	}
	for name, foreign := range map[spillway.ResourceName]bool{"wa-acme": false, "wa-beta": true, "customers": false, "other": false} {
		if got := e.Foreign(name, "acme"); got != foreign {
			t.Errorf("%s for acme: %v", name, got)
		}
	}
}
