package studies

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/studies/source"
)

//go:embed *.toml data modules
var gallery embed.FS

// GalleryFolder is the path under which the gallery studies are known.
const GalleryFolder = "studies"

// Gallery lists the names of the gallery studies, in order.
func Gallery() []string {
	entries, err := fs.Glob(gallery, "*.toml")
	if err != nil {
		panic(err) // the pattern is right
	}
	for i, e := range entries {
		entries[i] = strings.TrimSuffix(e, ".toml")
	}
	slices.Sort(entries)
	return entries
}

// Open reads the study that a command line names. A name without slash and suffix is that of a
// gallery study; anything else is a path. A path of the form studies/NAME.toml finds the gallery
// study where there is no such file, so that files on the disk override the gallery.
func Open(arg string) (*Study, error) {
	if isGalleryName(arg) {
		return openEmbedded(arg+".toml", arg)
	}
	if _, err := os.Stat(arg); errors.Is(err, fs.ErrNotExist) {
		if dir, base := path.Split(filepath.ToSlash(arg)); dir == GalleryFolder+"/" {
			if _, err := fs.Stat(gallery, base); err == nil {
				return openEmbedded(base, arg)
			}
		}
	}
	return ReadFile(arg)
}

func isGalleryName(arg string) bool {
	return !strings.ContainsAny(arg, `/\.`)
}

// Argument writes the path of a study's file so that Open reads the file: a bare name is that of a built-in study.
func Argument(path string) string {
	if isGalleryName(path) {
		return "./" + path
	}
	return path
}

func openEmbedded(base, arg string) (*Study, error) {
	if _, err := fs.Stat(gallery, base); err != nil {
		e := &Error{File: arg, Message: "no study of this name is built in"}
		if _, err := os.Stat(arg); err == nil {
			return nil, e.WithHint("for the file, write %s", Argument(arg))
		}
		e = e.WithHint("lensir-study list shows them; a file needs its path, such as ./%s.toml", arg)
		if near := source.Nearest(arg, Gallery()); near != "" {
			e = e.WithHint("did you mean %q?", near)
		}
		return nil, e
	}
	return read(files{fsys: gallery, display: func(p string) string { return path.Join(GalleryFolder, p) }}, base)
}

// Stem is the name of a study by the argument that opened it: the file's name without its suffix.
func Stem(arg string) string {
	return strings.TrimSuffix(path.Base(filepath.ToSlash(arg)), ".toml")
}
