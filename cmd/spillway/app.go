package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// cli is the command line.
type cli struct {
	Config  string `help:"Configuration file (YAML)." placeholder:"FILE" type:"path"`
	JSON    bool   `help:"Standard output carries one JSON object per line and nothing else."`
	Quiet   bool   `short:"q" help:"No progress and no summary; errors only."`
	Verbose bool   `short:"v" help:"Log more to standard error."`

	Run       runCmd       `cmd:"" help:"Run a command or a URL over every row of a file."`
	Serve     serveCmd     `cmd:"" help:"Serve the HTTP API for many tenants."`
	Groups    groupsCmd    `cmd:"" help:"Look at groups, pause, resume, cancel, retry and resolve them."`
	Resources resourcesCmd `cmd:"" help:"Look at resources, and change their rates."`
	Tenants   tenantsCmd   `cmd:"" help:"Look at tenants, pause, resume and erase them."`
	Keys      keysCmd      `cmd:"" help:"Create, list and revoke API keys."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

const about = `Spillway turns spikes into steady flow: bulk work at the rate that what it wears down can take.

Example:

    spillway run --csv customers.csv --exec ./tag.sh --rate 200/s

Flags win over SPILLWAY_* environment variables, which win over --config FILE, which wins over the defaults.
Exit codes: 0 done; 1 finished, but some jobs failed or are in doubt; 2 usage or bad input (nothing was started);
3 interrupted, the same command goes on; 4 could not reach or open what it needs.`

// app is what every verb is handed.
type app struct {
	ctx            context.Context
	argv           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	logs           *swapWriter
	log            *slog.Logger
	json, quiet    bool
	configPath     string
}

// helped is thrown by kong's exit once help was printed.
type helped struct{ code int }

// run is the whole command; it returns the exit code.
func run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case helped:
			code = r.code
		default:
			panic(r)
		}
	}()
	keepBrokenPipes()
	var c cli
	parser, err := kong.New(&c,
		kong.Name("spillway"), kong.Description(about),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(helped{code}) }),
		kong.DefaultEnvars("SPILLWAY"), kong.Help(help),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, WrapUpperBound: 110, NoAppDescFormat: true}),
	)
	if err != nil {
		panic(err)
	}
	args := argv[1:]
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "spillway: %s\n", explainParse(parser, err))
		return exitUsage
	}
	if flag := emptyFlag(k); flag != "" {
		fmt.Fprintf(stderr, "spillway: --%s is given and empty: leave it out, or give it a value\n", flag)
		return exitUsage
	}
	logs := &swapWriter{w: stderr}
	level := slog.LevelWarn
	if c.Verbose {
		level = slog.LevelDebug
	}
	a := &app{
		ctx: ctx, argv: argv, stdin: stdin, stdout: stdout, stderr: stderr, logs: logs,
		log:  slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: level})),
		json: c.JSON, quiet: c.Quiet, configPath: c.Config,
	}
	err = k.Run(a)
	var exit *exitError
	if err != nil && !errors.Is(err, syscall.EPIPE) && (!errors.As(err, &exit) || exit.cause != nil) {
		fmt.Fprintf(stderr, "spillway: %v\n", err)
	}
	return exitCode(err)
}

// help prints a verb's help. Of flags of which one is needed the usage line
// would list all, as if all were.
func help(o kong.HelpOptions, k *kong.Context) error {
	var b bytes.Buffer
	out := k.Stdout
	k.Stdout = &b
	err := kong.DefaultHelpPrinter(o, k)
	k.Stdout = out
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, strings.Replace(b.String(),
		"--csv=FILE --jsonl=FILE --exec=CMD --post=URL [flags]", "(--csv=FILE | --jsonl=FILE) (--exec=CMD | --post=URL) [flags]", 1))
	return err
}

// explainParse turns an unknown verb into a list of the known ones.
func explainParse(parser *kong.Kong, err error) string {
	var parse *kong.ParseError
	msg := err.Error()
	if !errors.As(err, &parse) {
		return msg
	}
	node := parser.Model.Node
	if at := parse.Context.Selected(); at != nil {
		node = at
	}
	known := children(node)
	switch {
	case len(known) > 0 && strings.HasPrefix(msg, "unexpected argument"):
		word := strings.TrimPrefix(msg, "unexpected argument ")
		word, _, _ = strings.Cut(word, ",")
		return fmt.Sprintf("%s has no verb %q; the verbs are: %s", node.FullPath(), word, strings.Join(known, ", "))
	case len(known) > 0 && strings.HasPrefix(msg, "expected"):
		return fmt.Sprintf("%s needs a verb: %s", node.FullPath(), strings.Join(known, ", "))
	}
	return fmt.Sprintf("%s (see %s -h)", msg, node.FullPath())
}

// emptyFlag is a flag that was given without text, as --rate "$RATE" is when
// RATE is not set: to take it for not given would run without a limit.
func emptyFlag(k *kong.Context) string {
	for _, p := range k.Path {
		if p.Flag != nil && p.Flag.Target.Kind() == reflect.String && p.Flag.Target.String() == "" {
			return p.Flag.Name
		}
	}
	return ""
}

func children(n *kong.Node) []string {
	var out []string
	for _, c := range n.Children {
		out = append(out, c.Name)
	}
	slices.Sort(out)
	return out
}

// keepBrokenPipes makes writing to a closed standard output an error like any
// other. The signal is caught, not ignored: ignoring would be inherited by
// the commands that run the work.
func keepBrokenPipes() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
}
