// Package figures draws what a run came to: the errors of iterates beside their bounds, objectives and derivatives over a
// sweep, and the schedules of a chain. Figures are functions of the run's records; see package results.
package figures
