// Package studies reads study files: TOML text in which a person writes a system of equations, a
// contraction or the steps of a long chain as formulas, with its constants, parameters, data and sweeps.
//
// [Read] turns a file into a [Study]. One table (schema.go) says which keys exist, what each holds
// and what it means; it drives the checks, the hints in error messages and the page that
// [Reference] prints. The text itself, with the places of its keys and values, is read by package source.
//
// Formulas stay text here; package model makes programs of them. A [Formula] carries its place, so that whoever parses it can report an
// error at a byte of the formula and have it shown in the file.
//
// Whatever is wrong with a file comes back as an [Error], or as [Errors] when several things are:
// file, line, column, the line itself with a caret, and a hint.
package studies
