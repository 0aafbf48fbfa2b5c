// Package module reads, checks, lowers and runs modules of the typed tensor language.
//
// A module is a JSON document: named inputs with shapes and a parameter flag, nodes in dependency
// order, and ordered outputs.
//
//	{
//	  "name": "scaled",
//	  "inputs": [
//	    {"name": "x", "shape": ["n"]},
//	    {"name": "w", "shape": ["n"], "parameter": true}
//	  ],
//	  "nodes": [
//	    {"name": "y", "primitive": "mul", "operands": ["x", "w"]},
//	    {"name": "s", "primitive": "sum", "operands": ["y"]}
//	  ],
//	  "outputs": ["s"]
//	}
//
// A dimension is a positive integer or a name; a module with names is a family of modules, checked for all
// valuations at once and instantiated for one. Numbers are real: the float type belongs to a run. An
// input may state "dtype": "i64" or "bool". Every use of a name reads one value; repeated operands,
// repeated outputs and unused inputs are allowed.
//
// The primitives are those of package op, under their names and with their attributes, but that sum
// adds over all axes where it states none, and literal takes attributes shape and value.
// stop_gradient and straight_through_round are declared responses. A node may declare a response of
// its own: a program from its operands and a seed, linear in the seed, to one cotangent for each operand.
//
//	{"name": "q", "primitive": "round", "operands": ["x"],
//	 "response": {"operands": ["u"], "seed": "g", "nodes": [], "outputs": ["g"]}}
//
// Lowering keeps every node of the document, equal ones apart, so that counts are the document's. The
// transformations of package graph compute equal operations on equal operands once: values keep
// their bits, and a cotangent that the document would add at an input may be added one node earlier, which
// can change its last bits.
//
// Source: the typed tensor fragment, sections 3, 4 and 7.
package module
