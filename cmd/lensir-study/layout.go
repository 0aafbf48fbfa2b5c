package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// printAligned prints rows of cells in columns, two spaces apart. A column whose header, in the first row, begins with
// a space holds numbers, which stand at the right.
func printAligned(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for c, cell := range row {
			if c == len(widths) {
				widths = append(widths, 0)
			}
			widths[c] = max(widths[c], utf8.RuneCountInString(strings.TrimSpace(cell)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for c, cell := range row {
			cell = strings.TrimSpace(cell)
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell))
			if c < len(rows[0]) && strings.HasPrefix(rows[0][c], " ") {
				cell, pad = pad, cell
			}
			line.WriteString("  " + cell + pad)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
