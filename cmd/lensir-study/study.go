package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/studies"
	"github.com/lensir/lensir-study/studies/model"
)

// open reads and compiles a study with its settings; an error is that of an invalid study.
func open(arg string, settings []string) (*model.Model, error) {
	s, err := studies.Open(arg)
	if err == nil {
		s, err = studies.Apply(s, settings)
	}
	var m *model.Model
	if err == nil {
		m, err = model.Compile(s)
	}
	if err != nil {
		return nil, &exit{exitInvalid, err}
	}
	return m, nil
}

// settingsFlag adds --set to a command that opens studies.
func settingsFlag(c *cobra.Command, settings *[]string) {
	c.Flags().StringArrayVar(settings, "set", nil,
		"set a constant, a parameter or a setting by `key=value`, with the\nvalue as in a study file; may be given several times")
}

// someStudies wants at least one study, oneStudy exactly one.
func someStudies(_ *cobra.Command, args []string) error {
	if len(args) == 0 || slices.Contains(args, "") {
		return errors.New("no study is named: give a file, or the name of a built-in study (lensir-study list)")
	}
	return nil
}

func oneStudy(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return errors.New("several studies are named: give one")
	}
	return someStudies(c, args)
}

// completeStudy offers the built-in studies; files come from the shell.
func completeStudy(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return studies.Gallery(), cobra.ShellCompDirectiveDefault
}
