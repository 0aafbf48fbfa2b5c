// Package results keeps what a study computed, and turns it into tables and arrays.
//
// # The folder
//
// An output folder holds two kinds of file. Three are written while a study runs:
//
//	study.toml      the study, byte for byte as it was read
//	manifest.json   what ran: the study's title, kind and objectives, the swept names, the points in
//	                the sweep's order, the tool, the machine, the seeds and the times
//	records.jsonl   one line for each finished point: rows of named tables, and arrays
//
// Everything else is a function of the last two, so that it can be made again from the folder alone:
//
//	implicit.csv, sensitivities.csv, iterates.csv, chain.csv, schedules.csv, program.csv
//	measurements.csv   all that differs from run to run; the other tables are byte-identical
//	arrays.npz         the arrays, named <point>/<array>
//	plots/             the figures
//
// A record says nothing about a sweep, and the manifest nothing about results: a record is reused in any
// later sweep that contains its point. [Begin] writes the manifest and opens the [Log]; [Load] reads
// the folder back as a [Run], whose methods write the tables and arrays; package figures draws it.
//
// A file is complete or absent: it is written aside and renamed. The log is the exception, because it
// grows by whole lines; a last line that was cut short is dropped, and its point computed again.
//
// The log can be far larger than the memory. A list says where in it the record of each point stands; whatever is made from the
// records reads them one by one in the sweep's order, and of each only the tables that it needs.
//
// # Numbers
//
// A float64 is written as the shortest decimal that reads back to the same bits, and as NaN, +Inf or -Inf.
// Absent is not zero and not NaN: it is an empty CSV field and a JSON null.
package results
