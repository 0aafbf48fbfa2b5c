//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package results

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the file for this process until it is closed, also by the end of the process, and
// reports whether another one has it. File systems without locks have none to take.
func lock(file *os.File) (taken bool) {
	return errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
