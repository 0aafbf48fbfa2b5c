package model

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
	"github.com/lensir/lensir-study/studies"
)

// childVariable asks a process to measure one sweep, told on its standard input, and to do nothing else.
const childVariable = "LENSIR_STUDY_SWEEP"

// sweepJob is all that a process needs to run one sweep: the programs as text, the values and the schedule.
type sweepJob struct {
	Dims                        program.Dims
	Running                     bool
	Step, Objective, Start      string
	Steps                       int
	Open                        bool
	Params, Constants, Controls [][]float64
	Method                      string
	Slots, Budget               int
	Disk                        *studies.Disk
}

// sweepMemoryUse is its answer.
type sweepMemoryUse struct {
	Resident int64 // rise of the resident set
	Logical  int64 // peak of the logical bytes
}

// ServeSweep runs the sweep that the environment asks for, and reports whether it asks. A command that offers
// [Options.Executable] calls it first of all: the resident set of a process never shrinks, so that every sweep is measured in its own.
func ServeSweep(in io.Reader, out, stderr io.Writer) (asked bool, code int) {
	if os.Getenv(childVariable) == "" {
		return false, 0
	}
	var job sweepJob
	err := gob.NewDecoder(in).Decode(&job)
	if err == nil {
		var use sweepMemoryUse
		if use, err = job.run(); err == nil {
			err = gob.NewEncoder(out).Encode(use)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return true, 1
	}
	return true, 0
}

// job describes a run of a schedule at this point.
func (c *chainPoint) job(t trial) sweepJob {
	spec := c.model.spec()
	return sweepJob{Dims: spec.Dims, Running: spec.Running, Step: spec.Step.String(), Objective: spec.Objective.String(), Start: spec.Start.String(),
		Steps: c.steps, Open: c.open, Params: c.params, Constants: c.constants, Controls: c.controls,
		Method: t.method, Slots: t.slots, Budget: t.budget, Disk: t.disk}
}

// measureIn runs a job in a fresh process of the executable.
func (j sweepJob) measureIn(ctx context.Context, executable string) (use sweepMemoryUse, err error) {
	var in, out, problem bytes.Buffer
	if err := gob.NewEncoder(&in).Encode(j); err != nil {
		return use, err
	}
	cmd := exec.CommandContext(ctx, executable)
	cmd.Args[0] = os.Args[0] // a binary with several names goes by it
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &problem
	if err := cmd.Run(); err != nil {
		return use, fmt.Errorf("the process that measures memory: %w: %s", err, strings.TrimSpace(problem.String()))
	}
	return use, gob.NewDecoder(&out).Decode(&use)
}

func (j *sweepJob) run() (use sweepMemoryUse, err error) {
	spec := program.Spec{Dims: j.Dims, Running: j.Running}
	for _, p := range []struct {
		dst  **graph.Program
		text string
	}{{&spec.Step, j.Step}, {&spec.Objective, j.Objective}, {&spec.Start, j.Start}} {
		if *p.dst, err = op.Parse(p.text); err != nil {
			return use, err
		}
	}
	chain, err := program.New(spec)
	if err != nil {
		return use, err
	}
	if err := chain.Set(j.Steps, j.Open, j.Params, j.Constants, j.Controls); err != nil {
		return use, err
	}
	start, bar := make([]float64, chain.StateLenAtStart()), make([]float64, chain.StateLenAtStart())
	if err := chain.Start(start); err != nil {
		return use, err
	}
	for i := range bar { // the caller's, so touched before
		bar[i] = 1
	}
	value := make([]float64, chain.StateLen(j.Steps))
	s, err := trial{j.Method, j.Slots, j.Budget, j.Disk}.schedule(j.Steps)
	if err != nil {
		return use, err
	}
	var settings schedule.Settings
	if s.Limits().Disk > 0 {
		store, err := schedule.NewFileStore("", len(start))
		if err != nil {
			return use, err
		}
		defer store.Close()
		settings.Store = store
	}
	// The chain's own work space is used once, so that what rises is the sweep's.
	for _, step := range []int{1, j.Steps} {
		if 1 <= step && step <= j.Steps {
			next, tape := make([]float64, chain.StateLen(step)), make([]float64, chain.TapeLen(step))
			_ = chain.Advance(step, start, next)
			if chain.Record(step, start, next, tape) == nil { // the last step may not take the first state
				_ = chain.Reverse(step, tape, next, bar)
			}
			if step < j.Steps {
				_ = chain.RecordReverse(step, start, next, bar)
			}
		}
	}
	chain.Clear()
	debug.FreeOSMemory()
	before, err := resident("VmRSS:")
	if err != nil {
		return use, err
	}
	// The largest resident set starts anew, where the system allows it.
	resetting := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	if resetting != nil {
		if before, err = resident("VmHWM:"); err != nil {
			return use, err
		}
	}
	r, err := schedule.NewRunner(chain, s, settings)
	if err != nil {
		return use, err
	}
	result, err := r.Run(context.Background(), chain.Sweep(start, value, bar))
	if err != nil {
		return use, err
	}
	after, err := resident("VmHWM:")
	return sweepMemoryUse{max(0, after-before), result.Bytes.Total()}, err
}

// resident returns a size of the process by its name in the system's status, in bytes.
func resident(name string) (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(status), name)
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); !ok || err != nil {
		return 0, fmt.Errorf("no %s in the process's status", name)
	}
	return kib * 1024, nil
}
