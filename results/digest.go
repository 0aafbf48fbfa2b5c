package results

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// Digest names a content: the first 12 hexadecimal digits of its SHA-256. A point is named by the digest of
// all that its results depend on and nothing else.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return shorten(sum[:])
}

func shorten(sum []byte) string { return hex.EncodeToString(sum)[:12] }

// ToolDigest is the digest of the running program: the first 12 hexadecimal digits of the SHA-256 of its
// file. Any change of the code changes it, and with it which records are reused.
func ToolDigest() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return shorten(h.Sum(nil)), nil
}
