package studies

import _ "embed"

// Template is the commented study that the command init writes.
//
//go:embed template.txt
var Template string
