package results

import (
	"archive/zip"
	"encoding/binary"
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
	count := 0
	for _, record := range r.Records {
		if record != nil {
			count += len(record.Arrays)
		}
	}
	if count == 0 {
		return remove(path)
	}
	return WriteFile(path, func(w io.Writer) error {
		archive := zip.NewWriter(w)
		done := make(map[string]bool)
		for _, record := range r.Records {
			if record == nil || done[record.Point] { // a sweep may reach a point twice
				continue
			}
			done[record.Point] = true
			for _, a := range record.Arrays {
				entry, err := archive.Create(record.Point + "/" + a.Name + ".npy")
				if err != nil {
					return err
				}
				if err := a.writeNPY(entry); err != nil {
					return err
				}
			}
		}
		return archive.Close()
	})
}

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
