// Gputax benchmarks the training of small neural networks on CPU and GPU.
//
// Usage:
//
//	gputax run        run the benchmark matrix, print a table, write bench.txt
//	gputax compare    compare benchmark results, and fail where they got worse
//	gputax gate       fail where the working tree is slower than a base commit, and say why
//	gputax why        name the cause of a difference between variants, results or commits
//	gputax profile    record one run, and leave profiles, a trace and findings
//	gputax train      train a policy, with checkpoints
//	gputax eval       evaluate a trained policy on a fixed set of instances
//	gputax calibrate  measure a device profile
//	gputax devices    list devices and device profiles
//	gputax help       this text; gputax COMMAND -h for a command's flags
//
// It exits with 0 when all is well, 1 when a regression was found, and 2 on an
// error, which it states in one line on standard error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"gputax/device/host/f32"
)

// The exit codes of every command.
const (
	exitOK         = 0
	exitRegression = 1
	exitError      = 2
)

// errRegression is returned by a command that has found a regression and
// printed it.
var errRegression = errors.New("a regression was found")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}

// command is one subcommand.
type command struct {
	name  string
	about string
	run   func(ctx context.Context, stdout, stderr io.Writer, args []string) error
}

// commands lists them all; a new one is a file of its own and a line here.
var commands = []command{
	{"run", "run the benchmark matrix, print a table, write bench.txt", runCommand},
	{"compare", "compare benchmark results, and fail where they got worse", compareCommand},
	{"gate", "fail where the working tree is slower than a base commit, and say why", gateCommand},
	{"why", "name the cause of a difference between variants, results or commits", whyCommand},
	{"profile", "record one run, and leave profiles, a trace and findings", profileCommand},
	{"train", "train a policy, with checkpoints", trainCommand},
	{"eval", "evaluate a trained policy on a fixed set of instances", evalCommand},
	{"calibrate", "measure a device profile", calibrateCommand},
	{"devices", "list devices and device profiles", devicesCommand},
}

// run is main without the process: it writes to what it is given and returns
// the exit code.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	if len(args) == 0 {
		usage(stderr)
		return exitError
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(stdout)
		return exitOK
	}
	if err := f32.PathError(); err != nil {
		fmt.Fprintf(stderr, "gputax: %v\n", err)
		return exitError
	}
	names := make([]string, 0, len(commands))
	for _, c := range commands {
		if c.name != args[0] {
			names = append(names, c.name)
			continue
		}
		switch err := c.run(ctx, stdout, stderr, args[1:]); {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return exitOK
		case errors.Is(err, errRegression):
			return exitRegression
		default:
			fmt.Fprintf(stderr, "gputax %s: %s\n", c.name, strings.ReplaceAll(err.Error(), "\n", "; ")) // joined errors too are one line
			return exitError
		}
	}
	fmt.Fprintf(stderr, "gputax: no command %q%s; gputax help lists them\n", args[0], suggest(args[0], names))
	return exitError
}

func usage(w io.Writer) {
	fmt.Fprint(w, "gputax benchmarks the training of small neural networks on CPU and GPU.\n\nusage: gputax COMMAND [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-11s%s\n", c.name, c.about)
	}
	fmt.Fprint(w, "\ngputax COMMAND -h shows a command's flags.\nexit codes: 0 well, 1 a regression found, 2 an error\n")
}

// newFlags is a flag set whose errors come back instead of being printed.
func newFlags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

// parse parses flags and refuses what is left over. Help, where it is asked
// for, goes to stdout.
func parse(f *flag.FlagSet, about string, stdout io.Writer, args []string) error {
	rest, err := parseArgs(f, "", about, stdout, args)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("unexpected argument %q; gputax %s -h shows the flags", strings.Join(rest, " "), f.Name())
	}
	return err
}

// parseArgs parses flags wherever they stand among the arguments, and returns
// the others. What they are, such as OLD NEW, goes into the help.
func parseArgs(f *flag.FlagSet, what, about string, stdout io.Writer, args []string) (rest []string, err error) {
	for err == nil && len(args) > 0 {
		if err = f.Parse(args); err != nil {
			break
		}
		args = f.Args()
		n := 0
		for n < len(args) && (args[n] == "-" || !strings.HasPrefix(args[n], "-")) {
			n++
		}
		rest, args = append(rest, args[:n]...), args[n:]
	}
	if errors.Is(err, flag.ErrHelp) {
		if what != "" {
			what += " "
		}
		fmt.Fprintf(stdout, "usage: gputax %s %s[flags]\n\n%s\n\n", f.Name(), what, about)
		f.SetOutput(stdout)
		f.PrintDefaults()
	}
	return rest, err
}
