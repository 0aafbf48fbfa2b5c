// Package source reads TOML text with its places, and makes errors that show them.
//
// [Parse] turns a [File] into a tree of [Node]s. The TOML library decides what the text says and whether it is valid;
// a small scanner (scan.go) adds what the library keeps to itself: where each key and value stands, the order of keys,
// and numbers exactly as they were written.
//
// A [Place] is a stretch of a file. An [Error] that is made of one by [Place.Errorf] has the file, line and column, and
// shows the line itself with a caret and, if there is one, a hint.
package source
