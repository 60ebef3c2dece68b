package model

import (
	"fmt"
	"testing"

	"gputax/device"
)

// calls is how many calls a captured graph holds: enough for its launch not to
// show.
const calls = 20

// replayed times a graph of calls of run and reports one call's time.
func replayed(b *testing.B, rec *device.Recorder, run func() error) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	must(run()) // compiles, and sets what a capture may not
	must(rec.Sync(device.Default))
	must(rec.BeginCapture(device.Default))
	for range calls {
		must(run())
	}
	graph, err := rec.EndCapture()
	must(err)
	must(rec.Replay(device.Default, graph))
	must(rec.Sync(device.Default))
	for b.Loop() {
		must(rec.Replay(device.Default, graph))
		must(rec.Sync(device.Default))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls/1000, "us/call")
	b.ReportMetric(0, "ns/op")
	must(rec.FreeGraph(graph))
}

// BenchmarkCard is the methods on the card at the reference size, and every
// product that they launch.
func BenchmarkCard(b *testing.B) {
	card := openCard(b)
	for _, tf32 := range []bool{false, true} {
		for _, ways := range []struct {
			opt                                 Options
			rollout, encode, evaluate, backward string // names; none for what the options do not change
		}{
			{Options{TF32: tf32}, "rollout_steps", "encode", "evaluate", "backward"},
			{Options{TF32: tf32, Rollout: RolloutFused, Layers: LayersFused}, "rollout_fused", "encode_fused", "", "backward_fused"},
		} {
			f := newFixture(b, card, Tiny(), 128, ways.opt)
			f.step()
			for _, p := range []struct {
				name string
				run  func() error
			}{
				{ways.rollout, func() error { return f.Rollout(f.params, false) }},
				{ways.encode, func() error { return f.Encode(f.params) }},
				{ways.evaluate, func() error { return f.Evaluate(f.params) }},
				{ways.backward, func() error { return f.Backward(f.params) }},
			} {
				if p.name != "" {
					b.Run(fmt.Sprintf("part=%s/tf32=%v", p.name, tf32), func(b *testing.B) { replayed(b, f.rec, p.run) })
				}
			}
			f.must(f.Close())
			f.must(f.rec.Free(f.params))
		}
	}
	for _, k := range []struct {
		name   string
		kernel [2]*device.Kernel
		sizes  [][3]int
	}{
		{"nn", [2]*device.Kernel{plainProducts.nn, tensorProducts.nn},
			[][3]int{{1408, 384, 128}, {1408, 128, 128}, {1408, 512, 128}, {1408, 128, 512}, {2560, 128, 129}, {2560, 128, 128}, {128, 128, 128}}},
		{"nt", [2]*device.Kernel{plainProducts.nt, tensorProducts.nt},
			[][3]int{{1408, 128, 384}, {1408, 128, 128}, {1408, 512, 128}, {1408, 128, 512}, {2560, 128, 128}, {128, 128, 128}}},
		{"tn", [2]*device.Kernel{plainProducts.tn, tensorProducts.tn},
			[][3]int{{128, 384, 1408}, {128, 128, 1408}, {512, 128, 1408}, {128, 512, 1408}, {128, 128, 2560}, {129, 128, 2560}, {128, 128, 128}}},
	} {
		for i, kernel := range k.kernel {
			for _, s := range k.sizes {
				name := fmt.Sprintf("product=%s/m=%d/n=%d/k=%d/tf32=%v", k.name, s[0], s[1], s[2], i == 1)
				b.Run(name, func(b *testing.B) { benchmarkProduct(b, card, kernel, s, k.name) })
			}
		}
	}
}

func benchmarkProduct(b *testing.B, card device.Device, kernel *device.Kernel, s [3]int, op string) {
	rec := device.NewRecorder(card)
	var bufs [3]device.Buffer
	for i, n := range []int{s[0] * s[1], s[0] * s[2], s[2] * s[1]} {
		var err error
		if bufs[i], err = rec.Alloc(4 * n); err != nil {
			b.Fatal(err)
		}
	}
	m, n, k := device.Int(s[0]), device.Int(s[1]), device.Int(s[2])
	lda, ldb := k, n
	switch op {
	case "nt":
		ldb = k
	case "tn":
		lda = m
	}
	replayed(b, rec, func() error {
		return rec.Launch(device.Default, kernel, device.Buf(bufs[0]), device.Buf(bufs[1]), device.Buf(bufs[2]), device.Buf(device.Buffer{}),
			m, n, k, lda, ldb, n, device.Int(0), device.Int(0))
	})
	for _, buf := range bufs {
		if err := rec.Free(buf); err != nil {
			b.Error(err)
		}
	}
}
