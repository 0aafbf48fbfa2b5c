package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// quiet is how long a run is silent, and the least time between two lines of a log.
const quiet = 10 * time.Second

// progress shows how far a run is: a bar on a terminal, elsewhere a line now and then. Neither has colours.
type progress struct {
	w        io.Writer
	name     string
	terminal bool
	bar      *progressbar.ProgressBar
	now      func() time.Time
	last     time.Time
}

func newProgress(w io.Writer, name string) *progress {
	file, ok := w.(*os.File)
	return &progress{w: w, name: name, terminal: ok && term.IsTerminal(int(file.Fd())), now: time.Now, last: time.Now()}
}

func (p *progress) done(done, total int) {
	if !p.terminal {
		if now := p.now(); now.Sub(p.last) >= quiet {
			fmt.Fprintf(p.w, "%s: %d of %d points\n", p.name, done, total)
			p.last = now
		}
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.name),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
	_ = p.bar.Set(done) // a bar that cannot be drawn is no reason to stop
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
