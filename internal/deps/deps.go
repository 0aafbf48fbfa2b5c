// Package deps pins the modules that the first packages are being written against.
package deps

import (
	_ "codeberg.org/sbinet/npyio"
	_ "github.com/BurntSushi/toml"
	_ "github.com/expr-lang/expr/parser"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/renameio/v2"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/schollz/progressbar/v3"
	_ "github.com/spf13/cobra"
	_ "golang.org/x/term"
	_ "gonum.org/v1/gonum/mat"
	_ "gonum.org/v1/plot"
	_ "pgregory.net/rapid"
)
