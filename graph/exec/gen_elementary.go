//go:build ignore

// gen_elementary writes elementary_amd64.s: kernels of elementary functions for AVX2 and AVX-512 that repeat those of package
// op operation for operation. Their constants are read from the source of that package.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"log"
	"math"
	"os"
	"slices"
	"strings"
)

// set is an instruction set: its vector registers, and the entries that one holds.
type set struct {
	name string
	reg  string
	n    int
}

var sets = []set{{"AVX2", "Y", 4}, {"AVX512", "Z", 8}}

// value names a vector that the kernel computes: the number of the instruction that does.
type value int

// instruction computes a vector from others, and one constant: the format gets the registers of the arguments, the constant's
// and the result's.
type instruction struct {
	format   string
	args     []value
	constant string
	over     bool // the result replaces the first argument
}

// kernel collects the instructions of one function of x, which is value 0.
type kernel struct {
	set
	list []instruction
}

func (k *kernel) emit(i instruction) value {
	k.list = append(k.list, i)
	return value(len(k.list) - 1)
}

// The operand of the assembler that comes last is the result; the one before is the first operand.
func (k *kernel) two(name string, a, b value) value {
	return k.emit(instruction{format: "V" + name + " %[2]s, %[1]s, %[3]s", args: []value{a, b}})
}
func (k *kernel) with(name string, a value, c string) value {
	return k.emit(instruction{format: "V" + name + " %[2]s, %[1]s, %[3]s", args: []value{a}, constant: c})
}
func (k *kernel) from(name, c string, b value) value {
	return k.emit(instruction{format: "V" + name + " %[1]s, %[2]s, %[3]s", args: []value{b}, constant: c})
}
func (k *kernel) add(a, b value) value            { return k.two("ADDPD", a, b) }
func (k *kernel) sub(a, b value) value            { return k.two("SUBPD", a, b) }
func (k *kernel) mul(a, b value) value            { return k.two("MULPD", a, b) }
func (k *kernel) addC(a value, c string) value    { return k.with("ADDPD", a, c) }
func (k *kernel) subC(a value, c string) value    { return k.with("SUBPD", a, c) }
func (k *kernel) mulC(a value, c string) value    { return k.with("MULPD", a, c) }
func (k *kernel) fromC(c string, b value) value   { return k.from("SUBPD", c, b) }
func (k *kernel) over(c string, b value) value    { return k.from("DIVPD", c, b) }
func (k *kernel) atMost(c string, a value) value  { return k.from("MINPD", c, a) } // a, where it is NaN
func (k *kernel) atLeast(c string, a value) value { return k.from("MAXPD", c, a) }
func (k *kernel) abs(a value) value               { return k.with("ANDPD", a, "absMask") }
func (k *kernel) minus(a value) value             { return k.with("XORPD", a, "signMask") }

// fused is c + a·b, a·b − c or c − a·b, by the names VFMADD, VFMSUB and VFNMADD.
func (k *kernel) fused(name string, c, a, b value) value {
	return k.emit(instruction{format: name + "231PD %[2]s, %[3]s, %[4]s", args: []value{c, a, b}, over: true})
}

// fusedC is c − a·constant.
func (k *kernel) fusedC(c, a value, constant string) value {
	return k.emit(instruction{format: "VFNMADD231PD %[2]s, %[3]s, %[4]s", args: []value{c, a}, constant: constant, over: true})
}

// choose is yes where x ≥ 0 and no elsewhere.
func (k *kernel) choose(x, yes, no value) value {
	format := "VXORPD Y15, Y15, Y15\n\tVCMPPD $13, Y15, %[1]s, Y15\n\tVBLENDVPD Y15, %[2]s, %[3]s, %[4]s"
	if k.n == 8 {
		format = "VPXORQ Z15, Z15, Z15\n\tVCMPPD $13, Z15, %[1]s, K1\n\tVBLENDMPD %[2]s, %[3]s, K1, %[4]s"
	}
	return k.emit(instruction{format: format, args: []value{x, yes, no}})
}

// bySign is yes where the sign bit of x is set and no elsewhere.
func (k *kernel) bySign(x, yes, no value) value {
	format := "VBLENDVPD %[1]s, %[2]s, %[3]s, %[4]s"
	if k.n == 8 {
		format = "VPMOVQ2M %[1]s, K1\n\tVBLENDMPD %[2]s, %[3]s, K1, %[4]s"
	}
	return k.emit(instruction{format: format, args: []value{x, yes, no}})
}

