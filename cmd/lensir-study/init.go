package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/studies"
)

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented study that runs",
		Long:  "Write a commented study that runs, to FILE or to study.toml. A file that is there is left alone.",
		Example: `  lensir-study init
  lensir-study init my.toml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path := "study.toml"
			if len(args) > 0 {
				path = args[0]
			}
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s is there already: name another file", path)
			}
			if err != nil {
				return err
			}
			_, err = file.WriteString(studies.Template)
			if err := errors.Join(err, file.Close()); err != nil {
				return err
			}
			fmt.Fprintf(c.ErrOrStderr(), "wrote %s; next: lensir-study run %s\n", path, studies.Argument(path))
			return nil
		},
	}
}
