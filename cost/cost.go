// Package cost computes the lengths of a batch's routes, in the ways a trainer
// may do it: a plain loop on the host, one route at a time on the device,
// padded and vectorised on the device, or one kernel for everything. All give
// the same costs; what they launch, copy and wait for differs.
//
//  1. Variants lists them; Named finds one by name.
//  2. Open makes a Method on a recorder's device.
//  3. Load puts a batch's distances where the method reads them; Cost computes;
//     Costs brings the result to the host.
package cost

import (
	"fmt"

	"gputax/device"
	"gputax/vrp"
)

// Method computes route costs in one way. It may be used for many batches, one
// after the other.
type Method interface {
	// Load makes the distances of b available to Cost.
	Load(b *vrp.Batch) error
	// Use is Load for distances that already are in the device's memory, laid
	// out as in b; the caller keeps dist until Close. Methods on the host read
	// b's own.
	Use(b *vrp.Batch, dist device.Buffer) error
	// Cost computes the cost of each route on the batch loaded last: of one
	// route an instance, or of several, where route i belongs to instance i mod
	// the batch. Device work may still be running when it returns.
	Cost(r *vrp.Routes) error
	// Costs waits for the last Cost and copies its result to dst, one number a
	// route.
	Costs(dst []float32) error
	// Result is where the last Cost leaves its result on the device, one
	// number a route; empty for methods on the host.
	Result() device.Buffer
	// Close frees what the method holds.
	Close() error
}

// Variant is one way, by name.
type Variant struct {
	Name  string
	About string
	Open  func(rec *device.Recorder) (Method, error)
}

// Variants are all ways, the reference first. A new one is a file of its own
// and a line here.
var Variants = []Variant{
	{"loop", "a plain loop on the host; nothing moves", openLoop},
	{"per_route", "on the device, one route and one edge at a time", openPerRoute},
	{"per_route_item", "the same, and every route's cost read back by itself", openPerRouteItem},
	{"padded", "on the device: pad, mask, stack, index, gather, sum", openPadded},
	{"fused", "on the device: one kernel for the batch, captured once, which reads the routes from pinned memory", openFused},
}

// Names are the names of Variants.
func Names() []string {
	names := make([]string, len(Variants))
	for i, v := range Variants {
		names[i] = v.Name
	}
	return names
}

// Named is the variant of that name.
func Named(name string) (Variant, error) {
	for _, v := range Variants {
		if v.Name == name {
			return v, nil
		}
	}
	return Variant{}, fmt.Errorf("cost: no variant %q; there are %q", name, Names())
}

// checkRoutes refuses routes that would read outside the distances of b.
func checkRoutes(b *vrp.Batch, r *vrp.Routes) error {
	if err := checkCount(b, r); err != nil {
		return err
	}
	return checkNodes(b, r)
}

// checkCount refuses routes that are not so many for every instance of b.
func checkCount(b *vrp.Batch, r *vrp.Routes) error {
	if b == nil {
		return fmt.Errorf("cost: no batch is loaded")
	}
	if b.B == 0 && r.Len() != 0 || b.B != 0 && r.Len()%b.B != 0 {
		return fmt.Errorf("cost: %d routes for a batch of %d instances; want as many or a multiple", r.Len(), b.B)
	}
	return nil
}

// checkNodes refuses routes to nodes that b does not have.
func checkNodes(b *vrp.Batch, r *vrp.Routes) error {
	if highest(r.Nodes) < uint32(b.Nodes()) {
		return nil
	}
	for _, v := range r.Nodes {
		if v < 0 || int(v) >= b.Nodes() {
			return fmt.Errorf("cost: a route visits node %d; there are %d", v, b.Nodes())
		}
	}
	return nil
}

// highest is the highest of nodes, where negative ones are highest of all. Four
// at a time it takes a quarter of the time of a plain search.
func highest(nodes []int32) uint32 {
	var a, b, c, d uint32
	for ; len(nodes) >= 4; nodes = nodes[4:] {
		a, b = max(a, uint32(nodes[0])), max(b, uint32(nodes[1]))
		c, d = max(c, uint32(nodes[2])), max(d, uint32(nodes[3]))
	}
	for _, v := range nodes {
		a = max(a, uint32(v))
	}
	return max(a, b, c, d)
}
