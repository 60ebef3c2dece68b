// Package kineto reads the traces that torch.profiler writes.
//
//  1. A scanner goes through the file, JSON or gzipped JSON, an event at a time;
//     the file is never in memory.
//  2. Kernels, copies and memsets become a recording's ops, calls of the CUDA
//     runtime and driver its calls, joined by args.correlation.
//  3. A call's site is the operator it was made in (aten::copy_), and where the
//     profiler ran with with_stack=True the Python functions around it.
//  4. Annotations become steps (ProfilerStep#n, `step n`, or a name given) and
//     phases.
//
// What a trace does not tell is in the recording's Source.Unseen.
package kineto

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"gputax/profiles"
	"gputax/profiles/internal/annotate"
)

// Options is what a reader cannot find in the file.
type Options struct {
	// Step is a regular expression for the names of annotations that are steps,
	// from their beginning; "" for ProfilerStep#n and `step n`.
	Step string
}

// gzipMagic is what every gzip file begins with.
var gzipMagic = []byte{0x1f, 0x8b}

// Is says whether a file that begins with head may be a trace: JSON, gzipped or
// not.
func Is(head []byte) bool {
	if bytes.HasPrefix(head, gzipMagic) {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		plain := make([]byte, 64)
		n, _ := io.ReadFull(z, plain) // the head of a file ends early
		head = plain[:n]
	}
	head = bytes.TrimLeft(head, " \t\r\n")
	return len(head) > 0 && (head[0] == '{' || head[0] == '[')
}

// ReadFile is Read of a file.
func ReadFile(path string, opt Options) (*profiles.Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("kineto: %w", err)
	}
	defer f.Close()
	rec, err := Read(f, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rec, nil
}

// Read reads a trace, gzipped or not. A trace that ends early, or holds nothing
// of a GPU, is an error: its counts would be wrong. It takes some 100 bytes of
// memory for each call, copy and kernel, and 24 for each Python function.
func Read(r io.Reader, opt Options) (*profiles.Recording, error) {
	step, err := annotate.StepPattern(opt.Step)
	if err != nil {
		return nil, fmt.Errorf("kineto: %w", err)
	}
	in := bufio.NewReaderSize(r, 1<<16)
	head, err := in.Peek(2)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("kineto: %w", err)
	}
	if len(head) == 0 {
		return nil, errors.New("kineto: the file is empty")
	}
	var src io.Reader = in
	if bytes.HasPrefix(head, gzipMagic) {
		if src, err = gzip.NewReader(in); err != nil {
			return nil, fmt.Errorf("kineto: gzip: %w", err)
		}
	}
	im := newImporter(step)
	s := newScanner(src)
	if err := im.trace(s); err != nil {
		return nil, scanError(s, err)
	}
	return im.finish()
}

// scanError says where in the file it was.
func scanError(s *scanner, err error) error {
	at := fmt.Sprintf("byte %d, after %d events", s.off+int64(s.i), s.events)
	switch {
	case errors.Is(err, errShort), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("kineto: the trace ends too early (%s); was the process killed while it wrote? profile again", at)
	case errors.Is(err, errForeign):
		return fmt.Errorf("kineto: %w", err)
	}
	return fmt.Errorf("kineto: no JSON of a trace: %w (%s)", err, at)
}

var errForeign = errors.New("no traceEvents: not a trace of torch.profiler")

// trace reads the whole file: an object with traceEvents, or just the events.
func (im *importer) trace(s *scanner) error {
	first, err := s.peek()
	if err != nil {
		return err
	}
	if first == '[' {
		err = s.array(im.event)
	} else {
		found := false
		err = s.object(func(key string) error {
			if key == "traceEvents" {
				found = true
				return s.array(im.event)
			}
			v, err := s.value()
			if err == nil {
				im.setting(key, v)
			}
			return err
		})
		if err == nil && !found {
			err = errForeign
		}
	}
	if err != nil {
		return err
	}
	if c, err := s.peek(); err == nil {
		return fmt.Errorf("%q after the end", c)
	} else if err != errShort {
		return err
	}
	return nil
}
