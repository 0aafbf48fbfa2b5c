package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/studies"
)

// putTheory adds the replays that the formulas give the methods of the matrix, over slots from 1 to a few times the most.
func (c *chainPoint) putTheory(r *results.Record) {
	s := &c.Study.Chain.Schedule
	if c.steps < 2 {
		return
	}
	most := float64(min(4*slices.Max(s.Slots), c.steps))
	var ladder []int
	for i := range 25 {
		d := int(math.Round(math.Pow(most, float64(i)/24)))
		if len(ladder) == 0 || d > ladder[len(ladder)-1] {
			ladder = append(ladder, d)
		}
	}
	for _, method := range s.Methods {
		if method == studies.StoreAll || method == studies.Online || method == studies.TwoTier {
			continue
		}
		for _, d := range ladder {
			made, err := trial{method, d, -1, nil}.schedule(c.steps)
			if err != nil {
				continue
			}
			row := results.Row{Ending: results.Ending{Status: "OK"}}
			row.Fields.Set("method", results.Text(method))
			row.Fields.Set("T", results.Int(c.steps))
			row.Fields.Set("slots", results.Int(d))
			row.Fields.Set("replays", results.Int(made.Predict().Replays()))
			r.Add(results.Theory, row)
		}
	}
}

// maxPicture bounds the actions of a picture.
const maxPicture = 3000

// putPicture adds the actions of a schedule, if they are few enough to be seen and no picture of the method is there yet.
func (c *chainPoint) putPicture(r *results.Record, t trial, s schedule.Schedule) {
	prefix := results.SchedulePicture + t.method + "-"
	if t.slots == 0 || c.steps == 0 || slices.ContainsFunc(r.Arrays, func(a results.Array) bool { return strings.HasPrefix(a.Name, prefix) }) {
		return
	}
	var data []float64
	put := func(kind int, a schedule.Action) {
		data = append(data, float64(kind), float64(a.Slot), float64(a.From), float64(a.To))
	}
	s.Reset()
	o, _ := s.(*schedule.Online)
	for a, ok := s.Next(); ok; a, ok = s.Next() {
		switch a.Kind {
		case schedule.Advance:
			put(results.PictureAdvance, a)
			if o != nil && a.To == c.steps && !o.Stopped() {
				o.Stop()
			}
		case schedule.Save:
			put(results.PictureSave, a)
		case schedule.Move, schedule.Free:
			put(results.PictureFree, a)
		case schedule.Record:
			put(results.PictureRecord, a)
		case schedule.Reverse:
			put(results.PictureReverse, a)
		case schedule.RecordReverse:
			put(results.PictureRecord, a)
			put(results.PictureReverse, a)
		}
		if len(data) > 4*maxPicture {
			return
		}
	}
	r.Arrays = append(r.Arrays, results.Array{Name: fmt.Sprintf("%s%d", prefix, t.slots), Shape: []int{len(data) / 4, 4}, Data: data})
}
