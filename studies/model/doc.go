// Package model turns studies into programs, and computes what their points come to.
//
// [Compile] types and lowers the formulas of a study once, for all points of its sweep: a [Model] holds the programs.
// A [Solver] computes its points, one at a time; what goes wrong with the mathematics of a point is a row with a status
// and a reason. [Solver.CheckDerivatives] compares derivatives with finite differences, which are used for nothing else.
// [Run] computes every point that an output folder does not have yet, and writes the folder's tables, arrays and figures.
//
// The files are named for what they hold: those of chains begin with chain, those of studies of kind program with
// program; model.go, solve.go, iterates.go and rows.go hold roots and fixed points, and what all kinds share.
package model
