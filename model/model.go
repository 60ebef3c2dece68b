package model

import (
	"errors"
	"fmt"

	"gputax/device"
)

// Embed is how Encode embeds the nodes. All ways give the same bits.
type Embed uint8

const (
	EmbedVectorized Embed = iota // one launch for all tokens
	EmbedHoisted                 // one launch for each kind of token; the kinds' tensors are made once, by New
	EmbedPerToken                // for every token: a tensor of its kind allocated and uploaded, one launch, a free
)

func (e Embed) String() string {
	if e > EmbedPerToken {
		return fmt.Sprintf("Embed(%d)", uint8(e))
	}
	return [...]string{"vectorized", "hoisted", "per_token"}[e]
}

// Rollout is how Rollout decodes. The ways differ by rounding.
type Rollout uint8

const (
	RolloutSteps Rollout = iota // seven launches a decoding step
	RolloutFused                // one launch for all steps, after two products for all nodes
)

func (r Rollout) String() string {
	if r > RolloutFused {
		return fmt.Sprintf("Rollout(%d)", uint8(r))
	}
	return [...]string{"steps", "fused"}[r]
}

// Layers is how the encoder's layers run. The ways differ by rounding.
type Layers uint8

const (
	LayersParts Layers = iota // seven launches a layer, and fourteen back
	LayersFused               // one launch, and two back, for up to 32 nodes; in parts where a layer does not fit the device
)

func (l Layers) String() string {
	if l > LayersFused {
		return fmt.Sprintf("Layers(%d)", uint8(l))
	}
	return [...]string{"parts", "fused"}[l]
}

// Options are ways to compute the same.
type Options struct {
	Embed   Embed
	Layers  Layers
	Rollout Rollout
	TF32    bool // matrix products may use the matrix units
}

// Model is a workspace for batches of one size on one device, and the work on
// it. All launches go to the default stream; nothing waits for them. With any
// Embed but EmbedPerToken all methods can be captured in a graph. It belongs to
// its recorder's goroutine.
type Model struct {
	// What the caller fills in.
	Coords    device.Buffer // float32 [batch, nodes, 2]
	Demands   device.Buffer // float32 [batch, nodes]: in units of the capacity; the depot's is 0
	Control   device.Buffer // int32 [4]: seed's low and high word, step number, unused; Rollout draws from these
	Advantage device.Buffer // float32 [batch]: what Backward weighs each instance's log-probability with

	// What the caller reads.
	Actions device.Buffer // int32 [batch, steps]: nodes, by Rollout, or by the caller for Evaluate
	LogProb device.Buffer // float32 [batch]: of the actions, by the last Rollout or Evaluate
	Grads   device.Buffer // float32 [Layout.Size], by Backward

	rec     *device.Recorder
	cfg     Config
	layout  *Layout
	batch   int
	opt     Options
	mm      products
	whole   *layerKernels   // where layers are fused
	buffers []device.Buffer // all of them, for Close
	kinds   [2]device.Buffer
	err     error        // the first since the current method began
	args    []device.Arg // of launchOn

	enc  encoderSpace
	roll rolloutSpace
	eval evaluateSpace
	grad gradientSpace
}