func (k *kernel) left(a value, bits int) value {
	return k.emit(instruction{format: fmt.Sprintf("VPSLLQ $%d, %%[1]s, %%[2]s", bits), args: []value{a}})
}

// write assigns registers, each to the next result once its value is read for the last time, and prints the instructions. Register 15 is for constants.
func (k *kernel) write(result value) {
	last := make([]int, len(k.list))
	for i, q := range k.list {
		for _, a := range q.args {
			last[a] = i
		}
	}
	last[result] = len(k.list)
	at := make([]int, len(k.list))
	free := []int{14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}
	name := func(r int) string { return fmt.Sprintf("%s%d", k.reg, r) }
	for i, q := range k.list {
		var operands []any
		for _, a := range q.args {
			operands = append(operands, name(at[a]))
		}
		if q.constant != "" {
			use(q.constant)
			p("\tVBROADCASTSD elementary_%s<>(SB), %s", q.constant, name(15))
			operands = append(operands, name(15))
		}
		release := func() {
			for j, a := range q.args {
				if last[a] == i && !slices.Contains(q.args[:j], a) {
					free = append(free, at[a])
				}
			}
		}
		take := func() int {
			if len(free) == 0 {
				log.Fatalf("no register for instruction %d", i)
			}
			r := free[len(free)-1]
			free = free[:len(free)-1]
			return r
		}
		switch {
		case q.over && last[q.args[0]] == i && !slices.Contains(q.args[1:], q.args[0]):
			at[i] = at[q.args[0]]
			release()
			free = slices.DeleteFunc(free, func(r int) bool { return r == at[i] })
		case q.over: // the result must not be one of the other operands
			at[i] = take()
			p("\tVMOVAPD %s, %s", operands[0], name(at[i]))
			release()
		default:
			release()
			at[i] = take()
		}
		if q.format != "" {
			p("\t"+q.format, append(operands, name(at[i]))...)
		} else {
			p("\tVMOVUPD (SI), %s", name(at[i]))
		}
	}
	p("\tVMOVUPD %s, (DI)", name(at[result]))
}

var out bytes.Buffer

func p(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }

// constants are those of package op and a few more; used lists the names in use.
var (
	constants = map[string]float64{"half": 0.5, "one": 1, "two": 2, "four": 4, "zero": 0, "minusTwo": -2,
		"bias": math.Float64frombits(1023), "absMask": math.Float64frombits(1<<63 - 1), "signMask": math.Float64frombits(1 << 63),
		"lowestBit": math.Float64frombits(1), "tanhHigh": 20, "sech2High": 374, "lowestPower": -1000, "expLowest": 746}
	used []string
)

func use(name string) {
	if _, ok := constants[name]; !ok {
		log.Fatalf("no constant %s", name)
	}
	if !slices.Contains(used, name) {
		used = append(used, name)
	}
}

func readConstants(file string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range f.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, s := range d.Specs {
			s := s.(*ast.ValueSpec)
			for i, v := range s.Values {
				sign := 1.0
				if u, ok := v.(*ast.UnaryExpr); ok {
					sign, v = -1, u.X
				}
				if l, ok := v.(*ast.BasicLit); ok {
					x, _ := constant.Float64Val(constant.ToFloat(constant.MakeFromLiteral(l.Value, l.Kind, 0)))
					constants[s.Names[i].Name] = sign * x
				}
			}
		}
	}
}

// The functions of package op.

func (k *kernel) fastSum(a, b value) (s, e value) {
	s = k.add(a, b)
	return s, k.sub(b, k.sub(s, a))
}

func (k *kernel) fastSumC(c string, b value) (s, e value) {
	s = k.addC(b, c)
	return s, k.sub(b, k.subC(s, c))
}

func (k *kernel) twoSum(a, b value) (s, e value) {
	s = k.add(a, b)
	t := k.sub(s, a)
	return s, k.add(k.sub(a, k.sub(s, t)), k.sub(b, t))
}

func (k *kernel) product(a, b value) (q, e value) {
	q = k.mul(a, b)
	return q, k.fused("VFMSUB", q, a, b)
}

