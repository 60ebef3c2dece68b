// Package model is the graph transformer of the reference workload, forward and
// backward, written once as kernels on the device seam.
//
//  1. Config gives the sizes; NewLayout lays all parameters out in one flat
//     array; Save and Load keep that array in a file.
//  2. New allocates a workspace for one batch size on a recorder's device.
//  3. Encode embeds the nodes and runs the encoder; Rollout decodes a route for
//     every instance, without gradients; Evaluate computes the log-probability
//     of those routes, all steps at once; Backward writes its gradient.
//  4. Routes turns the actions into routes.
//  5. On a CUDA device the kernels run in their compiled form: encoder.cu,
//     decoder.cu, matmul.cu and rollout.cu, laid out by compiled.go.
//
// Every kernel's Go body gives the same bits for any number of threads. The
// package model/gorgonia builds the same loss in another library with its own
// differentiation; the tests hold this one to it.
package model

import (
	"fmt"

	"gputax/vrp"
)

// Config is the size of the problem and of the network.
type Config struct {
	Customers int `json:"customers"`
	Capacity  int `json:"capacity"`
	Width     int `json:"width"`  // of a node's embedding
	Heads     int `json:"heads"`  // of every attention; divides Width
	Layers    int `json:"layers"` // of the encoder
	Hidden    int `json:"hidden"` // width of the feed-forward part
}

// Tiny is the reference workload's.
func Tiny() Config {
	return Config{Customers: 10, Capacity: 20, Width: 128, Heads: 8, Layers: 3, Hidden: 512}
}

// Validate says what is wrong with c.
func (c Config) Validate() error {
	size := vrp.Size{Customers: c.Customers, Capacity: c.Capacity}
	if err := size.Validate(); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	switch {
	case c.Width < 1 || c.Heads < 1 || c.Layers < 1 || c.Hidden < 1:
		return fmt.Errorf("model: width %d, heads %d, layers %d, hidden %d: want at least 1 of each",
			c.Width, c.Heads, c.Layers, c.Hidden)
	case c.Width%c.Heads != 0:
		return fmt.Errorf("model: width %d is not divided by %d heads", c.Width, c.Heads)
	case max(c.Customers, c.Width, c.Layers, c.Hidden) > 1<<16:
		return fmt.Errorf("model: customers %d, width %d, layers %d, hidden %d: want at most %d of each",
			c.Customers, c.Width, c.Layers, c.Hidden, 1<<16)
	}
	return nil
}

// Nodes is the number of nodes of an instance, depot included.
func (c Config) Nodes() int { return c.Customers + 1 }

// Steps is the number of decoding steps: enough to return to the depot after
// every customer.
func (c Config) Steps() int { return 2 * c.Customers }

// HeadDim is the width of one head.
func (c Config) HeadDim() int { return c.Width / c.Heads }
