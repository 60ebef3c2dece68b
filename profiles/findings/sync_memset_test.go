package findings

import (
	"testing"

	"gputax/profiles"
)

func TestSyncMemset(t *testing.T) {
	sets := func(steps int, blocking bool) func(*builder) {
		return func(b *builder) {
			b.steps(3, func(step int) {
				b.wait(50_000)
				if step >= steps {
					return
				}
				i, c := b.call(profiles.CallMemset, "memset", 1_000)
				b.op(i, profiles.Op{Kind: profiles.OpMemset, Bytes: 100}, "memset", b.host, 2_000)
				if blocking {
					c.Blocking = true
					b.host = b.dev
					c.Dur = b.host - c.Start
				}
			})
		}
	}
	testRule(t, syncMemset, []ruleCase{
		{"one a step", sets(3, true), 3, 3 * 3_000},
		{"asynchronous", sets(3, false), 0, 0},
		{"once", sets(1, true), 0, 0},
	})
}
