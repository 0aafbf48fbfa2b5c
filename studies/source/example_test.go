package source_test

import (
	"fmt"

	"github.com/lensir/lensir-study/studies/source"
)

func ExampleParse() {
	file, broken := source.New("a.toml", "[implicit]\ntolerence = 1e-12\n")
	if broken != nil {
		fmt.Println(broken)
		return
	}
	root, err := source.Parse(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	key := root.Child("implicit", "tolerence")
	fmt.Println(key.Path(), file.At(key.At).Raw(), file.At(key.At))
	fmt.Println(file.At(key.KeyAt).Errorf("implicit.tolerence", "unknown key %q", key.Name).
		WithHint("did you mean %q?", source.Nearest(key.Name, []string{"solver", "tolerance"})))
	// Output:
	// [implicit tolerence] 1e-12 a.toml:2:13
	// a.toml:2:1: unknown key "tolerence"
	//     2 | tolerence = 1e-12
	//       | ^^^^^^^^^
	//   did you mean "tolerance"?
}
