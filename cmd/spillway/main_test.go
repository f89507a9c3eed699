package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"spillway": func() {
			endWithParent()
			os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

func TestScripts(t *testing.T) {
	done := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(done.Close)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("POST_URL", done.URL)
			for _, name := range []string{"value.sh", "some.sh", "maybe.sh"} {
				if err := os.Chmod(e.WorkDir+"/"+name, 0o755); err != nil && !os.IsNotExist(err) {
					return err
				}
			}
			for name, content := range map[string]string{
				"in.csv.gz": "\x1f\x8b\x08\x00", "in.xlsx": "PK\x03\x04\x14", "crlf.csv": "\xef\xbb\xbfid\r\n1\r\n",
			} {
				if err := os.WriteFile(e.WorkDir+"/"+name, []byte(content), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": codeCmd, "group": groupCmd},
	})
}

// codeCmd runs a command that must end with an exit code: code 2 spillway …
func codeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// groupCmd sets a variable to the id of the group in the last line of a file.
func groupCmd(ts *testscript.TestScript, _ bool, args []string) {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[1])), "\n")
	var g struct {
		ID string `json:"id"`
	}
	ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &g))
	ts.Setenv(args[0], g.ID)
}
