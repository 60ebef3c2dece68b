package model

import (
	"fmt"

	"gputax/vrp"
)

// Routes makes dst the routes that actions, Steps of them an instance, describe: from
// the depot to the depot, without the steps that wait there at the end.
func Routes(actions []int32, cfg Config, dst *vrp.Routes) error {
	steps := cfg.Steps()
	if len(actions)%steps != 0 {
		return fmt.Errorf("model: routes: %d actions are no multiple of %d steps", len(actions), steps)
	}
	dst.Reset()
	for ; len(actions) > 0; actions = actions[steps:] {
		dst.Nodes = append(dst.Nodes, 0)
		last := int32(0)
		for _, node := range actions[:steps] {
			if node != 0 || last != 0 {
				dst.Nodes = append(dst.Nodes, node)
			}
			last = node
		}
		if last != 0 {
			dst.Nodes = append(dst.Nodes, 0)
		}
		dst.Offsets = append(dst.Offsets, int32(len(dst.Nodes)))
	}
	return nil
}