func (k *kernel) quotient(a, al, b, bl value) (q, e value) {
	inverse := k.over("one", b)
	q = k.mul(a, inverse)
	return q, k.mul(k.add(k.fused("VFNMADD", a, q, b), k.sub(al, k.mul(q, bl))), inverse)
}

func (k *kernel) powerOfTwo(shifted value) value { return k.left(k.with("PADDQ", shifted, "bias"), 52) }

func (k *kernel) scale(y, n value) value {
	half := k.addC(k.mulC(n, "half"), "expRound")
	rest := k.addC(k.sub(n, k.subC(half, "expRound")), "expRound")
	return k.mul(k.mul(y, k.powerOfTwo(half)), k.powerOfTwo(rest))
}

func (k *kernel) expReduce(x value) (n, r, e value) {
	n = k.subC(k.addC(k.mulC(x, "expLog2e"), "expRound"), "expRound")
	hi, lo := k.sub(x, k.mulC(n, "expLn2High")), k.fromC("zero", k.mulC(n, "expLn2Low"))
	r = k.add(hi, lo)
	return n, r, k.add(k.sub(hi, r), lo)
}

// linear is c₀ + c₁x.
func (k *kernel) linear(x value, c0, c1 string) value { return k.addC(k.mulC(x, c1), c0) }

func (k *kernel) expTail(r value) value {
	z := k.mul(r, r)
	z2 := k.mul(z, z)
	a := k.linear(r, "expP8", "expP9")
	a = k.add(k.mul(z2, a), k.add(k.mul(z, k.linear(r, "expP6", "expP7")), k.linear(r, "expP4", "expP5")))
	a = k.add(k.mul(z2, a), k.add(k.mul(z, k.linear(r, "expP2", "expP3")), k.linear(r, "expP0", "expP1")))
	return k.add(k.mulC(z, "half"), k.mul(k.mul(r, z), a))
}

func (k *kernel) expParts(x value) (n, h, l value) {
	n, r, e := k.expReduce(x)
	one, f := k.fastSumC("one", r)
	h, l = k.fastSum(one, k.add(f, k.add(k.expTail(r), k.mul(e, one))))
	return n, h, l
}

func (k *kernel) exp(x value) value {
	n, h, _ := k.expParts(k.atMost("expHigh", k.atLeast("expLow", x)))
	return k.scale(h, n)
}

func (k *kernel) tanh(x value) value {
	z := k.atMost("tanhHigh", k.abs(x))
	n, r, e := k.expReduce(k.add(z, z))
	q := k.powerOfTwo(k.fromC("expRound", n))
	one, f := k.fastSum(k.fromC("one", q), r)
	h, l := k.fastSum(one, k.add(f, k.add(k.expTail(r), k.mul(e, k.addC(r, "one")))))
	d, g := k.twoSum(h, k.add(q, q))
	y, rest := k.quotient(h, l, d, k.add(g, l))
	return k.two("ORPD", k.abs(k.add(y, rest)), k.with("ANDPD", x, "signMask"))
}

// onePlus is 1 + 2ⁿ(h + l).
func (k *kernel) onePlus(n, h, l value) (d, f value) {
	q := k.powerOfTwo(k.addC(k.atLeast("lowestPower", n), "expRound"))
	d, f = k.fastSumC("one", k.mul(h, q))
	return d, k.add(f, k.mul(l, q))
}

func (k *kernel) sech2(x value) value {
	n, h, l := k.expParts(k.mulC(k.atMost("sech2High", k.abs(x)), "minusTwo"))
	d, f := k.onePlus(n, h, l)
	s, t := k.product(d, d)
	y, e := k.quotient(h, l, s, k.add(t, k.mulC(k.mul(d, f), "two")))
	return k.scale(k.add(y, e), k.addC(n, "two"))
}

func (k *kernel) logistic(x value) value {
	n, h, l := k.expParts(k.minus(k.atMost("expLowest", k.abs(x))))
	d, f := k.onePlus(n, h, l)
	zero := k.constant("zero")
	h = k.choose(x, k.constant("one"), h)
	y, e := k.quotient(h, k.choose(x, zero, l), d, f)
	return k.scale(k.add(y, e), k.choose(x, zero, n))
}

func (k *kernel) constant(c string) value {
	return k.emit(instruction{format: "VMOVAPD %[1]s, %[2]s", constant: c})
}

