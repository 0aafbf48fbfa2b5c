package studies_test

import (
	"fmt"
	"testing/fstest"

	"github.com/lensir/lensir-study/studies"
)

func ExampleRead() {
	fsys := fstest.MapFS{"kepler.toml": {Data: []byte(`
kind = "root"

[parameters]
e = 0.1
M = 0.5

[state]
E = { start = "M" }

[root]
r = "E - e * sin(E) - M"

[objective]
J = "E"

[sweep.grid]
e = { linspace = [0.1, 0.3, 3] }
`)}}
	study, err := studies.Read(fsys, "kepler.toml")
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range study.Sweep.Len() {
		point := study.Point(i)
		fmt.Println(point.ID(1, 1), point.Parameters[0].Name, point.Parameters[0].Value.Data)
	}

	_, err = studies.Apply(study, []string{"parameters.M=nan"})
	fmt.Println(err)
	// Output:
	// 552a852eaea8 e [0.1]
	// e57e68042765 e [0.2]
	// ebf7ab62cb6c e [0.3]
	// kepler.toml with --set parameters.M=nan:6:5: [parameters] M is nan, which is not a finite number
	//     6 | M = nan
	//       |     ^^^
}
