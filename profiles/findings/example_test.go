package findings_test

import (
	"context"
	"fmt"
	"log"

	"gputax/device"
	"gputax/device/sim"
	"gputax/profiles"
	"gputax/profiles/findings"
)

// A loop that sends its rows one by one is recorded on a simulated H200.
func Example() {
	p, err := profiles.Device("h200")
	if err != nil {
		log.Fatal(err)
	}
	rows := make([]byte, 128*484)
	rec, err := profiles.Capture(context.Background(), sim.New(p), profiles.CaptureOptions{}, func(rec *device.Recorder) error {
		b, err := rec.Alloc(len(rows))
		if err != nil {
			return err
		}
		for range 3 {
			rec.Step()
			rec.Phase("upload")
			for i := 0; i < len(rows); i += 484 {
				if err := rec.Upload(b.Slice(i, 484), rows[i:i+484]); err != nil {
					return err
				}
			}
		}
		rec.EndStep()
		return rec.Free(b)
	})
	if err != nil {
		log.Fatal(err)
	}
	f := findings.Run(rec, p).Findings[0]
	fmt.Printf("%s\n%.0f%% of the time\n%s\n", f.Title, 100*f.Share, f.Advice)
	// Output:
	// tiny copies to the device, which one would do: 128 a step of 484 B, in upload
	// 98% of the time
	// Put the items side by side in one array on the host and copy that once; leave on the host what only the host reads.
}
