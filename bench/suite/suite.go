// Package suite is this project's own matrix of benchmarks, shared by
// go test -bench ./bench and by gputax run. A new benchmark is a file with a
// function that returns its cases, and a line in Cases.
package suite

import (
	"fmt"

	"gputax/bench"
	"gputax/trainer"
	"gputax/vrp"
)

// Options say which form of the matrix is meant.
type Options struct {
	Full bool // whole epochs, instead of a few steps
	// HostEngine adds the epoch's variants that compute on the host by another
	// library; nil leaves them out.
	HostEngine trainer.HostEngine
}

// Cases is the whole matrix, in the order it runs.
func Cases(o Options) []bench.Case {
	var all []bench.Case
	all = append(all, epochCases(o)...)
	all = append(all, costCases()...)
	all = append(all, transferCases()...)
	all = append(all, launchCases()...)
	return all
}

// Named is the cases of one benchmark.
func Named(name string, o Options) []bench.Case {
	var some []bench.Case
	for _, c := range Cases(o) {
		if c.Bench == name {
			some = append(some, c)
		}
	}
	return some
}

// shape is one size of batch.
type shape struct{ batch, customers int }

// shapes are the sizes the batch benchmarks run at; the first is the
// reference of the write-ups.
var shapes = []shape{{128, 10}, {512, 20}, {512, 100}}

func (s shape) params() string { return fmt.Sprintf("batch=%d/n=%d", s.batch, s.customers) }

// seed draws the instances and routes of every benchmark.
const seed = 1

// generate is the benchmarks' batch of that shape, the same in every run.
func (s shape) generate() (*vrp.Batch, error) {
	size, err := vrp.SizeOf(s.customers)
	if err != nil {
		return nil, err
	}
	return vrp.Generate(s.batch, size, seed)
}
