package findings

import (
	"slices"
	"testing"

	"gputax/device"
	"gputax/device/sim"
	"gputax/profiles"
)

// testProfile has round numbers, and a card on which nothing is free.
func testProfile() *sim.Profile {
	return &sim.Profile{Name: "test",
		LaunchHost: 4_000, LaunchLatency: 2_000, LaunchGap: 1_000, KernelFloor: 500,
		FlopsPerS: 10e12, TensorPerS: 40e12, MemBytesPerS: 1e12,
		CopyHost: 1_000, UploadPageable: 9_000, UploadPageablePerS: 1e9, DownloadPageable: 9_000, DownloadPageablePerS: 1e9,
		UploadPinned: 4_000, UploadPinnedPerS: 10e9, DownloadPinned: 4_000, DownloadPinnedPerS: 10e9,
		SyncHost: 3_000, GraphHost: 5_000, GraphNode: 500,
		AllocHost: 8_000, AllocPinnedHost: 100_000, FreeHost: 2_000,
		HostCall: 100, HostItem: 1, HostBytesPerS: 1e9, HostFlopsPerS: 1e9,
	}
}

// builder makes a recording of one host thread and one stream, with the times
// of a profile. Whatever a test wants otherwise it sets in the event returned.
type builder struct {
	rec  *profiles.Recording
	p    *sim.Profile
	host int64 // now
	dev  int64 // when the stream is free
	step int32
	name profiles.NameID // of the phase
	open profiles.Span   // the phase
}

func newBuilder() *builder {
	return &builder{rec: &profiles.Recording{Source: profiles.Source{Name: "test", Unseen: map[profiles.Knowledge]string{}}, Sites: make([]profiles.Site, 1), Clock: device.Virtual},
		p: testProfile(), step: -1}
}

// steps runs body that many times, each a step.
func (b *builder) steps(n int, body func(step int)) *builder {
	for i := range n {
		b.step = int32(i)
		b.enter(b.name)
		start := b.host
		body(i)
		b.enter(b.name)
		b.rec.Steps = append(b.rec.Steps, profiles.Span{Step: b.step, Start: start, End: b.host})
	}
	b.step = -1
	b.enter(b.name)
	return b
}

// phase makes name the phase of what follows.
func (b *builder) phase(name string) { b.enter(b.rec.Names.ID(name)) }

func (b *builder) enter(name profiles.NameID) {
	if b.open.End = b.host; b.open.End > b.open.Start {
		b.rec.Phases = append(b.rec.Phases, b.open)
	}
	b.name, b.open = name, profiles.Span{Name: name, Step: b.step, Start: b.host}
}

// call adds a call that takes d.
func (b *builder) call(kind profiles.CallKind, name string, d float64) (int, *profiles.Call) {
	i := b.rec.Calls.Add(profiles.Call{Start: b.host, Dur: int64(d), Kind: kind, Name: b.rec.Names.ID(name), Phase: b.name, Step: b.step})
	b.host += int64(d)
	return i, b.rec.Calls.At(i)
}

// op adds an op of call that can start at ready and takes d.
func (b *builder) op(call int, o profiles.Op, name string, ready, d int64) *profiles.Op {
	o.Start, o.Dur, o.Call, o.Name = max(ready, b.dev), d, int32(call), b.rec.Names.ID(name)
	o.Detail = int32(b.rec.Detail.Add(profiles.Detail{}))
	b.dev = o.Start + d
	return b.rec.Ops.At(b.rec.Ops.Add(o))
}

func (b *builder) detail(o *profiles.Op) *profiles.Detail { return b.rec.Detail.At(int(o.Detail)) }

// launch adds a kernel that takes d.
func (b *builder) launch(name string, d int64) *profiles.Op {
	c, _ := b.call(profiles.CallLaunch, "launch", b.p.LaunchHost)
	o := b.op(c, profiles.Op{Kind: profiles.OpKernel}, name, b.host+int64(b.p.LaunchLatency), d)
	b.dev += int64(b.p.LaunchGap)
	return o
}

