package device

import (
	"fmt"
	"slices"
)

// Graph is work captured once and replayed at the price of one launch.
type Graph struct {
	handle  any
	owner   Device
	content Counters // what one replay does
	blocks  []*Block // what it reads and writes, each once
	freed   bool
}

// BeginCapture starts to capture what is issued to s. Until EndCapture nothing
// runs; only launches and asynchronous copies on s are possible. Buffers that
// the graph uses must outlive it.
func (r *Recorder) BeginCapture(s Stream) error {
	if err := r.eager("begin capture"); err != nil {
		return err
	}
	if err := r.checkStream(s); err != nil {
		return fmt.Errorf("device: begin capture: %w", err)
	}
	if err := r.dev.BeginCapture(s); err != nil {
		return fmt.Errorf("device: begin capture: %w", err)
	}
	r.capture, r.stream = &Graph{owner: r.dev}, s
	return nil
}

// EndCapture returns what was captured. Free it with FreeGraph.
func (r *Recorder) EndCapture() (*Graph, error) {
	g := r.capture
	if g == nil {
		return nil, fmt.Errorf("device: end capture: none was begun: %w", ErrCapturing)
	}
	r.capture = nil
	handle, err := r.dev.EndCapture(r.stream)
	if err != nil {
		return nil, fmt.Errorf("device: end capture: %w", err)
	}
	g.handle = handle
	g.content[GraphKernels], g.content[Launches] = g.content[Launches], 0
	return g, nil
}

// Replay runs g on s: one graph launch, and what it holds counts as it would
// have, its kernels as graph kernels.
func (r *Recorder) Replay(s Stream, g *Graph) error {
	if err := r.eager("replay"); err != nil {
		return err
	}
	if err := r.checkGraph(g); err != nil {
		return fmt.Errorf("device: replay: %w", err)
	}
	for _, b := range g.blocks {
		if b.freed {
			return fmt.Errorf("device: replay: a buffer of %d bytes that the graph uses: %w", b.Size, ErrFreed)
		}
	}
	if err := r.checkStream(s); err != nil {
		return fmt.Errorf("device: replay: %w", err)
	}
	if err := r.dev.Replay(s, g.handle); err != nil {
		return fmt.Errorf("device: replay: %w", err)
	}
	r.phases[r.current].Counters.Add(&g.content)
	r.count(GraphLaunches, 1)
	r.issued(s)
	return nil
}

// FreeGraph gives g back.
func (r *Recorder) FreeGraph(g *Graph) error {
	if g == nil {
		return nil
	}
	if err := r.checkGraph(g); err != nil {
		return fmt.Errorf("device: free graph: %w", err)
	}
	g.freed = true
	return r.dev.FreeGraph(g.handle)
}

// holds notes that the graph being captured, if any, uses b.
func (r *Recorder) holds(b *Block) {
	if r.capture != nil && b != nil && !slices.Contains(r.capture.blocks, b) {
		r.capture.blocks = append(r.capture.blocks, b)
	}
}

func (r *Recorder) checkGraph(g *Graph) error {
	switch {
	case g.freed:
		return ErrFreed
	case g.owner != r.dev:
		return ErrForeign
	}
	return nil
}
