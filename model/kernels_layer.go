package model

import (
	"fmt"

	"gputax/device"
	"gputax/device/host/f32"
)

// layerKernels are an encoder layer in as few kernels as it takes: all of it
// forward, all of it backward, and the gradients of its parameters, for which
// the rows of all instances must meet.
type layerKernels struct {
	forward, backward, gradients *device.Kernel
}

// plainLayer is in single precision; tensorLayer may use the matrix units for
// its products.
var (
	plainLayer  = newLayer("", false)
	tensorLayer = newLayer("_tf32", true)
)

func newLayer(suffix string, tensors bool) layerKernels {
	return layerKernels{newLayerForward("model_layer"+suffix, tensors), newLayerBackward("model_layer_backward"+suffix, tensors),
		newLayerGradients("model_layer_gradients"+suffix, tensors)}
}

// layerSize is the ints that the kernels end with.
type layerSize struct{ batch, nodes, width, heads, hidden int }

const layerInts = "batch nodes width heads hidden"

func layerSizeAt(a device.Args, first int) layerSize {
	return layerSize{a.Int(first), a.Int(first + 1), a.Int(first + 2), a.Int(first + 3), a.Int(first + 4)}
}

// What a block of the compiled kernels can hold: nodes of an instance, columns of
// a product, columns of a row in a warp's registers, and bytes.
const (
	layerNodes   = 32
	layerColumns = 512
	layerWidth   = 128
	layerShared  = 227 << 10
)

// fits says whether the compiled kernels can do a layer of that size: an
// instance's nodes must fit into the rows of a block, matrices divide into
// squares of 32, and heads into fours.
func (s layerSize) fits() bool {
	if s.nodes < 1 || s.nodes > layerNodes || s.heads < 1 || s.width < 1 || s.width > layerWidth || s.hidden < 1 {
		return false
	}
	squares := s.width%32 == 0 && s.hidden%32 == 0 && s.width%(4*s.heads) == 0 && s.wide() <= layerColumns
	pairs := s.tall() / s.nodes * s.nodes * s.heads * s.nodes // of a block
	return squares && s.heads*s.nodes <= 576 && pairs <= s.sums() && 2*pairs <= s.room(s.wide()) && 4*s.shared() <= layerShared
}

// wide is the columns of the widest matrix that a block holds.
func (s layerSize) wide() int { return max(s.hidden, 3*s.width) }

// shared is the elements of shared memory of a block: two matrices of its rows,
// the hidden ones, the sums of a product, and the queries, keys and values.
func (s layerSize) shared() int {
	return 2*s.room(s.width) + s.room(s.wide()) + s.sums() + s.room(3*s.width)
}

// tall is the rows of a block's matrices: the fewest that tensor cores take, or
// twice that.
func (s layerSize) tall() int {
	if s.nodes <= 16 {
		return 16
	}
	return 32
}

// room is the elements that a block's matrix of so many columns takes, with the
// gaps that spread it over the banks.
func (s layerSize) room(columns int) int { return 17*s.tall()/16*columns + 4*s.tall() }

// sums is the elements of a product's sums: 16 warps have 32 columns each.
func (s layerSize) sums() int { return 16 * 36 * s.tall() }

// parts is how many blocks the batch takes, of so many instances each.
func (s layerSize) parts() (parts, instances int) {
	instances = s.tall() / s.nodes
	return (s.batch + instances - 1) / instances, instances
}

func (s layerSize) dims() device.Dims {
	parts, _ := s.parts()
	return device.Dims{X: parts, Threads: 512, Shared: 4 * s.shared()}
}

// needs refuses a layer that does not fit, buffers whose elements cannot be read
// four at a time, and what needs refuses.
func (s layerSize) needs(a device.Args, sizes ...int) error {
	for i := range a {
		if a.Kind(i) == device.KindBuffer && a.Buffer(i).Addr()%16 != 0 {
			return fmt.Errorf("argument %d begins at no multiple of 16 bytes: %w", i, device.ErrArguments)
		}
	}
	if !s.fits() {
		return fmt.Errorf("a layer of %d nodes, width %d, %d heads and %d hidden units does not fit: %w", s.nodes, s.width, s.heads, s.hidden, device.ErrArguments)
	}
	return needs(a, sizes...)
}

func (s layerSize) rows() int  { return s.batch * s.nodes }
func (s layerSize) pairs() int { return s.rows() * s.heads * s.nodes }

// weights is how many elements the four matrices have.
func (s layerSize) weights() int { return s.width * (4*s.width + 2*s.hidden) }

// attention is the shape of the attention among an instance's nodes.
func (s layerSize) attention() *f32.AttentionShape {
	dim, w := s.width/s.heads, s.width
	return &f32.AttentionShape{Batch: s.batch, Heads: s.heads, Queries: s.nodes, Keys: s.nodes, HeadDim: dim,
		LDQ: 3 * w, LDK: 3 * w, LDV: 3 * w, LDO: w, Scale: invSqrt(dim)}
}

