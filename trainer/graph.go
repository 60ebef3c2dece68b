package trainer

import (
	"errors"

	"gputax/device"
)

// stepGraphs is a step, captured: whole where the costs are device work, else
// in two parts with the costs between them.
type stepGraphs struct {
	before, after *device.Graph
}

// replay runs a step from its graphs, captured the first time.
func (t *Trainer) replay() error {
	if t.graphs.before == nil {
		g, err := t.capture()
		if err != nil {
			return errors.Join(err, g.close(t.rec))
		}
		t.graphs = g
	}
	t.rec.Phase("graph")
	if err := t.rec.Replay(device.Default, t.graphs.before); err != nil || t.stage.inGraph() {
		return err
	}
	if err := t.stage.cost(); err != nil {
		return err
	}
	t.rec.Phase("graph")
	return t.rec.Replay(device.Default, t.graphs.after)
}

// capture captures the step; nothing runs.
func (t *Trainer) capture() (g stepGraphs, err error) {
	if t.stage.inGraph() {
		g.before, err = t.captured(t.draw, t.rollouts, t.stage.cost, t.learn)
		return g, err
	}
	if g.before, err = t.captured(t.draw, t.rollouts); err != nil {
		return g, err
	}
	g.after, err = t.captured(t.learn)
	return g, err
}

// captured is the graph of what parts issue.
func (t *Trainer) captured(parts ...func() error) (*device.Graph, error) {
	if err := t.rec.BeginCapture(device.Default); err != nil {
		return nil, err
	}
	var err error
	for _, part := range parts {
		err = errors.Join(err, part())
	}
	g, endErr := t.rec.EndCapture()
	return g, errors.Join(err, endErr)
}

func (g *stepGraphs) close(rec *device.Recorder) error {
	return errors.Join(rec.FreeGraph(g.before), rec.FreeGraph(g.after))
}
