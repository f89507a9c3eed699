package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"
)

const module = "github.com/spillway/spillway"

// layer is what packages may import of ours, and why no more. A name that
// ends in /... covers what is below it; the first layer that fits counts.
type layer struct {
	packages string
	may      []string
	std      bool // besides ours, the standard library only
	why      string
}

var (
	vocabulary = []string{".", "flow"}
	contracts  = []string{".", "flow", "queue", "ledger"}
	everything = []string{"./..."}
)

var layers = []layer{
	{".", nil, true, "the vocabulary is shared by all, so it depends on nothing"},
	{"flow", nil, true, "algorithms are pure: the guard, the queue, the simulator and the Lua twins run the same code"},

	{"queue", vocabulary, true, "a contract that imported a driver could not be replaced"},
	{"ledger", vocabulary, true, "a contract that imported a driver could not be replaced"},
	{"channel", vocabulary, true, "a contract that imported a provider could not be replaced"},

	{"queue/queuetest", append([]string{"queue", "internal/chart"}, vocabulary...), false, "the suite knows the contract, and no driver by name"},
	{"ledger/ledgertest", append([]string{"ledger"}, vocabulary...), false, "the suite knows the contract, and no driver by name"},
	{"queue/...", append([]string{"queue"}, vocabulary...), false, "a queue driver knows its contract only: what it cannot see, it cannot depend on"},
	{"ledger/...", append([]string{"ledger"}, vocabulary...), false, "a ledger driver knows its contract only"},
	{"channel/...", append([]string{"channel", "internal/webhook"}, vocabulary...), false, "a provider knows its contract only"},

	{"bulk", contracts, false, "the engine runs on any queue and any ledger, so it names none; campaigns and the guard stand beside or above it"},
	{"bulk/bulktest", append([]string{"bulk", "queue/memqueue", "ledger/sqlledger"}, contracts...), false, "it hands a whole engine to tests, so it chooses the drivers"},
	{"bulk/...", append([]string{"bulk", "internal/webhook", "internal/wire"}, vocabulary...), false, "handlers and sources stand on the engine and know no store"},

	{"campaign/...", append([]string{"bulk", "bulk/...", "channel"}, contracts...), false, "campaigns stand on bulk and reach providers through the contract"},
	{"guard/...", append([]string{"guard", "guard/..."}, vocabulary...), false, "the guard protects a store without the engine; they meet through one interface, wired in cmd"},

	{"sim/...", append([]string{"queue/memqueue", "internal/chart"}, contracts...), false, "the simulator runs the real queue and limiters, and nothing that waits or writes"},
	{"server/...", append([]string{"bulk", "bulk/post", "bulk/source", "campaign", "campaign/...", "guard", "server/...", "internal/webhook", "internal/wire"}, contracts...), false, "the server speaks for an engine; which stores stand behind it is chosen in cmd"},

	{"internal/chart", nil, true, "a drawing needs numbers only"},
	{"internal/config", append([]string{"bulk"}, contracts...), false, "a config is read into settings; what runs on them is wired in cmd"},
	{"internal/archtest", nil, false, "the judge stands outside"},
	{"internal/...", vocabulary, false, "helpers are below everything that uses them"},

	{"cmd/...", everything, false, "the binary wires all parts"},
	{"examples/...", everything, false, "examples are users"},
}

// never lists what no layer may import, whoever it is.
var never = []struct{ packages, why string }{
	{"cmd/...", "the binary is an end, not a part"},
	{"examples/...", "an example is read, not used"},
}

type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Dir          string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Standard     bool
}

func packages(t *testing.T) []pkg {
	t.Helper()
	list := exec.Command("go", "list", "-e", "-json", "./...")
	list.Dir = path.Join("..", "..")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 5 {
		t.Fatalf("only %d packages listed", len(all))
	}
	return all
}

// local is a package's name within the module; ok is false for others'.
func local(importPath string) (name string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// fits reports whether a package is covered by a name of the tables.
func fits(name, pattern string) bool {
	below, all := strings.CutSuffix(pattern, "/...")
	return name == pattern || all && (below == "." || name == below || strings.HasPrefix(name, below+"/"))
}

func fitsAny(name string, patterns []string) bool {
	for _, p := range patterns {
		if fits(name, p) {
			return true
		}
	}
	return false
}

// judge returns what is wrong with one package importing another, or "".
func judge(from, to string) string {
	name, _ := local(from)
	l, found := layerOf(name)
	if !found {
		return name + " stands in no layer: add it to the table with what it may import, and why"
	}
	target, ours := local(to)
	if !ours {
		first, _, _ := strings.Cut(to, "/")
		if l.std && strings.Contains(first, ".") {
			return name + " imports " + to + ", and may import the standard library only: " + l.why
		}
		return ""
	}
	for _, n := range never {
		if fits(target, n.packages) && !fits(name, n.packages) {
			return name + " imports " + target + ": " + n.why
		}
	}
	if !fitsAny(target, l.may) {
		return name + " imports " + target + ": " + l.why
	}
	return ""
}

func layerOf(name string) (layer, bool) {
	for _, l := range layers {
		if fits(name, l.packages) {
			return l, true
		}
	}
	return layer{}, false
}

func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		for _, to := range append([]string{"fmt"}, p.Imports...) {
			if wrong := judge(p.ImportPath, to); wrong != "" {
				t.Error(wrong)
			}
		}
	}
}

// TestLayersForbid shows that the table says no where the design does.
func TestLayersForbid(t *testing.T) {
	for _, c := range []struct {
		from, to string
		may      bool
	}{
		{"flow", "queue", false},
		{"flow", "golang.org/x/sync/errgroup", false},
		{".", "flow", false},
		{"queue", "queue/memqueue", false},
		{"ledger", "queue", false},
		{"ledger", "modernc.org/sqlite", false},
		{"queue/memqueue", "bulk", false},
		{"ledger/sqlledger", "bulk", false},
		{"bulk", "queue/memqueue", false},
		{"bulk", "ledger/sqlledger", false},
		{"bulk", "guard", false},
		{"bulk", "campaign", false},
		{"bulk/source", "ledger/sqlledger", false},
		{"guard", "bulk", false},
		{"guard/respguard", "campaign", false},
		{"campaign", "guard", false},
		{"campaign", "channel/whatsapp", false},
		{"server", "ledger/sqlledger", false},
		{"server", "queue/redisqueue", false},
		{"bulk", "cmd/spillway", false},
		{"nowhere", "flow", false},
		{"queue/memqueue", "flow", true},
		{"bulk/bulktest", "queue/memqueue", true},
		{"guard/respguard", "guard", true},
		{"cmd/spillway", "ledger/sqlledger", true},
		{"examples/embed", "queue/memqueue", true},
		{"sim", "queue/memqueue", true},
	} {
		full := func(name string) string {
			if strings.Contains(name, ".") && name != "." {
				return name
			}
			return strings.TrimSuffix(path.Join(module, name), "/.")
		}
		if wrong := judge(full(c.from), full(c.to)); (wrong == "") != c.may {
			t.Errorf("%s may import %s: %t, the table says %q", c.from, c.to, c.may, wrong)
		}
	}
}