// multiply is a product of rows that lie side by side.
func multiply(op f32.Trans, c, a, b []float32, m, n, k int, p f32.MatMul) {
	p.Op, p.M, p.N, p.K, p.A, p.B, p.C, p.LDA, p.LDB, p.LDC = op, m, n, k, a, b, c, k, n, n
	switch op {
	case f32.NT:
		p.LDB = k
	case f32.TN:
		p.LDA = m
	}
	p.Run()
}

// layerWork is work whose products may use the matrix units.
func layerWork(tensors bool, products, other, read, written int) device.Work {
	w := traffic(other, read, written)
	if tensors {
		w.TensorFlops = int64(products)
	} else {
		w.Flops += int64(products)
	}
	return w
}

// newLayerForward is an encoder layer: what encodeLayer launches, all at once.
func newLayerForward(symbol string, tensors bool) *device.Kernel {
	const size = 23
	return &device.Kernel{
		Symbol: symbol,
		Params: signature("out x qkv probs att sum1 mean1 rstd1 mid hid sum2 mean2 rstd2 "+
			"wqkv wout gamma1 beta1 w1 b1 w2 b2 gamma2 beta2", layerInts, ""),
		Check: func(a device.Args) error {
			s := layerSizeAt(a, size)
			rows, w, f := s.rows(), s.width, s.hidden
			n := rows * w
			return s.needs(a, n, n, 3*n, s.pairs(), n, n, rows, rows, n, rows*f, n, rows, rows,
				3*w*w, w*w, w, w, w*f, f, f*w, w, w, w)
		},
		Work: func(a device.Args) device.Work {
			s := layerSizeAt(a, size)
			n := s.rows() * s.width
			return layerWork(tensors, 2*s.rows()*s.weights(), 4*n*s.nodes+5*s.pairs()+16*n, n+s.weights()+5*s.width+s.hidden,
				8*n+s.pairs()+s.rows()*(s.hidden+4))
		},
		Body: func(a device.Args) {
			s := layerSizeAt(a, size)
			rows, w, f := s.rows(), s.width, s.hidden
			out, x, qkv, att, sum1, mid, hidden, sum2 := a.F32(0), a.F32(1), a.F32(2), a.F32(4), a.F32(5), a.F32(8), a.F32(9), a.F32(10)
			multiply(f32.NN, qkv, x, a.F32(13), rows, 3*w, w, f32.MatMul{})
			f32.Attention(att, a.F32(3), qkv, qkv[w:], qkv[2*w:], s.attention())
			multiply(f32.NN, sum1, att, a.F32(14), rows, w, w, f32.MatMul{})
			f32.AddLayerNorm(mid, sum1, x, sum1, a.F32(15), a.F32(16), a.F32(6), a.F32(7), rows, w, epsilon)
			multiply(f32.NN, hidden, mid, a.F32(17), rows, f, w, f32.MatMul{Bias: a.F32(18), ReLU: true})
			multiply(f32.NN, sum2, hidden, a.F32(19), rows, w, f, f32.MatMul{Bias: a.F32(20)})
			f32.AddLayerNorm(out, sum2, mid, sum2, a.F32(21), a.F32(22), a.F32(11), a.F32(12), rows, w, epsilon)
		},
		Module: layerModule,
		Dims:   func(a device.Args) device.Dims { return layerSizeAt(a, size).dims() },
	}
}

// newLayerBackward is the gradient of a layer's input: dx, which holds that of
// its output before. It keeps the gradients on the way that the parameters'
// are made of, and in norms, a row for each part of the batch, those of gamma2,
// beta2, gamma1 and beta1 by that part.
func newLayerBackward(symbol string, tensors bool) *device.Kernel {
	const size = 21
	return &device.Kernel{
		Symbol: symbol,
		Params: signature("dx dsum2 dhidden dsum1 dqkv norms sum2 mean2 rstd2 hid sum1 mean1 rstd1 probs qkv "+
			"wqkv wout gamma1 w1 w2 gamma2", layerInts, ""),
		Check: func(a device.Args) error {
			s := layerSizeAt(a, size)
			rows, w, f := s.rows(), s.width, s.hidden
			n := rows * w
			parts, _ := s.parts()
			return s.needs(a, n, n, rows*f, n, 3*n, parts*4*w, n, rows, rows, rows*f, n, rows, rows, s.pairs(), 3*n,
				3*w*w, w*w, w, w*f, f*w, w)
		},
		Work: func(a device.Args) device.Work {
			s := layerSizeAt(a, size)
			n := s.rows() * s.width
			parts, _ := s.parts()
			return layerWork(tensors, 2*s.rows()*s.weights(), 8*n*s.nodes+5*s.pairs()+24*n,
				6*n+s.rows()*(s.hidden+4)+s.pairs()+s.weights()+2*s.width, 6*n+s.rows()*s.hidden+parts*4*s.width)
		},
		Body: func(a device.Args) {
			s := layerSizeAt(a, size)
			rows, w, f := s.rows(), s.width, s.hidden
			n := rows * w
			dx, dsum2, dhidden, dsum1, dqkv := a.F32(0)[:n], a.F32(1)[:n], a.F32(2)[:rows*f], a.F32(3)[:n], a.F32(4)
			s.normBackward(dsum2, dx, a.F32(6), a.F32(20), a.F32(7), a.F32(8), a.F32(5))
			multiply(f32.NT, dhidden, dsum2, a.F32(19), rows, f, w, f32.MatMul{})
			f32.ReLUGrad(dhidden, dhidden, a.F32(9))
			copy(dx, dsum2)
			multiply(f32.NT, dx, dhidden, a.F32(18), rows, w, f, f32.MatMul{Accumulate: true})
			s.normBackward(dsum1, dx, a.F32(10), a.F32(17), a.F32(11), a.F32(12), a.F32(5)[2*w:])
			multiply(f32.NT, dx, dsum1, a.F32(16), rows, w, w, f32.MatMul{})
			qkv := a.F32(14)
			f32.AttentionBackward(dqkv, dqkv[w:], dqkv[2*w:], dx, a.F32(13), qkv, qkv[w:], qkv[2*w:], s.attention())
			copy(dx, dsum1)
			multiply(f32.NT, dx, dqkv, a.F32(15), rows, w, 3*w, f32.MatMul{Accumulate: true})
		},
		Module: layerModule,
		Dims:   func(a device.Args) device.Dims { return layerSizeAt(a, size).dims() },
	}
}

