package devicetest

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"gputax/device"
)

// Compiled holds a package's compiled kernels to their source, on any machine:
// the PTX was made from the .cu file beside it, and has every kernel with the
// parameters that Params says.
func Compiled(t *testing.T, source string, kernels ...*device.Kernel) {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kernels {
		if k.Module == nil || k.Dims == nil {
			t.Errorf("%s has no compiled form or no Dims", k.Symbol)
			continue
		}
		if want := fmt.Sprintf("sha256 %x", sha256.Sum256(text)); !strings.Contains(firstLine(k.Module.PTX), want) {
			t.Fatalf("the PTX of %s is not of this %s: run go generate ./... where there is nvcc", k.Module.Name, source)
		}
		if got, want := entryParams(k.Module.PTX, k.Symbol), wantParams(k); got != want {
			t.Errorf("%s takes (%s) in PTX, (%s) in Go", k.Symbol, got, want)
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

var paramType = regexp.MustCompile(`\.param \.(\w+)`)

// entryParams is the parameter types of a kernel in PTX.
func entryParams(ptx, symbol string) string {
	_, after, ok := strings.Cut(ptx, ".entry "+symbol+"(")
	if !ok {
		return "no such kernel"
	}
	list, _, _ := strings.Cut(after, ")")
	var types []string
	for _, m := range paramType.FindAllStringSubmatch(list, -1) {
		types = append(types, m[1])
	}
	return strings.Join(types, " ")
}

func wantParams(k *device.Kernel) string {
	var types []string
	for _, p := range k.Params {
		types = append(types, [...]string{device.KindBuffer: "u64", device.KindInt: "u32", device.KindFloat: "f32"}[p.Kind])
	}
	return strings.Join(types, " ")
}

// Launch is one launch to compare: what its buffers hold before, in the order
// of the kernel's buffer parameters, and its scalars in theirs.
type Launch struct {
	Kernel  *device.Kernel
	Buffers []any // []float32, []int32 or []byte
	Scalars []any // int or float32
	// Tolerance is how far floats may be apart, relative to the norm of the
	// buffer; 0 is to the bit.
	Tolerance float64
}

// Agree runs a launch on both devices and holds every buffer afterwards to the
// reference's.
func Agree(t *testing.T, name string, reference, compiled device.Device, l Launch) {
	t.Helper()
	want, got := l.run(t, reference), l.run(t, compiled)
	for i := range want {
		if err := apart(got[i], want[i], l.Tolerance); err != nil {
			t.Errorf("%s: %s, buffer %d: %v", name, l.Kernel.Symbol, i, err)
		}
	}
}

// run launches on dev and returns what the buffers hold then.
func (l *Launch) run(t *testing.T, dev device.Device) []any {
	t.Helper()
	r := device.NewRecorder(dev)
	var bufs []device.Buffer
	var args []device.Arg
	scalars := l.Scalars
	for _, p := range l.Kernel.Params {
		switch p.Kind {
		case device.KindBuffer:
			b := upload(t, r, bytesOf(l.Buffers[len(bufs)]))
			bufs, args = append(bufs, b), append(args, device.Buf(b))
		case device.KindInt:
			args, scalars = append(args, device.Int(scalars[0].(int))), scalars[1:]
		case device.KindFloat:
			args, scalars = append(args, device.Float(scalars[0].(float32))), scalars[1:]
		}
	}
	ok(t, r.Launch(device.Default, l.Kernel, args...))
	ok(t, r.Sync(device.Default))
	var out []any
	for i, b := range bufs {
		data := make([]byte, b.Size())
		ok(t, r.Download(data, b))
		switch l.Buffers[i].(type) {
		case []float32:
			out = append(out, device.View[float32](data))
		case []int32:
			out = append(out, device.View[int32](data))
		default:
			out = append(out, data)
		}
		ok(t, r.Free(b))
	}
	return out
}

func bytesOf(v any) []byte {
	switch v := v.(type) {
	case []float32:
		return device.Bytes(v)
	case []int32:
		return device.Bytes(v)
	}
	return v.([]byte)
}

// apart says how got is not want.
func apart(got, want any, tolerance float64) error {
	w, isFloat := want.([]float32)
	if !isFloat || tolerance == 0 {
		if g, w := bytesOf(got), bytesOf(want); string(g) != string(w) {
			for i := range w {
				if g[i] != w[i] {
					return fmt.Errorf("element %d differs: got %v, want %v", i/4, elementAt(got, i), elementAt(want, i))
				}
			}
		}
		return nil
	}
	var diff, norm float64
	for i, v := range got.([]float32) {
		d := float64(v) - float64(w[i])
		if math.IsNaN(d) && !(math.IsNaN(float64(v)) && math.IsNaN(float64(w[i]))) && v != w[i] {
			return fmt.Errorf("element %d is %v, want %v", i, v, w[i])
		}
		if !math.IsNaN(d) {
			diff, norm = diff+d*d, norm+float64(w[i])*float64(w[i])
		}
	}
	if r := math.Sqrt(diff / max(norm, 1e-30)); !(r <= tolerance) {
		return fmt.Errorf("off by %.3g of its norm, may be %.3g", r, tolerance)
	}
	return nil
}

// elementAt is the element of v that holds byte i.
func elementAt(v any, i int) any {
	switch v := v.(type) {
	case []float32:
		return v[i/4]
	case []int32:
		return v[i/4]
	}
	return v.([]byte)[i]
}
