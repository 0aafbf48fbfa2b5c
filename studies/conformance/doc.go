// Package conformance is the referee of the typed tensor language: the laws of its documents on random programs, the
// numbers that they print, the refusals, the simulation of one evaluator by another, and a run of all of them
// (Run) whose result is verification-results.json.
//
// Sources: the typed tensor fragment (sections 2 to 6); jvp, linearize and transpose as program
// transformations; higher derivatives through reverse accumulation.
package conformance
