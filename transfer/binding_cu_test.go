//go:build cu

package transfer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"gputax/device"
	"gputax/device/catalog"
	_ "gputax/transfer/cushim" // cu ends the process where there is no card
)

// binding is one way from Go to the driver, with a counter and room for a copy
// on the card. A call may wait in a queue of the binding until flush.
type binding interface {
	launch() error
	launchSync() error
	upload(src []byte) error
	// flush returns when everything called for has happened.
	flush() error
	// count is how many kernels have run.
	count() (int, error)
	// download is what is on the card.
	download(dst []byte) error
	close() error
}

const (
	matrixBytes = 4 * 11 * 11       // one distance matrix at N=10
	batchBytes  = 128 * matrixBytes // a batch of them
)

// BenchmarkBinding is the price of one call by binding; docs/bindings.md says
// what is in each row.
func BenchmarkBinding(b *testing.B) {
	card, err := catalog.Open("cuda:0")
	if err != nil {
		b.Skipf("waits for a card: %v", err)
	}
	if err := card.Close(); err != nil {
		b.Fatal(err)
	}
	for _, v := range []struct {
		name string
		open func() (binding, error)
	}{
		{"purego", openPurego},
		{"cu", openCu},
		{"cu_batched", openCuBatched},
	} {
		b.Run("binding="+v.name, func(b *testing.B) {
			b.Run("op=launch", func(b *testing.B) { benchmarkLaunch(b, v.open, binding.launch) })
			b.Run("op=launch_sync", func(b *testing.B) { benchmarkLaunch(b, v.open, binding.launchSync) })
			b.Run("op=copy484", func(b *testing.B) { benchmarkCopy(b, v.open, matrixBytes) })
			b.Run("op=copy62k", func(b *testing.B) { benchmarkCopy(b, v.open, batchBytes) })
		})
	}
}

// benchmarkLaunch times launches, and checks that every one has run.
func benchmarkLaunch(b *testing.B, open func() (binding, error), launch func(binding) error) {
	bind := opened(b, open)
	calls := measure(b, bind, func(int) error { return launch(bind) })
	if n, err := bind.count(); n != calls || err != nil {
		b.Errorf("%d kernels ran of %d launched (%v)", n, calls, err)
	}
}

// benchmarkCopy times uploads, each with its number in it, and checks that the
// last one is on the card.
func benchmarkCopy(b *testing.B, open func() (binding, error), size int) {
	bind := opened(b, open)
	src, got := make([]byte, size), make([]byte, size)
	for i := range src {
		src[i] = byte(rand.Uint32())
	}
	measure(b, bind, func(i int) error {
		binary.LittleEndian.PutUint64(src, uint64(i))
		return bind.upload(src)
	})
	if err := bind.download(got); err != nil || !bytes.Equal(got, src) {
		b.Errorf("the card holds something else than the last %d bytes copied (%v)", size, err)
	}
}

func opened(b *testing.B, open func() (binding, error)) binding {
	bind, err := open()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := bind.close(); err != nil {
			b.Error(err)
		}
	})
	return bind
}

// measure times call and the flush after the last, and says how many calls
// there were, the untimed first ones included: those compile the kernel.
func measure(b *testing.B, bind binding, call func(i int) error) (calls int) {
	const untimed = 100
	for ; calls < untimed; calls++ {
		if err := call(calls); err != nil {
			b.Fatal(err)
		}
	}
	if err := bind.flush(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := call(calls); err != nil {
			b.Fatal(err)
		}
		calls++
	}
	b.StartTimer() // b.Loop has stopped it, and what is queued is not done
	err := bind.flush()
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	return calls
}

// pure is this project's own way: the driver loaded at run time, no cgo.
type pure struct {
	dev       device.Device
	rec       *device.Recorder
	cell, buf device.Buffer
}

func openPurego() (binding, error) {
	dev, err := catalog.Open("cuda:0")
	if err != nil {
		return nil, err
	}
	rec := device.NewRecorder(dev)
	cell, cellErr := rec.Alloc(4)
	buf, bufErr := rec.Alloc(batchBytes)
	if err := errors.Join(cellErr, bufErr); err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return &pure{dev: dev, rec: rec, cell: cell, buf: buf}, nil
}

func (p *pure) launch() error { return p.rec.Launch(device.Default, tick, device.Buf(p.cell)) }

func (p *pure) launchSync() error {
	if err := p.launch(); err != nil {
		return err
	}
	return p.rec.Sync(device.Default)
}

func (p *pure) upload(src []byte) error   { return p.rec.Upload(p.buf, src) }
func (p *pure) flush() error              { return p.rec.Drain() }
func (p *pure) download(dst []byte) error { return p.rec.Download(dst, p.buf) }
func (p *pure) close() error              { return p.dev.Close() }

