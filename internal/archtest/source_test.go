package archtest

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines is the size beyond which a file holds more than one idea.
const maxLines = 600

func TestFileSizes(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte("\n")); n > maxLines {
				t.Errorf("%s/%s has %d lines, at most %d: split it by its ideas", p.ImportPath, name, n, maxLines)
			}
		}
	}
}

// pure is what may read no clock, take no lock and start no goroutine, because
// time is an argument there.
var pure = []string{"flow", "queue", "ledger"}

func TestPurity(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}
	for _, p := range packages(t) {
		name, _ := local(p.ImportPath)
		if !slices.Contains(pure, name) {
			continue
		}
		for _, banned := range []string{"sync", "sync/atomic", "os", "net", "net/http", "log", "log/slog"} {
			if slices.Contains(p.Imports, banned) {
				t.Errorf("%s imports %s: it holds no lock and touches nothing outside its arguments", name, banned)
			}
		}
		for _, file := range p.GoFiles {
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, filepath.Join(p.Dir, file), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s starts a goroutine at %s", name, set.Position(n.Pos()))
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
						t.Errorf("%s calls time.%s at %s: time is an argument", name, n.Sel.Name, set.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}

// TestSQLiteAndItsLibc: the SQLite driver is C translated to Go and fits one
// version of its run-time library; another one corrupts memory.
func TestSQLiteAndItsLibc(t *testing.T) {
	list := exec.Command("go", "list", "-m", "-json", "modernc.org/sqlite", "modernc.org/libc")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var sqlite, libc struct{ Version, GoMod string }
	d := json.NewDecoder(bytes.NewReader(out))
	if err := d.Decode(&sqlite); err != nil {
		t.Fatal(err)
	}
	if err := d.Decode(&libc); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(sqlite.GoMod)
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(mod)
	if wanted == nil {
		t.Fatalf("sqlite %s names no libc in its go.mod", sqlite.Version)
	}
	if string(wanted[1]) != libc.Version {
		t.Errorf("sqlite %s wants libc %s, the module resolves %s", sqlite.Version, wanted[1], libc.Version)
	}
}

// words that name no idea.
var vague = []string{"util", "utils", "common", "helpers", "manager", "impl", "types", "models"}

func TestNames(t *testing.T) {
	for _, p := range packages(t) {
		name, _ := local(p.ImportPath)
		for part := range strings.SplitSeq(name, "/") {
			if slices.Contains(vague, part) {
				t.Errorf("package %s: %q says nothing of what it holds", name, part)
			}
		}
	}
}