// normBackward is a layer norm's gradient, part by part: sums has those of gamma
// and beta in rows of four widths.
func (s layerSize) normBackward(dx, dy, x, gamma, mean, rstd, sums []float32) {
	parts, instances := s.parts()
	for p := range parts {
		from := p * instances * s.nodes
		rows, at := min(instances*s.nodes, s.rows()-from), from*s.width
		dgamma, dbeta := sums[p*4*s.width:][:s.width], sums[(p*4+1)*s.width:][:s.width]
		clear(dgamma)
		clear(dbeta)
		f32.LayerNormBackward(dx[at:], dy[at:], x[at:], gamma, mean[from:], rstd[from:], dgamma, dbeta, rows, s.width)
	}
}

// newLayerGradients is the gradients of a layer's parameters, from its
// activations and what newLayerBackward keeps.
func newLayerGradients(symbol string, tensors bool) *device.Kernel {
	const size = 19
	at := func(a device.Args) layerSize {
		return layerSize{a.Int(size), a.Int(size + 1), a.Int(size + 2), 1, a.Int(size + 3)}
	}
	return &device.Kernel{
		Symbol: symbol,
		Params: signature("dwqkv dwout dgamma1 dbeta1 dw1 db1 dw2 db2 dgamma2 dbeta2 x att mid hid dqkv dsum1 dhidden dsum2 norms",
			"batch nodes width hidden", ""),
		Check: func(a device.Args) error {
			s := at(a)
			rows, w, f := s.rows(), s.width, s.hidden
			n := rows * w
			parts, _ := s.parts()
			return s.needs(a, 3*w*w, w*w, w, w, w*f, f, f*w, w, w, w, n, n, n, rows*f, 3*n, n, rows*f, n, parts*4*w)
		},
		Work: func(a device.Args) device.Work {
			s := at(a)
			n := s.rows() * s.width
			parts, _ := s.parts()
			return layerWork(tensors, 2*s.rows()*s.weights(), n+s.rows()*s.hidden, 8*n+2*s.rows()*s.hidden+parts*4*s.width,
				s.weights()+5*s.width+s.hidden)
		},
		Body: func(a device.Args) {
			s := at(a)
			rows, w, f := s.rows(), s.width, s.hidden
			dqkv, dsum1, dhidden, dsum2, norms := a.F32(14), a.F32(15), a.F32(16), a.F32(17), a.F32(18)
			multiply(f32.TN, a.F32(4), a.F32(12), dhidden, w, f, rows, f32.MatMul{})
			multiply(f32.TN, a.F32(6), a.F32(13), dsum2, f, w, rows, f32.MatMul{})
			multiply(f32.TN, a.F32(0), a.F32(10), dqkv, w, 3*w, rows, f32.MatMul{})
			multiply(f32.TN, a.F32(1), a.F32(11), dsum1, w, w, rows, f32.MatMul{})
			f32.SumRows(a.F32(5), dhidden, rows, f, f, false)
			f32.SumRows(a.F32(7), dsum2, rows, w, w, false)
			parts, _ := s.parts()
			for i, p := range []int{8, 9, 2, 3} {
				f32.SumRows(a.F32(p), norms[i*w:], parts, w, 4*w, false)
			}
		},
		Module: layerModule,
		Dims: func(a device.Args) device.Dims {
			s := at(a)
			w, f := s.width/32, s.hidden/32
			return device.Dims{X: 2*w*f + 4*w*w + f + 5*w, Threads: 256, Shared: 4 * 8 * 32 * 36}
		},
	}
}
