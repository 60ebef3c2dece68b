// Gen writes the assembly of package f32 and the Go declarations that go with it.
//
//	go run ./gen -out .
//
// Each file is written by one function of this package. A routine is described once and emitted for both
// instruction sets, so that AVX2 and AVX-512 do the same operations in the same order.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// files lists what is generated: NAME_amd64.s and NAME_amd64.go for each.
var files = []struct {
	name string
	emit func(*build.Context)
}{
	{"gemm", emitGemm},
	{"transpose", emitTranspose},
	{"exp", emitExp},
	{"norm", emitNorm},
	{"elementwise", emitElementwise},
}

func main() {
	flags := flag.NewFlagSet("gen", flag.ExitOnError) // avo puts its own -out into the default set
	out := flags.String("out", ".", "folder to write to")
	flags.Parse(os.Args[1:])
	for _, f := range files {
		if err := write(*out, f.name, f.emit); err != nil {
			fmt.Fprintf(os.Stderr, "gen: %s: %v\n", f.name, err)
			os.Exit(1)
		}
	}
}

// write emits one assembly file and its declarations into dir.
func write(dir, name string, emit func(*build.Context)) error {
	c := build.NewContext()
	c.ConstraintExpr("amd64")
	emit(c)
	file, err := c.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	cfg := printer.Config{Name: "gen", Pkg: "f32"}
	for ext, p := range map[string]printer.Printer{
		".s":  printer.NewGoAsm(cfg),
		".go": printer.NewStubs(cfg),
	} {
		text, err := p.Print(file)
		if err != nil {
			return err
		}
		text = append(bytes.TrimRight(text, "\n"), '\n')
		if err := os.WriteFile(filepath.Join(dir, name+"_amd64"+ext), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
