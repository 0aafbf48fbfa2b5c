package exec

import "fmt"

// AtLevels runs f with every set of kernels that the machine has.
func AtLevels(f func(name string)) {
	best := level
	defer func() { level = best }()
	for level = best; level >= 0; level-- {
		f(fmt.Sprintf("level %d", level))
	}
}
