// Package randprog makes random well-typed programs and inputs, for tests of everything that runs or
// transforms programs: the transformations, the reference evaluator and every other evaluator.
//
// A program is drawn from a seed, so that a failure is reproduced by its seed alone. While it is
// drawn, every value carries an interval that holds its entries for every input that Inputs draws;
// operands are brought into the domain of the operation that takes them (scaled, or made positive),
// so that a program meets no domain error and no overflow, whatever inputs follow. It can meet a branch
// boundary where a derivative is asked: padding makes zeros, and operands repeat.
//
// The package also holds what the laws of derivatives are tested with: dot products, dense matrices of linear
// programs, and the ladder of finite differences.
package randprog
