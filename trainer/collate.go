package trainer

import (
	"gputax/device"
	"gputax/vrp"
)

// collated is a batch as the model takes it: coordinates, and demands in units
// of the capacity.
type collated struct {
	coords  []float32
	demands []float32
	list    [][]float32 // items on their way, where they are appended
}

// collate fills c from b, in the way the factor says.
func (c *collated) collate(rec *device.Recorder, how string, b *vrp.Batch) {
	bytes := int64(4 * (len(b.Coords) + len(b.Demands)))
	if how == "append" {
		c.append(b)
		// Two small arrays and two calls an item, then one stacking of each list.
		rec.HostWork(device.HostWork{Calls: int64(4*b.B + 2), Items: int64(len(b.Demands)), Bytes: 2 * bytes})
		return
	}
	if len(c.coords) != len(b.Coords) {
		c.coords, c.demands = make([]float32, len(b.Coords)), make([]float32, len(b.Demands))
	}
	copy(c.coords, b.Coords)
	normalise(c.demands, b.Demands, b.Capacity)
	rec.HostWork(device.HostWork{Calls: 2, Bytes: bytes})
}

// append is what write-up 004 found: every item becomes small arrays of its
// own, lists grow by appending, and each list is stacked into a new array.
func (c *collated) append(b *vrp.Batch) {
	c.list = nil
	for i := range b.B {
		c.list = append(c.list, append([]float32(nil), b.CoordsOf(i)...))
	}
	c.coords = stack(c.list)
	c.list = nil
	for i := range b.B {
		item := make([]float32, b.Nodes())
		normalise(item, b.DemandsOf(i), b.Capacity)
		c.list = append(c.list, item)
	}
	c.demands = stack(c.list)
}

func stack(list [][]float32) []float32 {
	var out []float32
	for _, item := range list {
		out = append(out, item...)
	}
	return out
}

func normalise(dst []float32, demands []int32, capacity int) {
	for i, d := range demands {
		dst[i] = float32(d) / float32(capacity)
	}
}
