package figures

import (
	"flag"

	_ "pgregory.net/rapid" // which declares the flag
)

// The tests of laws draw the same cases in every run; -rapid.seed=0 draws others.
func init() {
	if err := flag.Set("rapid.seed", "20261012"); err != nil {
		panic(err)
	}
}
