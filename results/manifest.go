package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// ManifestName and StudyName are the names in an output folder of the manifest and of the study as it was read.
const (
	ManifestName = "manifest.json"
	StudyName    = "study.toml"
)

// Manifest says what ran, where and when. It is written when a run starts, and again with Finished set when it ends.
type Manifest struct {
	Format   int        `json:"format"`
	Study    Study      `json:"study"`
	Sweep    Sweep      `json:"sweep"`
	Tool     Tool       `json:"tool"`
	Machine  Machine    `json:"machine"`
	Modules  []Module   `json:"modules"`
	Seeds    []Seed     `json:"seeds"`
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished"` // null while the study runs, or when it was stopped
}

// Study is what tables and figures need to know of a study.
type Study struct {
	Name       string   `json:"name"` // the stem of the study's file
	Title      string   `json:"title"`
	Kind       string   `json:"kind"`
	Main       string   `json:"main"`       // the table of this kind: implicit, chain or program
	Objectives []string `json:"objectives"` // in the study's order
}

// Sweep is the points of a run in its order, each with the values of the swept names.
type Sweep struct {
	Names  []string `json:"names"`
	Points []Point  `json:"points"`
}

// Point is a combination of swept values, and the point that it resolves to.
type Point struct {
	ID     string  `json:"point"`
	Values []Value `json:"values"` // one for each of Sweep.Names
}

// Tool names the program.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"` // see ToolDigest
}

// Machine is where a study ran.
type Machine struct {
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPU  string `json:"cpu"` // the model, empty where the system does not tell
	CPUs int    `json:"cpus"`
}

// Module is a module that the program was built from.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"`
}

// Seed is the seed of a named source of random numbers.
type Seed struct {
	Name string `json:"name"`
	Seed uint64 `json:"seed"`
}

// NewManifest describes the running program on this machine. The caller adds the seeds.
func NewManifest(tool Tool, study Study, sweep Sweep, started time.Time) Manifest {
	m := Manifest{
		Format:  RecordFormat,
		Study:   study,
		Sweep:   sweep,
		Tool:    tool,
		Machine: Machine{runtime.Version(), runtime.GOOS, runtime.GOARCH, cpuModel(), runtime.NumCPU()},
		Started: started,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			m.Modules = append(m.Modules, Module{d.Path, d.Version, d.Sum})
		}
	}
	return m
}

func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo") // there is none but on Linux
	if err != nil {
		return ""
	}
	defer file.Close()
	for in := bufio.NewScanner(file); in.Scan(); {
		if key, value, _ := strings.Cut(in.Text(), ":"); strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Key is the key of the run's records.
func (m *Manifest) Key() Key { return Key{Tool: m.Tool.Digest, Study: m.Study.Name} }

func (m *Manifest) check() error {
	if m.Format != RecordFormat {
		return fmt.Errorf("format %d, but this tool reads format %d: run the study again", m.Format, RecordFormat)
	}
	for _, p := range m.Sweep.Points {
		if !isPoint(p.ID) || len(p.Values) != len(m.Sweep.Names) {
			return fmt.Errorf("point %q: %d values for the swept names %v", p.ID, len(p.Values), m.Sweep.Names)
		}
	}
	return nil
}

// Write writes the manifest into the folder dir.
func (m *Manifest) Write(dir string) error {
	if err := m.check(); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	return WriteFile(filepath.Join(dir, ManifestName), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(m)
	})
}

// ReadManifest reads the manifest of the folder dir.
func ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, ManifestName)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is not the output folder of a study: it has no %s", dir, ManifestName)
	}
	if err != nil {
		return nil, err
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}
