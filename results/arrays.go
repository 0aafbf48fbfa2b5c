package results

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// ArraysName is the name of the file of arrays in an output folder.
const ArraysName = "arrays.npz"

// WriteArrays writes the arrays of all points into one NPZ file, as <point>/<array>, in the sweep's order.
func (r *Run) WriteArrays(dir string) error {
	path := filepath.Join(dir, ArraysName)
	var archive *zip.Writer
	done := make(map[string]bool)
	write := func(w io.Writer) error {
		err := r.Each(nil, []string{ArraysName}, func(_ int, record *Record) error {
			if done[record.Point] { // a sweep may reach a point twice
				return nil
			}
			done[record.Point] = true
			for i := range record.Arrays {
				if archive == nil {
					archive = zip.NewWriter(w)
				}
				entry, err := archive.Create(record.Point + "/" + record.Arrays[i].Name + ".npy")
				if err == nil {
					err = record.Arrays[i].writeNPY(entry)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil && archive == nil {
			err = errNothing
		}
		if err != nil {
			return err
		}
		return archive.Close()
	}
	if err := WriteFile(path, write); err != errNothing {
		return err
	}
	return remove(path)
}

// errNothing says that there is nothing to write.
var errNothing = errors.New("nothing to write")

// writeNPY writes the NPY format 1.0 (NumPy enhancement proposal 1): magic, header padded to 64 bytes, the data in
// row-major order. The npyio writer takes its shape from Go types, which cannot tell 0×3 from 0.
func (a *Array) writeNPY(w io.Writer) error {
	shape := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(a.Shape)), ", "), "[]")
	if len(a.Shape) == 1 {
		shape += ","
	}
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }", shape)
	const before = 10 // magic, version, header length
	header += strings.Repeat(" ", 63-(before+len(header))%64) + "\n"
	if _, err := fmt.Fprintf(w, "\x93NUMPY\x01\x00%s%s", binary.LittleEndian.AppendUint16(nil, uint16(len(header))), header); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, []float64(a.Data))
}

// SchedulePicture is the prefix of the names of arrays that hold the actions of a schedule, one a row: kind, slot, from, to,
// with the kinds below. After the prefix come the method and the number of slots.
const SchedulePicture = "schedule-"

// The kinds of actions in a picture of a schedule.
const (
	PictureAdvance = iota // evaluates steps from+1, …, to
	PictureSave           // fills a slot
	PictureFree           // empties a slot
	PictureRecord         // evaluates steps from+1, …, to and keeps their tapes
	PictureReverse        // reverses steps to, …, from+1
)
