package model

import (
	"testing"

	"gputax/device"
	"gputax/device/catalog"
	"gputax/device/devicetest"
)

// compiled is every kernel by the file it is compiled from.
var compiled = map[string][]*device.Kernel{
	"encoder.cu": {embed, embedTyped, embedBackward, sumRows, reluBackward, zero, addNorm, normBackward, meanNodes, sumSteps,
		attention, attentionBackward},
	"decoder.cu": {context, scores, choose, routeLogprobs, scoresGradient, scoresBackward, contextBackward, start, advance, replay},
	"layer.cu": {plainLayer.forward, plainLayer.backward, plainLayer.gradients,
		tensorLayer.forward, tensorLayer.backward, tensorLayer.gradients},
	"matmul.cu": {plainProducts.nn, plainProducts.nt, plainProducts.tn,
		tensorProducts.nn, tensorProducts.nt, tensorProducts.tn},
	"rollout.cu": {rollout},
}

func TestCompiled(t *testing.T) {
	for source, kernels := range compiled {
		devicetest.Compiled(t, source, kernels...)
	}
}

// openCard opens the first card, or skips the test.
func openCard(t testing.TB) device.Device {
	t.Helper()
	card, err := catalog.Open("cuda:0")
	if err != nil {
		t.Skipf("waits for a card: %v", err)
	}
	t.Cleanup(func() {
		if err := card.Close(); err != nil {
			t.Error(err)
		}
	})
	return card
}

// A product has one block for each tile, of the size that suits the card.
func TestProductDims(t *testing.T) {
	for _, c := range []struct{ m, n, plain, plainThreads, tensor, tensorThreads int }{
		{1408, 384, 132, 256, 132, 256}, {1408, 128, 176, 512, 176, 256}, {2560, 128, 320, 512, 80, 256},
		{128, 128, 16, 512, 16, 512}, {129, 128, 20, 512, 20, 512}, {1, 1, 1, 512, 1, 512}, {21000, 512, 2632, 256, 2632, 256},
		{0, 5, 0, 512, 0, 512},
	} {
		a := device.Args{{}, {}, {}, {}, device.Int(c.m), device.Int(c.n), device.Int(7)}
		if got, want := plainDims(a), (device.Dims{X: c.plain, Threads: c.plainThreads}); got != want {
			t.Errorf("plain %d x %d: %+v, want %+v", c.m, c.n, got, want)
		}
		if got, want := tensorDims(a), (device.Dims{X: c.tensor, Threads: c.tensorThreads}); got != want {
			t.Errorf("tensor %d x %d: %+v, want %+v", c.m, c.n, got, want)
		}
	}
}

// The fused rollout keeps nodes in shared memory as long as they fit, and then
// does without.
func TestRolloutShared(t *testing.T) {
	const card = 227 << 10
	staged := true
	for nodes := 2; nodes < 300; nodes++ {
		n := rolloutShared(nodes, 128, 8)
		if 4*n > card {
			t.Fatalf("%d nodes take %d bytes of shared memory, a card has %d", nodes, 4*n, card)
		}
		switch all := n > 4*nodes*128; {
		case all && !staged:
			t.Fatalf("%d nodes fit, fewer did not", nodes)
		case !all && nodes <= 101:
			t.Errorf("%d nodes do not fit", nodes)
		default:
			staged = all
		}
	}
	if staged {
		t.Error("300 nodes fit")
	}
}
