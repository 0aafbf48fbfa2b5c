// Package studies reads study files: TOML text in which a person writes a system of equations, a
// contraction or the steps of a long chain as formulas, with its constants, parameters, data and sweeps.
//
// [Read] turns a file into a [Study]. One table (schema.go) says which keys exist, what each holds
// and what it means; it drives the checks, the hints in error messages and the page that
// [Reference] prints. The TOML library decides what a file says and whether it is valid; a small
// scanner (scan.go) adds what the library keeps to itself: where each key and value stands, the
// order of keys, and numbers exactly as they were written.
//
// Formulas stay text here. A [Formula] carries its place, so that whoever parses it can report an
// error at a byte of the formula and have it shown in the file.
//
// Whatever is wrong with a file comes back as an [Error], or as [Errors] when several things are:
// file, line, column, the line itself with a caret, and a hint.
package studies
