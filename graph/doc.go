// Package graph holds the one representation of lensir-study: a program is data, and a derivative
// is a program transformation.
//
// A Program is a straight-line list of typed operations. JVP writes the program of a directional
// derivative; Linearize splits that program into a primal part, which runs once and hands over its
// residuals, and a linear part; Transpose turns a linear program around. Reverse mode is Linearize
// followed by Transpose, so no operation registers a backward rule. All transformations return
// ordinary programs: a Hessian-vector product is the JVP of a VJP.
//
// Eval is the reference evaluator: plain loops, operation by operation, with every check. A
// failing check is a Failure with a Status, a place and a reason; no value or derivative comes
// with it. Branches reads from a run which strict branch every comparison and kinked operation took.
package graph
