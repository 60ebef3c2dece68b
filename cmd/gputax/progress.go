package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress is one line on a terminal that says what runs; on anything else it
// is silent.
type progress struct {
	w     io.Writer
	on    bool
	width int
	done  int
	total int
	start time.Time
}

func newProgress(w io.Writer, total int) *progress {
	p := &progress{w: w, total: total, start: time.Now()}
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			p.on, p.width = true, width
			if width == 0 { // a terminal that does not know its size
				p.width = 80
			}
		}
	}
	return p
}

// step says that name is next.
func (p *progress) step(name string) {
	if p.on {
		line := fmt.Sprintf("[%d/%d %s] %s", p.done+1, p.total, time.Since(p.start).Round(time.Second), name)
		fmt.Fprintf(p.w, "\r\x1b[K%s", line[:min(len(line), max(p.width-1, 0))])
	}
	p.done++
}

// say prints a line that stays, terminal or not.
func (p *progress) say(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// clear takes the line away.
func (p *progress) clear() {
	if p.on {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