func (p *pure) count() (int, error) {
	var n [1]int32
	err := p.rec.Download(device.Bytes(n[:]), p.cell)
	return int(n[0]), err
}

// direct is cu with one cgo call or more for each of the driver's, on a thread
// that keeps the context.
type direct struct {
	dev       cu.Device
	ctx       *cu.Ctx
	stream    cu.Stream
	tick      cu.Function
	cell, buf cu.DevicePtr
	args      []unsafe.Pointer // to cell; cu copies what it points to
}

// newDirect locks the goroutine to its thread, until close.
func newDirect() (_ *direct, err error) {
	d := &direct{}
	if d.dev, err = cu.GetDevice(0); err != nil {
		return nil, fmt.Errorf("cu: device 0: %w", err)
	}
	made, err := d.dev.MakeContext(cu.SchedAuto)
	if err != nil {
		return nil, fmt.Errorf("cu: make a context: %w", err)
	}
	d.ctx = cu.CtxFromCUContext(d.dev, made, cu.SchedAuto)
	if err := d.setup(); err != nil {
		return nil, errors.Join(fmt.Errorf("cu: %w", err), d.close())
	}
	return d, nil
}

func (d *direct) setup() error {
	if err := d.ctx.Lock(); err != nil {
		return err
	}
	mod, err := cu.LoadData(module.PTX)
	if err != nil {
		return fmt.Errorf("load %s: %w", module.Name, err)
	}
	if d.tick, err = mod.Function(tick.Symbol); err != nil {
		return fmt.Errorf("find %s: %w", tick.Symbol, err)
	}
	if d.stream, err = cu.MakeStream(cu.NonBlocking); err != nil {
		return err
	}
	if d.cell, err = cu.MemAlloc(4); err != nil {
		return err
	}
	if d.buf, err = cu.MemAlloc(batchBytes); err != nil {
		return err
	}
	d.args = []unsafe.Pointer{unsafe.Pointer(&d.cell)}
	return errors.Join(cu.MemsetD8(d.cell, 0, 4), cu.MemsetD8(d.buf, 0, batchBytes), cu.Synchronize())
}

func openCu() (binding, error) { return newDirect() }

func (d *direct) launch() error {
	return d.tick.Launch(1, 1, 1, 32, 1, 1, 0, d.stream, d.args)
}

func (d *direct) launchSync() error {
	if err := d.launch(); err != nil {
		return err
	}
	return d.stream.Synchronize()
}

// upload makes the calls that the project's own device makes, so that only the
// binding differs. cu.MemcpyHtoD, one call, may return before a copy this small
// has arrived.
func (d *direct) upload(src []byte) error {
	if err := cu.MemcpyHtoDAsync(d.buf, unsafe.Pointer(&src[0]), int64(len(src)), d.stream); err != nil {
		return err
	}
	return d.stream.Synchronize()
}

func (d *direct) flush() error { return cu.Synchronize() }

func (d *direct) count() (int, error) {
	var n int32
	err := cu.MemcpyDtoH(unsafe.Pointer(&n), d.cell, 4)
	return int(n), err
}

func (d *direct) download(dst []byte) error {
	return cu.MemcpyDtoH(unsafe.Pointer(&dst[0]), d.buf, int64(len(dst)))
}

// close destroys the context, and with it all that was made in it.
func (d *direct) close() error { return errors.Join(d.ctx.Unlock(), d.ctx.Close()) }

// queued is cu's batched context: calls wait in a queue, and run in one cgo
// call when it is full. One thread fills and empties it, as cu's own signal
// says: cu shares the results of a batch between the two sides without a lock.
type queued struct {
	*direct
	batch *cu.BatchedContext
}

func openCuBatched() (binding, error) {
	d, err := newDirect()
	if err != nil {
		return nil, err
	}
	return &queued{d, cu.NewBatchedContext(d.ctx, d.dev)}, nil
}

func (q *queued) launch() error {
	q.batch.LaunchKernel(q.tick, 1, 1, 1, 32, 1, 1, 0, q.stream, q.args)
	return q.work()
}

func (q *queued) launchSync() error {
	q.batch.LaunchAndSync(q.tick, 1, 1, 1, 32, 1, 1, 0, q.stream, q.args)
	return q.work()
}

// upload waits too; the batched context has no asynchronous copy.
func (q *queued) upload(src []byte) error {
	q.batch.MemcpyHtoD(q.buf, unsafe.Pointer(&src[0]), int64(len(src)))
	q.batch.Synchronize()
	return q.work()
}

// work runs the queue when cu asks for that: when it is full.
func (q *queued) work() error {
	select {
	case <-q.batch.WorkAvailable():
		q.batch.DoWork()
		return q.batch.Errors()
	default:
		return nil
	}
}

func (q *queued) flush() error {
	q.batch.DoWork()
	return errors.Join(q.batch.Errors(), cu.Synchronize())
}
