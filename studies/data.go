package studies

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"codeberg.org/sbinet/npyio/npy"
	"github.com/lensir/lensir-study/studies/source"
)

// table is the rows of a data file, read on demand: only the entries that a study uses must be numbers.
type table struct {
	rows, cols int
	vector     bool // one column, to become a vector
	at         func(row, col int) (float64, *Error)
}

// rowRange is rows first ≤ i < end.
type rowRange struct{ first, end int }

// data reads one entry of [data].
func (r arrayReader) data(f files, study string, n *source.Node) (Array, *Error) {
	key := strings.Join(n.Path(), ".")
	file := n.Child("file")
	name := file.Value.(string)
	full, err := r.relative(study, file, name, "data/longley.csv")
	if err != nil {
		return Array{}, err
	}
	var t table
	switch strings.ToLower(path.Ext(name)) {
	case ".csv":
		if n.Child("columns") == nil {
			return Array{}, r.errorf(n, "%s has no columns", label(n)).WithHint(`for example columns = ["GNP", "Unemployed"]; one name makes a vector`)
		}
		t, err = r.csvTable(f, full, n.Child("columns"), key)
	case ".npy":
		if c := n.Child("columns"); c != nil {
			return Array{}, r.errorf(c, "a .npy file has no column names").WithHint("take columns in a formula: col(%s, 0)", n.Name)
		}
		var whole Array
		whole, err = r.npyArray(f, full, file, key)
		if err == nil && n.Child("rows") == nil && n.Child("scale") == nil {
			return whole, nil
		}
		if err == nil && (len(whole.Shape) == 0 || len(whole.Shape) > 2) {
			return Array{}, r.errorf(file, "rows and scale want a vector or a matrix, found shape %v", whole.Shape)
		}
		t = arrayTable(whole)
	default:
		return Array{}, r.errorf(file, "%q is neither a .csv nor a .npy file", name)
	}
	if err != nil {
		if err.Line == 0 && err.File != r.src.Name { // the file as a whole: show where the study names it
			err = r.errorf(file, "%s: %s", err.File, err.Message)
		}
		err.Key = key
		return Array{}, err
	}
	return r.selectRows(n, t)
}

