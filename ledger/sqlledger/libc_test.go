package sqlledger_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// SQLite is translated for one version of modernc.org/libc; another one has
// crashed programs. So the version that is linked must be the one that SQLite
// itself requires.
func TestLibcIsSQLites(t *testing.T) {
	list := func(module string) (m struct{ Version, GoMod string }) {
		t.Helper()
		out, err := exec.Command("go", "list", "-m", "-json", module).Output()
		if err != nil {
			t.Fatalf("go list -m %s: %v", module, err)
		}
		if err := json.Unmarshal(out, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	mod, err := os.ReadFile(list("modernc.org/sqlite").GoMod)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(mod), "modernc.org/libc ")
	want, _, _ := strings.Cut(rest, "\n")
	want, _, _ = strings.Cut(want, " ")
	if got := list("modernc.org/libc").Version; !found || got != want {
		t.Errorf("libc %s is linked, sqlite requires %q: pin that one in go.mod", got, want)
	}
}
