package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
)

// elsewhere are commands of the README that this test does not run: they run it.
var elsewhere = []string{"go test ./...", "bash .ci/run"}

// TestReadme runs every command of the README in one folder, in order, and holds what they print to what the README
// shows. In what it shows, a line … stands for any lines, … in a line for any text, and two spaces for two or more.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, bin := t.TempDir(), t.TempDir()
	for _, m := range regexp.MustCompile("(?s)`([^`]+\\.toml)`:\n\n```toml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if err := os.WriteFile(filepath.Join(dir, m[1]), []byte(m[2]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	repository := filepath.Join(dir, "repository") // where the commands of the set-up run
	if err := os.Mkdir(repository, 0o777); err != nil {
		t.Fatal(err)
	}
	ran, status := 0, 0
	list := commandsOf(string(text))
	for i, c := range list {
		if slices.Contains(elsewhere, c.line) {
			continue
		}
		ran++
		var output []byte
		if c.line == "echo $?" {
			output, status = fmt.Appendln(nil, status), 0
		} else {
			output, status = sh(t, c.line, dir, repository, root, bin)
		}
		if asked := i+1 < len(list) && list[i+1].line == "echo $?"; status != 0 && !asked {
			t.Errorf("%s: exit code %d\n%s", c.line, status, output)
		}
		if c.shown != "" && !pattern(c.shown).Match(output) {
			t.Errorf("%s\nprints\n%s\nwhere the README shows\n%s", c.line, output, c.shown)
		}
	}
	// The columns of the tables are explained.
	for _, name := range []string{"contraction/implicit.csv", "contraction/iterates.csv", "heat/chain.csv", "heat/schedules.csv", "sine-product/program.csv"} {
		table, err := os.ReadFile(filepath.Join(dir, "results", name))
		if err != nil {
			t.Fatal(err)
		}
		header, _, _ := strings.Cut(string(table), "\n")
		_, own, _ := strings.Cut(header, ",reason,")
		for column := range strings.SplitSeq(own, ",") {
			if column == "J" || strings.HasPrefix(column, "dJ_") {
				continue
			}
			if !strings.Contains(section(string(text), "## The results folder"), "`"+column+"`") {
				t.Errorf("%s: the README does not say what %s is", name, column)
			}
		}
	}
	if ran < 18 {
		t.Errorf("only %d commands were found", ran)
	}
	if files, err := os.ReadDir(bin); err != nil || len(files) != 1 {
		t.Errorf("the installed command: %v, %v", files, err)
	}
}

// sh runs a command line as the README's reader would.
func sh(t *testing.T, line, dir, repository, root, bin string) (output []byte, status int) {
	t.Helper()
	switch {
	case strings.HasPrefix(line, "go run ./cmd/lensir-study "):
		line, dir = strings.Replace(line, "go run ./cmd/lensir-study", "lensir-study", 1), repository
	case strings.HasPrefix(line, "go "):
		dir = root
	}
	shell := exec.Command("bash", "-c", line)
	shell.Dir, shell.Env = dir, append(os.Environ(), "GOBIN="+bin)
	output, err := shell.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("%s: %v", line, err)
	}
	return output, shell.ProcessState.ExitCode()
}

// TestReadmeTables holds the tables of the README to what the program has: its commands, exit codes, statuses and kept links.
func TestReadmeTables(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range command().Commands() {
		if !strings.Contains(string(text), "`"+c.Name()) {
			t.Errorf("the command %s is not in the README", c.Name())
		}
	}
	for _, code := range []int{exitFine, exitInternal, exitUsage, exitInvalid, exitRefused, exitViolated, exitInterrupted} {
		if row := fmt.Sprintf("\n| %d | ", code); !strings.Contains(string(text), row) {
			t.Errorf("the exit code %d is not in the README", code)
		}
	}
	for _, status := range []graph.Status{graph.OK, graph.IteratesDifferentiated, graph.DomainError, graph.Nondifferentiable, graph.NonFinite,
		graph.NotConverged, graph.SingularStateJacobian, graph.AdjointNotConverged, graph.ScheduleFailure, graph.OutOfBudget} {
		if row := fmt.Sprintf("\n| `%s` | ", status); !strings.Contains(section(string(text), "## Statuses"), row) {
			t.Errorf("the status %s is not in the README", status)
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	for _, m := range regexp.MustCompile("\n\\| (`[a-z/]+`(?:, `[a-z/]+`)*) \\| [^\n]*").FindAllStringSubmatch(section(string(text), "## The packages"), -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			if files, _ := filepath.Glob(filepath.Join("../..", strings.Trim(name, "`"), "*.go")); len(files) == 0 {
				t.Errorf("there is no package %s", name)
			}
		}
	}
}

// section returns the part of a text from a heading to the next one of its level.
func section(text, heading string) string {
	_, rest, _ := strings.Cut(text, heading+"\n")
	part, _, _ := strings.Cut(rest, "\n## ")
	return part
}

// shownCommand is a command line with the output that is shown for it.
type shownCommand struct{ line, shown string }

var inline = regexp.MustCompile("`((?:lensir-study|go doc|bash) [^`]+)`")

// commandsOf finds commands: those in running text, the lines of indented blocks, and those after "$ " in console blocks.
func commandsOf(text string) []shownCommand {
	var list []shownCommand
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			if fence == "" {
				fence = line
			} else {
				fence = ""
			}
		case fence == "" && strings.HasPrefix(line, "    "):
			list = append(list, shownCommand{line: strings.TrimSpace(line)})
		case fence == "```console" && strings.HasPrefix(line, "$ "):
			list = append(list, shownCommand{line: line[2:]})
		case fence == "```console":
			list[len(list)-1].shown += line + "\n"
		case fence == "":
			for _, m := range inline.FindAllStringSubmatch(line, -1) {
				list = append(list, shownCommand{line: m[1]})
			}
		}
	}
	return list
}

// pattern makes a regular expression of what is shown.
func pattern(shown string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(shown)
	quoted = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(quoted, `(?:.*\n)*?`)
	quoted = regexp.MustCompile(` {2,}`).ReplaceAllString(quoted, ` {2,}`)
	return regexp.MustCompile(`^` + strings.ReplaceAll(quoted, "…", `.*`) + `$`)
}