// relative returns the path of a file that the study at a path names.
func (r arrayReader) relative(study string, n *source.Node, name, example string) (string, *Error) {
	if name == "" || path.IsAbs(name) || strings.Contains(name, `\`) {
		return "", r.errorf(n, "%q is not a path from the study's folder", name).WithHint("for example %q", example)
	}
	return beside(study, name), nil
}

// selectRows applies rows and scale.
func (r arrayReader) selectRows(n *source.Node, t table) (Array, *Error) {
	rows := rowRange{0, t.rows}
	if c := n.Child("rows"); c != nil {
		var err *Error
		if rows, err = r.rowRange(c, t.rows); err != nil {
			return Array{}, err
		}
	}
	a := Array{Shape: []int{rows.end - rows.first, t.cols}}
	if t.vector {
		a.Shape = a.Shape[:1]
	}
	if _, err := entries([]int64{int64(rows.end - rows.first), int64(t.cols)}); err != nil {
		return Array{}, r.errorf(n, "%s", err)
	}
	for i := rows.first; i < rows.end; i++ {
		for j := range t.cols {
			v, err := t.at(i, j)
			if err != nil {
				return Array{}, err
			}
			a.Data = append(a.Data, v)
		}
	}
	scale := n.Child("scale")
	if scale == nil {
		return a, nil
	}
	over := rows
	if scale.Kind == source.Table {
		var err *Error
		if over, err = r.rowRange(scale.Child("standard"), t.rows); err != nil {
			return Array{}, err
		}
	}
	for j := range t.cols {
		mean, deviation, err := moments(t, j, over)
		if err != nil {
			return Array{}, err
		}
		if !(deviation > 0) || math.IsInf(deviation, 0) {
			return Array{}, r.errorf(scale, "column %d cannot be standardised: over rows [%d, %d] its standard deviation is %v", j, over.first, over.end, deviation).
				WithHint("leave out a column that is constant")
		}
		for i := range a.Shape[0] {
			a.Data[i*t.cols+j] = (a.Data[i*t.cols+j] - mean) / deviation
		}
	}
	return a, nil
}

func (r arrayReader) rowRange(n *source.Node, rows int) (rowRange, *Error) {
	first, end := n.Items[0].Count(), n.Items[1].Count()
	if end > int64(rows) {
		return rowRange{}, r.errorf(n, "%s ends at row %d; the file has %d rows", label(n), end, rows)
	}
	return rowRange{int(first), int(end)}, nil
}

// moments returns mean and standard deviation √(Σ(x − mean)²/n) of a column over rows.
func moments(t table, col int, rows rowRange) (mean, deviation float64, err *Error) {
	column := make([]float64, 0, rows.end-rows.first)
	for i := rows.first; i < rows.end; i++ {
		v, err := t.at(i, col)
		if err != nil {
			return 0, 0, err
		}
		column = append(column, v)
	}
	n := float64(len(column))
	for _, v := range column {
		mean += v
	}
	mean /= n
	squares := 0.0
	for _, v := range column {
		squares += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(squares / n), nil
}

// csvTable reads a CSV file whose first line names its columns.
func (r arrayReader) csvTable(f files, name string, columns *source.Node, key string) (table, *Error) {
	src, err := f.text(name)
	if err != nil {
		return table{}, err
	}
	reader := csv.NewReader(strings.NewReader(src.Text))
	reader.FieldsPerRecord = -1
	reader.TrimLeadingSpace = true
	starts := src.LineStarts()
	offset := func(line, column int) int { // of a line and a byte column, both from 1
		return min(starts[min(line, len(starts))-1]+max(0, column-1), len(src.Text))
	}
	var records [][]string
	var places [][]source.Span
	for {
		record, csvErr := reader.Read()
		var broken *csv.ParseError
		if errors.As(csvErr, &broken) {
			at := offset(broken.Line, broken.Column)
			return table{}, src.Place(at, at).Errorf(key, "broken CSV: %s", broken.Err)
		}
		if record == nil {
			break
		}
		at := make([]source.Span, len(record))
		for i := range record {
			line, column := reader.FieldPos(i)
			start := offset(line, column)
			at[i] = source.Span{Start: start, End: min(start+max(1, len(record[i])), len(src.Text))}
		}
		records, places = append(records, record), append(places, at)
		if len(record) != len(records[0]) {
			where := src.Place(at[0].Start, at[len(at)-1].End)
			return table{}, where.Errorf(key, "row %d has length %d; the header has length %d", len(records)-2, len(record), len(records[0]))
		}
	}
	if len(records) == 0 {
		return table{}, &Error{File: src.Name, Message: "the file is empty; its first line shall name the columns"}
	}
	header := records[0]
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	wanted := []*source.Node{columns}
	if columns.Kind == source.List {
		wanted = columns.Items
	}
	index := make([]int, len(wanted))
	for i, w := range wanted {
		name := w.Value.(string)
		index[i] = slices.Index(header, name)
		if index[i] < 0 {
			e := r.errorf(w, "%s has no column %q", src.Name, name)
			if near := source.Nearest(name, header); near != "" {
				return table{}, e.WithHint("did you mean %q? It has %s", near, strings.Join(header, ", "))
			}
			return table{}, e.WithHint("it has %s", strings.Join(header, ", "))
		}
		if slices.Contains(header[index[i]+1:], name) {
			return table{}, r.errorf(w, "%s has several columns %q", src.Name, name)
		}
	}
	body, bodyPlaces := records[1:], places[1:]
	return table{rows: len(body), cols: len(index), vector: columns.Kind != source.List, at: func(row, col int) (float64, *Error) {
		text := strings.TrimSpace(body[row][index[col]])
		v, err := parseDecimal(text)
		if err != nil {
			at := bodyPlaces[row][index[col]]
			return 0, src.Place(at.Start, at.End).Errorf(key, "row %d, column %q: %s", row, header[index[col]], err)
		}
		return v, nil
	}}, nil
}

// arrayTable reads the rows of a vector or a matrix.
func arrayTable(a Array) table {
	if len(a.Shape) == 0 {
		return table{}
	}
	t := table{rows: a.Shape[0], cols: 1, vector: len(a.Shape) == 1}
	if !t.vector {
		t.cols = a.Shape[1]
	}
	t.at = func(row, col int) (float64, *Error) { return a.Data[row*t.cols+col], nil }
	return t
}

// npyArray reads a NumPy file of numbers.
func (r arrayReader) npyArray(f files, name string, file *source.Node, key string) (Array, *Error) {
	data, err := f.load(name)
	if err != nil {
		return Array{}, err
	}
	a, why := parseNPY(data)
	if why != nil {
		return Array{}, &Error{File: f.display(name), Message: why.Error()}
	}
	for i, v := range a.Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Array{}, &Error{File: f.display(name), Message: fmt.Sprintf("entry %s is %v, which is not a finite number", entryName(a.Shape, i), v)}
		}
	}
	return a, nil
}

// parseNPY decodes the content of a .npy file: float64, float32, or integers up to 64 bits.
func parseNPY(data []byte) (a Array, err error) {
	defer func() {
		if recover() != nil { // the library slices some broken headers out of range
			err = errors.New("broken NumPy file: its header cannot be read")
		}
	}()
	// A version 2 header states its own length in four bytes and is allocated before it is read.
	if len(data) >= 12 && data[6] == 2 {
		length := uint32(data[8]) | uint32(data[9])<<8 | uint32(data[10])<<16 | uint32(data[11])<<24
		if int64(length) > int64(len(data)) {
			return Array{}, errors.New("broken NumPy file: its header is longer than the file")
		}
	}
	reader, err := npy.NewReader(bytes.NewReader(data))
	if err != nil {
		return Array{}, fmt.Errorf("broken NumPy file: %w", err)
	}
	dims := make([]int64, len(reader.Header.Descr.Shape))
	for i, d := range reader.Header.Descr.Shape {
		if d < 0 {
			return Array{}, errors.New("broken NumPy file: a negative dimension")
		}
		dims[i] = int64(d)
	}
	count, err := entries(dims)
	if err != nil {
		return Array{}, err
	}
	if count > len(data) { // an entry has at least one byte
		return Array{}, fmt.Errorf("broken NumPy file: %d entries in %d bytes", count, len(data))
	}
	values, err := npyValues(reader, count)
	if err != nil {
		return Array{}, err
	}
	a = Array{Shape: append([]int{}, reader.Header.Descr.Shape...), Data: values}
	if reader.Header.Descr.Fortran {
		a.Data = rowMajor(a)
	}
	return a, nil
}

func npyValues(r *npy.Reader, count int) ([]float64, error) {
	switch kind := strings.Trim(r.Header.Descr.Type, `'"<>|=`); kind {
	case "f8":
		return npyAs[float64](r, count)
	case "f4":
		return npyAs[float32](r, count)
	case "i8":
		return npyAs[int64](r, count)
	case "i4":
		return npyAs[int32](r, count)
	case "i2":
		return npyAs[int16](r, count)
	case "i1":
		return npyAs[int8](r, count)
	case "u8":
		return npyAs[uint64](r, count)
	case "u4":
		return npyAs[uint32](r, count)
	case "u2":
		return npyAs[uint16](r, count)
	case "u1":
		return npyAs[uint8](r, count)
	default:
		return nil, fmt.Errorf("entries of type %s; a study reads float64, float32 and integers", r.Header.Descr.Type)
	}
}

func npyAs[T float64 | float32 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8](r *npy.Reader, count int) ([]float64, error) {
	values := make([]float64, count)
	if count == 0 {
		return values, nil
	}
	raw := make([]T, count)
	if err := r.Read(&raw); err != nil {
		return nil, fmt.Errorf("broken NumPy file: %w", err)
	}
	for i, v := range raw {
		values[i] = float64(v)
	}
	return values, nil
}

// rowMajor reorders entries that are stored with the first index fastest.
func rowMajor(a Array) []float64 {
	out := make([]float64, len(a.Data))
	index := make([]int, len(a.Shape))
	for k := range out {
		from, stride := 0, 1
		for d, i := range index {
			from += i * stride
			stride *= a.Shape[d]
		}
		out[k] = a.Data[from]
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < a.Shape[d] {
				break
			}
			index[d] = 0
		}
	}
	return out
}

// entryName writes the index of the k-th entry in row-major order: [2][0].
func entryName(shape []int, k int) string {
	text := ""
	for d := len(shape) - 1; d >= 0; d-- {
		text = "[" + strconv.Itoa(k%shape[d]) + "]" + text
		k /= shape[d]
	}
	return text
}