// circular is the sine of x, or its cosine.
func (k *kernel) circular(x value, cosine bool) value {
	k.emit(instruction{format: map[int]string{
		4: "VANDPD %[2]s, %[1]s, %[3]s\n\tVBROADCASTSD elementary_trigLimit<>(SB), Y15\n\tVCMPPD $14, Y15, %[3]s, %[3]s\n\tVMOVMSKPD %[3]s, AX\n\tTESTL AX, AX\n\tJNE done",
		8: "VPANDQ %[2]s, %[1]s, %[3]s\n\tVBROADCASTSD elementary_trigLimit<>(SB), Z15\n\tVCMPPD $14, Z15, %[3]s, K1\n\tKMOVB K1, AX\n\tTESTL AX, AX\n\tJNE done",
	}[k.n], args: []value{x}, constant: "absMask"})
	use("trigLimit")
	shifted := k.addC(k.mulC(x, "twoOverPi"), "expRound")
	n := k.subC(shifted, "expRound")
	r := k.fusedC(x, n, "piHalf1")
	second := k.constant("piHalf2")
	w, low := k.product(n, second)
	s, f := k.twoSum(r, k.minus(w))
	e := k.sub(f, k.add(low, k.mulC(n, "piHalf3")))
	if cosine {
		shifted = k.with("PADDQ", shifted, "lowestBit")
	}
	r = s
	z := k.mul(r, r)
	z2 := k.mul(z, z)
	polynomial := func(c string) value {
		a := k.add(k.mul(z2, k.linear(z, c+"4", c+"5")), k.linear(z, c+"2", c+"3"))
		return k.add(k.mul(z2, a), k.linear(z, c+"0", c+"1"))
	}
	half := k.mulC(z, "half")
	sine := k.add(r, k.add(k.mul(r, k.mul(z, polynomial("sinP"))), k.mul(e, k.fromC("one", half))))
	sine = k.two("ORPD", k.abs(sine), k.with("ANDPD", r, "signMask"))
	one, g := k.fastSumC("one", k.minus(half))
	rest := k.sub(k.mul(z2, polynomial("cosP")), k.addC(k.mul(r, e), "zero"))
	y := k.bySign(k.left(shifted, 63), k.add(one, k.add(g, rest)), sine)
	return k.two("XORPD", y, k.with("ANDPD", k.left(shifted, 62), "signMask"))
}

func main() {
	readConstants("../op/kernels.go")
	readConstants("../op/kernels_trig.go")
	readConstants("../op/kernels_tables.go")
	for _, s := range sets {
		for _, f := range []struct {
			name  string
			value func(k *kernel, x value) value
		}{
			{"exp", (*kernel).exp}, {"tanh", (*kernel).tanh}, {"sech2", (*kernel).sech2}, {"logistic", (*kernel).logistic},
			{"sin", func(k *kernel, x value) value { return k.circular(x, false) }},
			{"cos", func(k *kernel, x value) value { return k.circular(x, true) }},
		} {
			p("// func %s%s(d, a *float64, n int) int", f.name, s.name)
			p("TEXT ·%s%s(SB), NOSPLIT, $0-32", f.name, s.name)
			p("\tMOVQ d+0(FP), DI\n\tMOVQ a+8(FP), SI\n\tMOVQ n+16(FP), CX\n\tMOVQ CX, DX")
			p("loop:\n\tCMPQ CX, $%d\n\tJL done", s.n)
			k := &kernel{set: s}
			k.write(f.value(k, k.emit(instruction{})))
			p("\tADDQ $%d, SI\n\tADDQ $%d, DI\n\tSUBQ $%d, CX\n\tJMP loop", 8*s.n, 8*s.n, s.n)
			p("done:\n\tSUBQ CX, DX\n\tMOVQ DX, ret+24(FP)\n\tVZEROUPPER\n\tRET\n")
		}
	}
	text := strings.TrimRight(out.String(), "\n") + "\n"
	out.Reset()
	p("// Code generated by gen_elementary.go; DO NOT EDIT.\n\n#include \"textflag.h\"\n")
	for _, c := range used {
		p("DATA elementary_%s<>(SB)/8, $0x%016x\nGLOBL elementary_%s<>(SB), RODATA|NOPTR, $8", c, math.Float64bits(constants[c]), c)
	}
	p("")
	if err := os.WriteFile("elementary_amd64.s", []byte(out.String()+text), 0o644); err != nil {
		log.Fatal(err)
	}
}
