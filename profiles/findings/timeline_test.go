package findings

import (
	"math/rand/v2"
	"testing"

	"gputax/profiles"
)

// One launch, a wait, a copy and host time, charged by hand.
func TestTimeline(t *testing.T) {
	b := newBuilder()
	b.steps(1, func(int) {
		b.wait(500)               // between calls
		b.launch("k", 5_000)      // 4,000 in the launch; 2,000 until it starts
		b.sync()                  // meanwhile; waits for 5,000, and 1,000 of gap; 3,000 of its own
		b.upload(1_000, 0)        // 1,000 to issue, 10,000 alone
		b.launch("long", 100_000) // 4,000, and 2,000
		b.work(50_000, hostWork)  // 2,000 of it on the way, the rest while it runs
	})
	rec := b.recording(t)
	a := analyse(rec, b.p)
	wantCalls := []callTime{
		{idle: 4_000, before: 500},
		{idle: 4_000, waited: 5_000},
		{idle: 1_000},
		{idle: 4_000},
		{},
	}
	for i, want := range wantCalls {
		if a.callTime[i] != want {
			t.Errorf("call %d: %+v, want %+v", i, a.callTime[i], want)
		}
	}
	wantOps := []opTime{{run: 5_000, lead: 2_000}, {run: 10_000}, {run: 100_000, lead: 2_000}}
	for i, want := range wantOps {
		if a.opTime[i] != want {
			t.Errorf("op %d: %+v, want %+v", i, a.opTime[i], want)
		}
	}
	if a.split.Kernels != 105_000 || a.split.Copies != 10_000 || a.busy != 105_000 {
		t.Errorf("%+v, busy %d", a.split, a.busy)
	}
}

// Every nanosecond of a window is charged once, whatever overlaps.
func TestEveryNanosecondIsCharged(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		rec := randomRecording(rng)
		if err := rec.CheckValid(); err != nil {
			t.Fatal(err)
		}
		a := analyse(rec, nil)
		charged := a.split.Kernels + a.split.Copies
		for _, p := range a.split.Idle {
			charged += p.Time
		}
		if charged != a.epoch {
			t.Fatalf("seed %d: %d of %d ns are charged", seed, charged, a.epoch)
		}
		var events int64
		for _, c := range a.callTime {
			events += c.idle + c.before
		}
		for _, o := range a.opTime {
			events += o.run + o.lead
		}
		if events > a.epoch { // less is the time after the last call
			t.Fatalf("seed %d: events are charged %d of %d ns", seed, events, a.epoch)
		}
		Run(rec, testProfile()) // whatever it finds, it must not fail
		Run(rec, nil)
	}
}

// randomRecording is calls of two threads and ops of three streams, anyhow.
func randomRecording(rng *rand.Rand) *profiles.Recording {
	rec := &profiles.Recording{Source: profiles.Source{Unseen: map[profiles.Knowledge]string{}}, Start: 100, End: 20_000, Sites: make([]profiles.Site, 1)}
	names := []profiles.NameID{0, rec.Names.ID("load"), rec.Names.ID("collate"), rec.Names.ID("gemm")}
	steps := rng.IntN(4)
	for i := range steps {
		start := int64(100 + i*5_000)
		rec.Steps = append(rec.Steps, profiles.Span{Step: int32(i), Start: start, End: start + 5_000})
	}
	for range rng.IntN(60) {
		start := 100 + rng.Int64N(15_000)
		rec.Calls.Add(profiles.Call{Start: start, Dur: rng.Int64N(1_000), Kind: profiles.CallKind(rng.IntN(10)), Phase: names[rng.IntN(4)],
			Name: names[rng.IntN(4)], Step: int32(rng.IntN(steps+1) - 1), Thread: uint16(rng.IntN(2)), Blocking: rng.IntN(2) == 0})
	}
	for range rng.IntN(60) {
		detail := int32(rec.Detail.Add(profiles.Detail{Flops: rng.Int64N(1 << 40), MemBytes: rng.Int64N(1 << 30), Content: rng.Uint64N(4)}))
		rec.Ops.Add(profiles.Op{Start: 100 + rng.Int64N(15_000), Dur: rng.Int64N(2_000), Call: int32(rng.IntN(rec.Calls.Len()+1) - 1), Detail: detail,
			Bytes: rng.Int64N(2_000), Name: names[rng.IntN(4)], Stream: int32(rng.IntN(3)), Blocks: int32(rng.IntN(64)), Kind: profiles.OpKind(rng.IntN(3)),
			Dir: profiles.Dir(rng.IntN(6)), Mem: profiles.Mem(rng.IntN(5)), InGraph: rng.IntN(4) == 0})
	}
	rec.Sort()
	return rec
}

// Where the device's times are not seen, calls are all there is.
func TestTimesNotSeen(t *testing.T) {
	b := newBuilder()
	b.rec.Source.Unseen[profiles.DeviceTimes] = "no clock there"
	b.steps(2, func(int) {
		for range 20 {
			b.upload(1000, 0)
		}
	})
	r := Run(b.recording(t), b.p)
	f := finding(r, tinyCopies)
	if f == nil || f.Price != 40*11_000-2*30_000 {
		t.Errorf("tiny copies: %+v", f)
	}
	if r.Time.Kernels != 0 || r.Time.Copies != 0 {
		t.Errorf("device time out of nowhere: %+v", r.Time)
	}
	for _, rule := range []Rule{launchBound, gpuGaps, noOverlap} {
		if !skips(r, rule, "no clock there") {
			t.Errorf("%s looked", rule.Name)
		}
	}
}