// graph adds a graph launch of n kernels that take d each.
func (b *builder) graph(n int, d int64) {
	c, _ := b.call(profiles.CallGraphLaunch, "graph", b.p.GraphHost)
	for range n {
		b.op(c, profiles.Op{Kind: profiles.OpKernel, InGraph: true}, "node", b.host+int64(b.p.LaunchLatency), d)
	}
}

// copy adds a copy; a blocking one is waited for.
func (b *builder) copy(dir profiles.Dir, mem profiles.Mem, bytes int64, blocking bool) *profiles.Op {
	a := analysis{p: b.p}
	i, c := b.call(profiles.CallCopy, "copy", b.p.CopyHost)
	c.Blocking, c.Bytes = blocking, bytes
	o := b.op(i, profiles.Op{Kind: profiles.OpCopy, Dir: dir, Mem: mem, Bytes: bytes}, "memcpy", b.host,
		a.copyPrice(dir, mem == profiles.MemPinned, bytes)-int64(b.p.CopyHost))
	if blocking {
		b.host = b.dev
		c.Dur = b.host - c.Start
	}
	return o
}

func (b *builder) upload(bytes int64, content uint64) *profiles.Op {
	o := b.copy(profiles.HostToDevice, profiles.MemPageable, bytes, true)
	b.detail(o).Content = content
	return o
}

func (b *builder) download(bytes int64, content uint64) *profiles.Op {
	o := b.copy(profiles.DeviceToHost, profiles.MemPageable, bytes, true)
	b.detail(o).Content = content
	return o
}

// sync waits for the device.
func (b *builder) sync() {
	_, c := b.call(profiles.CallSync, "sync", 0)
	c.Blocking = true
	b.host = max(b.host, b.dev) + int64(b.p.SyncHost)
	c.Dur = b.host - c.Start
}

func (b *builder) alloc() { b.call(profiles.CallAlloc, "alloc", b.p.AllocHost) }
func (b *builder) free()  { b.call(profiles.CallFree, "free", b.p.FreeHost) }

// work adds declared work of the host that takes d.
func (b *builder) work(d float64, w device.HostWork) {
	i, _ := b.call(profiles.CallHostWork, "host work", d)
	b.rec.HostWork = append(b.rec.HostWork, profiles.HostWork{Call: int32(i), HostWork: w})
}

// wait passes d between calls.
func (b *builder) wait(d int64) { b.host += d }

// recording is what was built, once it is found valid.
func (b *builder) recording(t testing.TB) *profiles.Recording {
	t.Helper()
	b.host = max(b.host, b.dev)
	b.enter(b.name)
	b.rec.Sort()
	b.rec.End = max(b.rec.End, b.host)
	if err := b.rec.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return b.rec
}

// find runs all rules on what was built and returns what one of them says, or
// nil.
func (b *builder) find(t testing.TB, rule Rule) *Finding {
	t.Helper()
	return finding(Run(b.recording(t), b.p), rule)
}

func finding(r *Report, rule Rule) *Finding {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == rule.Name })
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

// ruleCase is a recording on which a rule fires with a count and a price, or
// where count is 0 is silent.
type ruleCase struct {
	name  string
	build func(b *builder)
	count int64
	price int64
}

func testRule(t *testing.T, rule Rule, cases []ruleCase) {
	t.Helper()
	fires, silent := false, false
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder()
			c.build(b)
			f := b.find(t, rule)
			switch {
			case f == nil && c.count != 0:
				t.Fatalf("silent, want %d at %d ns", c.count, c.price)
			case f != nil && c.count == 0:
				t.Fatalf("fires: %s, %d ns", f.Title, f.Price)
			case f != nil && (f.Evidence.Count != c.count || f.Price != c.price):
				t.Fatalf("%s: %d at %d ns, want %d at %d ns", f.Title, f.Evidence.Count, f.Price, c.count, c.price)
			}
		})
		fires, silent = fires || c.count > 0, silent || c.count == 0
	}
	if !fires || !silent {
		t.Errorf("%s: cases where it fires %v, where it must be silent %v: want both", rule.Name, fires, silent)
	}
}
