package program

import "github.com/lensir/lensir-study/graph"

// Programs lists every program that the chain runs.
func (c *Chain) Programs() []*graph.Program {
	tasks := []*task{c.start, c.pull}
	for _, t := range []*transition{c.step, c.last, c.end, c.until} {
		if t != nil {
			tasks = append(tasks, t.once, t.static, t.value, t.record, t.back, t.pull)
		}
	}
	var list []*graph.Program
	for _, t := range tasks {
		if t != nil {
			list = append(list, t.p)
		}
	}
	return list
}
