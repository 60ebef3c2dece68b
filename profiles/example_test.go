package profiles_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"gputax/device"
	"gputax/device/sim"
	"gputax/profiles"
	"gputax/profiles/findings"
)

// scale is a kernel of one's own.
var scale = &device.Kernel{
	Symbol: "scale",
	Params: []device.Param{{Name: "x"}, {Name: "a", Kind: device.KindFloat}},
	Work: func(a device.Args) device.Work {
		n := int64(a.Words(0))
		return device.Work{Flops: n, ReadBytes: 4 * n, WriteBytes: 4 * n}
	},
	Body: func(a device.Args) {
		for i := range a.F32(0) {
			a.F32(0)[i] *= a.Float(1)
		}
	},
}

// One's own loop, recorded, looked at and written as a folder.
func ExampleCapture() {
	prices, err := profiles.Device("h200")
	if err != nil {
		log.Fatal(err)
	}
	dev := sim.New(prices) // or host.New(), or any device by name: catalog.Open("cuda:0")
	items := make([]float32, 64*16)
	var buf device.Buffer
	rec, err := profiles.Capture(context.Background(), dev, profiles.CaptureOptions{
		Contents: true,
		Setup: func(rec *device.Recorder) (err error) {
			buf, err = rec.Alloc(4 * len(items))
			return err
		},
	}, func(rec *device.Recorder) error {
		for step := range 3 {
			rec.Step()
			for i := range items {
				items[i] = float32(step*len(items) + i)
			}
			rec.Phase("upload")
			for i := range 64 { // one copy would do
				if err := rec.Upload(buf.Slice(64*i, 64), device.Bytes(items[16*i:16*i+16])); err != nil {
					return err
				}
			}
			rec.Phase("work")
			err := errors.Join(rec.Launch(device.Default, scale, device.Buf(buf), device.Float(2)), rec.Sync(device.Default))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	c := rec.Counters()
	fmt.Println(c[device.Launches], "launches,", c[device.UploadCopies], "uploads,", c[device.Syncs], "syncs in", len(rec.Steps), "steps")

	report := findings.Run(rec, prices)
	fmt.Println("first finding:", report.Findings[0].Rule)

	temp, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(temp)
	folder := &profiles.Folder{Recording: rec, Title: "my loop", Bench: profiles.BenchOptions{Times: rec.Clock == device.Virtual},
		Findings: []profiles.File{{Name: "findings.md", About: "what is wrong", Write: report.WriteMarkdown}}}
	if _, err := folder.WriteDir(filepath.Join(temp, "my-profile")); err != nil {
		log.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(temp, "my-profile", "*"))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		fmt.Println(filepath.Base(f))
	}
	// Output:
	// 3 launches, 192 uploads, 3 syncs in 3 steps
	// first finding: tiny_copies
	// bench.txt
	// findings.md
	// gpu.pb.gz
	// index.md
	// trace.json
}
