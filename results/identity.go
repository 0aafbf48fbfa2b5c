package results

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
)

// PointID names a point: the first 12 hexadecimal digits of the SHA-256 of its canonical JSON. The argument is
// made of maps with string keys, slices, arrays, strings, truth values, integers and floats; it holds all that
// the point's results depend on and nothing else. Other types are a programmer's mistake, and panic.
//
// In canonical JSON, keys are sorted, there is no space, a float is the shortest decimal with a point
// or an exponent (so that 1.0 is not the integer 1), and NaN and the infinities are the strings of a record.
func PointID(canonical any) string {
	return digest(appendCanonical(nil, reflect.ValueOf(canonical)))
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:12]
}

func appendCanonical(b []byte, v reflect.Value) []byte {
	if !v.IsValid() {
		return append(b, "null"...)
	}
	if own, ok := v.Interface().(Value); ok {
		return own.appendJSON(b)
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return appendCanonical(b, v.Elem())
	case reflect.String:
		return Text(v.String()).appendJSON(b)
	case reflect.Bool:
		return Bool(v.Bool()).appendJSON(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Append(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Append(b, v.Uint())
	case reflect.Float32, reflect.Float64:
		return Float(v.Float()).appendJSON(b)
	case reflect.Slice, reflect.Array:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, v.Index(i))
		}
		return append(b, ']')
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			break
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		b = append(b, '{')
		for i, key := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSONString(b, key.String()), ':')
			b = appendCanonical(b, v.MapIndex(key))
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("results: a point cannot be named by a %s", v.Type()))
}

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
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}
