package main

import (
	"context"
	"os"
)

// The whole command is one function of its streams and arguments.
func Example() {
	run(context.Background(), os.Stdout, os.Stderr, []string{"run", "contraction", "--dry-run", "--json"})
	// Output:
	// {"study":"contraction","point":"911be518fa8d","q":0.1}
	// {"study":"contraction","point":"0e57f7341440","q":0.5}
	// {"study":"contraction","point":"34b1222cff0b","q":0.9}
	// {"study":"contraction","point":"a49c924a09a1","q":0.99}
}
