// Package rounding measures how far rounding moves the results of a program: it runs the program with every rounded operation
// moved at random by a unit of its last place. The spread of such runs is an estimate, where an analysis of the formula would only
// bound it; it is no bound. Underflow is not seen.
//
//	r, err := rounding.NewRunner(p)
//	err = r.Run(key, inputs, outputs)       // another key, another rounding
//
// [Perturbed] writes the program with its factors as inputs, so that it runs compiled; [Noise] draws them.
//
// Source: Monte Carlo arithmetic (Parker, 1997).
package rounding
