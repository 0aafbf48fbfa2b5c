package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestProgressInALog holds a run without a terminal to one plain line at most every ten seconds.
func TestProgressInALog(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(0, 0)
	p := newProgress(&log, "name")
	p.now, p.last = func() time.Time { return now }, now
	for i := range 100 { // for 25 seconds
		now = now.Add(250 * time.Millisecond)
		p.done(i+1, 100)
	}
	p.finish()
	if want := "name: 40 of 100 points\nname: 80 of 100 points\n"; log.String() != want {
		t.Errorf("have %q, want %q", &log, want)
	}
}

// TestProgressOnATerminal holds the bar to showing the count, to leaving an empty line, and to having no colours.
func TestProgressOnATerminal(t *testing.T) {
	var screen bytes.Buffer
	p := newProgress(&screen, "name")
	p.terminal = true
	for i := range 3 {
		p.done(i+1, 3)
	}
	p.finish()
	have := screen.String()
	if !strings.Contains(have, "name") || !strings.Contains(have, "(1/3)") {
		t.Errorf("no bar: %q", have)
	}
	if strings.Contains(have, "\x1b[") {
		t.Errorf("an escape sequence: %q", have)
	}
	lines := strings.Split(have, "\r")
	if last := lines[len(lines)-1]; strings.TrimSpace(last) != "" {
		t.Errorf("the last line is not cleared: %q", last)
	}
}
