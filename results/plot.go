package results

// Format is a format of figures.
type Format string

func (r *Run) WritePlots(dir string, formats ...Format) error { return nil }