// New allocates the workspace for batches of batch instances. Close frees it.
func New(rec *device.Recorder, cfg Config, batch int, opt Options) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if batch < 1 {
		return nil, fmt.Errorf("model: a batch of %d instances: want at least 1", batch)
	}
	if opt.Embed > EmbedPerToken {
		return nil, fmt.Errorf("model: no way to embed is %v; there are 0 to %d", opt.Embed, EmbedPerToken)
	}
	if opt.Rollout > RolloutFused {
		return nil, fmt.Errorf("model: no way to decode is %v; there are 0 to %d", opt.Rollout, RolloutFused)
	}
	if opt.Layers > LayersFused {
		return nil, fmt.Errorf("model: no way to run layers is %v; there are 0 to %d", opt.Layers, LayersFused)
	}
	m := &Model{rec: rec, cfg: cfg, layout: NewLayout(cfg), batch: batch, opt: opt, mm: plainProducts}
	fused := &plainLayer
	if opt.TF32 {
		m.mm, fused = tensorProducts, &tensorLayer
	}
	if size := m.layerSize(); opt.Layers == LayersFused && size.fits() && 4*size.shared() <= rec.Device().SharedMemory() {
		m.whole = fused
	}
	if n := 4 * rolloutShared(cfg.Nodes(), cfg.Width, cfg.Heads); opt.Rollout == RolloutFused && n > rec.Device().SharedMemory() {
		return nil, fmt.Errorf("model: the fused rollout of %d nodes takes %d bytes of shared memory, and a block of %s has %d; decode in steps", cfg.Nodes(), n, rec.Device().Name(), rec.Device().SharedMemory())
	}
	m.allocate()
	if opt.Embed == EmbedHoisted {
		m.uploadKinds()
	}
	if m.err != nil {
		err := fmt.Errorf("model: a workspace for %d instances: %w", batch, m.err)
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Config is the model's size.
func (m *Model) Config() Config { return m.cfg }

// Layout is the layout of the parameters and of Grads.
func (m *Model) Layout() *Layout { return m.layout }

// Batch is the number of instances of a batch.
func (m *Model) Batch() int { return m.batch }

// Close frees the workspace.
func (m *Model) Close() error {
	var err error
	for _, b := range m.buffers {
		err = errors.Join(err, m.rec.Free(b))
	}
	m.buffers = nil
	return err
}

// tokenKinds are what the kinds' tensors hold.
var tokenKinds = [2]int32{depotToken, customerToken}

// uploadKinds makes a tensor for each kind of token.
func (m *Model) uploadKinds() {
	for i := range m.kinds {
		m.floats(&m.kinds[i], 1)
		if m.err == nil {
			m.err = m.rec.Upload(m.kinds[i], device.Bytes(tokenKinds[i:i+1]))
		}
	}
}

// floats allocates n elements of four bytes.
func (m *Model) floats(b *device.Buffer, n int) {
	if m.err != nil {
		return
	}
	if *b, m.err = m.rec.Alloc(4 * n); m.err == nil {
		m.buffers = append(m.buffers, *b)
	}
}

// bytes allocates n bytes, rounded up to whole elements.
func (m *Model) bytes(b *device.Buffer, n int) { m.floats(b, words(n)) }

// begin starts a method that takes params.
func (m *Model) begin(what string, params device.Buffer) error {
	m.err = nil
	if want := 4 * m.layout.Size; params.Size() < want {
		return fmt.Errorf("model: %s: parameters of %d bytes, want %d", what, params.Size(), want)
	}
	return nil
}

// launch launches k unless something failed before.
func (m *Model) launch(k *device.Kernel, args ...device.Arg) {
	if m.err == nil {
		m.err = m.rec.Launch(device.Default, k, args...)
	}
}

// launchOn launches a kernel that takes buffers and then ints.
func (m *Model) launchOn(k *device.Kernel, buffers []device.Buffer, ints ...int) {
	m.args = m.args[:0]
	for _, b := range buffers {
		m.args = append(m.args, device.Buf(b))
	}
	for _, n := range ints {
		m.args = append(m.args, device.Int(n))
	}
	m.launch(k, m.args...)
}

// product is one matrix product with rows side by side.
type product struct {
	c, a, b, bias    device.Buffer
	m, n, k          int
	relu, accumulate bool
}

// nn launches c = a*b: a is m x k, b is k x n.
func (m *Model) nn(p product) { m.multiply(m.mm.nn, &p, p.k, p.n) }

// nt launches c = a*b': a is m x k, b is n x k.
func (m *Model) nt(p product) { m.multiply(m.mm.nt, &p, p.k, p.k) }

// tn launches c = a'*b: a is k x m, b is k x n.
func (m *Model) tn(p product) { m.multiply(m.mm.tn, &p, p.m, p.n) }

func (m *Model) multiply(k *device.Kernel, p *product, lda, ldb int) {
	m.launch(k, device.Buf(p.c), device.Buf(p.a), device.Buf(p.b), device.Buf(p.bias),
		device.Int(p.m), device.Int(p.n), device.Int(p.k), device.Int(lda), device.Int(ldb), device.Int(p.n),
		flag(p.relu), flag(p.accumulate))
}

func flag(b bool) device.Arg {
	if b {
		return device.Int(1)
	}
	return device.Int(0)
}
