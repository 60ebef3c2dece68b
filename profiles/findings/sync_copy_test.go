package findings

import (
	"testing"

	"gputax/profiles"
)

func TestSyncCopy(t *testing.T) {
	copies := func(dir profiles.Dir, mem profiles.Mem, blocking bool) func(*builder) {
		return func(b *builder) {
			b.steps(2, func(int) {
				b.copy(dir, mem, 1000, blocking)
				b.copy(profiles.DeviceToHost, mem, 1000, blocking)
				b.wait(50_000)
			})
		}
	}
	testRule(t, syncCopy, []ruleCase{
		{"an upload and a read a step", copies(profiles.HostToDevice, profiles.MemPinned, true), 4, 2 * 5_100},
		{"reads, which the host needs", copies(profiles.DeviceToHost, profiles.MemPinned, true), 0, 0},
		{"asynchronous", copies(profiles.HostToDevice, profiles.MemPinned, false), 0, 0},
		{"pageable, which cannot be", copies(profiles.HostToDevice, profiles.MemPageable, true), 0, 0},
	})
}
