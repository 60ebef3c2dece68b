package transfer

import (
	"errors"
	"fmt"

	"gputax/device"
)

// Launcher runs n tiny kernels.
type Launcher interface {
	// Launch runs them all. They may still be running when it returns.
	Launch() error
	// Count is how many kernels have run since the launcher was opened.
	Count() (int, error)
	// Close frees what the launcher holds.
	Close() error
}

// Launch is one launch variant.
type Launch struct {
	Name  string
	About string
	Open  func(rec *device.Recorder, n int) (Launcher, error)
}

// Launches are all launch variants. A new one is a line here and its Open.
var Launches = []Launch{
	{"launch", "one after the other, nothing waits", openPlain},
	{"launch_sync", "one after the other, the host waits for each", openSynced},
	{"graph", "captured once, replayed as one", openReplayed},
	{"streams", "dealt over four streams", openStreams},
}

// NamedLaunch is the launch variant of that name.
func NamedLaunch(name string) (Launch, error) {
	for _, l := range Launches {
		if l.Name == name {
			return l, nil
		}
	}
	return Launch{}, fmt.Errorf("transfer: no launch variant %q", name)
}

// tick is counter[0]++: as little as a kernel can do.
var tick = &device.Kernel{
	Symbol: "transfer_tick",
	Module: module,
	Dims:   oneWarp,
	Params: []device.Param{{Name: "counter"}},
	Check:  func(a device.Args) error { return a.Need(0, 1) },
	Work:   func(device.Args) device.Work { return device.Work{ReadBytes: 4, WriteBytes: 4} },
	Body:   func(a device.Args) { a.I32(0)[0]++ },
}

// counters is one counter a stream, so that streams do not race.
type counters struct {
	rec     *device.Recorder
	n       int
	streams []device.Stream
	buf     device.Buffer
}

func openCounters(rec *device.Recorder, n, streams int) (counters, error) {
	if n < 0 {
		return counters{}, fmt.Errorf("transfer: %d launches", n)
	}
	buf, err := rec.Alloc(4 * streams)
	if err != nil {
		return counters{}, err
	}
	c := counters{rec: rec, n: n, buf: buf, streams: []device.Stream{device.Default}}
	for len(c.streams) < streams {
		s, err := rec.NewStream()
		if err != nil {
			return counters{}, err
		}
		c.streams = append(c.streams, s)
	}
	return c, nil
}

// tick queues kernel i on its stream.
func (c *counters) tick(i int) error {
	i %= len(c.streams)
	return c.rec.Launch(c.streams[i], tick, device.Buf(c.buf.Slice(4*i, 4)))
}

// Launch is the plain variant, over the streams there are.
func (c *counters) Launch() error {
	for i := range c.n {
		if err := c.tick(i); err != nil {
			return err
		}
	}
	return nil
}

func (c *counters) Count() (int, error) {
	got := make([]int32, len(c.streams))
	err := errors.Join(c.rec.Drain(), c.rec.Download(device.Bytes(got), c.buf))
	sum := 0
	for _, v := range got {
		sum += int(v)
	}
	return sum, err
}

func (c *counters) Close() error { return errors.Join(c.rec.Drain(), c.rec.Free(c.buf)) }

func openPlain(rec *device.Recorder, n int) (Launcher, error) {
	c, err := openCounters(rec, n, 1)
	return &c, err
}

func openStreams(rec *device.Recorder, n int) (Launcher, error) {
	c, err := openCounters(rec, n, 4)
	return &c, err
}

// synced waits after every launch.
type synced struct{ counters }

func openSynced(rec *device.Recorder, n int) (Launcher, error) {
	c, err := openCounters(rec, n, 1)
	return &synced{c}, err
}

func (s *synced) Launch() error {
	for i := range s.n {
		if err := s.tick(i); err != nil {
			return err
		}
		if err := s.rec.Sync(device.Default); err != nil {
			return err
		}
	}
	return nil
}

// replayed runs a graph of all launches.
type replayed struct {
	counters
	graph *device.Graph
}

func openReplayed(rec *device.Recorder, n int) (Launcher, error) {
	c, err := openCounters(rec, n, 1)
	if err != nil {
		return nil, err
	}
	r := &replayed{counters: c}
	if err := rec.BeginCapture(device.Default); err != nil {
		return nil, err
	}
	err = r.counters.Launch()
	graph, endErr := rec.EndCapture()
	r.graph = graph
	return r, errors.Join(err, endErr)
}

func (r *replayed) Launch() error { return r.rec.Replay(device.Default, r.graph) }

func (r *replayed) Close() error {
	return errors.Join(r.rec.Drain(), r.rec.FreeGraph(r.graph), r.counters.Close())
}
