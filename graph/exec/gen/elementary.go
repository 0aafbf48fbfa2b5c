//go:build ignore

// elementary writes elementary_amd64.s: kernels of elementary functions for AVX2 and AVX-512 that repeat those of package
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
	memory   bool // the constant comes first, where it may stand in memory
	over     bool // the result replaces the first argument
	always   bool // it has an effect
}

// kernel collects the instructions of one function of x, which is value 0.
type kernel struct {
	set
	list []instruction
}

// emit adds an instruction, or finds the one before that computes the same.
func (k *kernel) emit(i instruction) value {
	for j, q := range k.list {
		if q.format == i.format && slices.Equal(q.args, i.args) && q.constant == i.constant {
			return value(j)
		}
	}
	k.list = append(k.list, i)
	return value(len(k.list) - 1)
}

// The operand of the assembler that comes last is the result; the one before is the first operand.
func (k *kernel) two(name string, a, b value) value {
	return k.emit(instruction{format: "V" + name + " %[2]s, %[1]s, %[3]s", args: []value{a, b}})
}
func (k *kernel) with(name string, a value, c string) value {
	return k.emit(instruction{format: "V" + name + " %[2]s, %[1]s, %[3]s", args: []value{a}, constant: c, memory: true})
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
	return k.emit(instruction{format: "VFNMADD231PD %[3]s, %[2]s, %[4]s", args: []value{c, a}, constant: constant, memory: true, over: true})
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

// write prints the loop over whole vectors. Each result takes a register that no value still to be read is in; register
// 15 is for the constants that do not stay in those from 16 on, which AVX-512 has.
func (k *kernel) write(result value) {
	last := make([]int, len(k.list))
	last[result] = len(k.list)
	for i, q := range slices.Backward(k.list) {
		if last[i] == 0 && !q.always {
			continue
		}
		for _, a := range q.args {
			last[a] = max(last[a], i)
		}
	}
	name := func(r int) string { return fmt.Sprintf("%s%d", k.reg, r) }
	var stay []string
	for i, q := range k.list {
		if _, ok := constants[q.constant]; !ok && q.constant != "" {
			log.Fatalf("no constant %s", q.constant)
		}
		if (last[i] > 0 || q.always) && q.constant != "" && !slices.Contains(used, q.constant) {
			used = append(used, q.constant)
		}
		if k.n == 8 && last[i] > 0 && q.constant != "" && len(stay) < 16 && !slices.Contains(stay, q.constant) {
			p("\tVBROADCASTSD elementary_%s<>(SB), %s", q.constant, name(16+len(stay)))
			stay = append(stay, q.constant)
		}
	}
	p("loop:\n\tCMPQ CX, $%d\n\tJL done\n\tVMOVUPD (SI), %s", k.n, name(0))
	at := make([]int, len(k.list))
	free := []int{14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	for i, q := range k.list[1:] {
		i++
		if last[i] == 0 && !q.always {
			continue
		}
		var operands []any
		for _, a := range q.args {
			operands = append(operands, name(at[a]))
		}
		if r := slices.Index(stay, q.constant); r >= 0 {
			operands = append(operands, name(16+r))
		} else if q.constant != "" && q.memory {
			operands = append(operands, fmt.Sprintf("elementary_%s<>(SB)", q.constant))
			if k.n == 8 {
				q.format = strings.Replace(q.format, " ", ".BCST ", 1)
			}
		} else if q.constant != "" {
			p("\tVBROADCASTSD elementary_%s<>(SB), %s", q.constant, name(15))
			operands = append(operands, name(15))
		}
		replaced := q.over && last[q.args[0]] == i && !slices.Contains(q.args[1:], q.args[0])
		release := func() {
			for j, a := range q.args {
				if last[a] == i && !slices.Contains(q.args[:j], a) && !(replaced && j == 0) {
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
		case replaced:
			at[i] = at[q.args[0]]
			release()
		case q.over: // the result must not be one of the other operands
			at[i] = take()
			p("\tVMOVAPD %s, %s", operands[0], name(at[i]))
			release()
		default:
			release()
			at[i] = take()
		}
		p("\t"+q.format, append(operands, name(at[i]))...)
		if last[i] == 0 {
			free = append(free, at[i])
		}
	}
	p("\tVMOVUPD %s, (DI)", name(at[result]))
	p("\tADDQ $%d, SI\n\tADDQ $%d, DI\n\tSUBQ $%d, CX\n\tJMP loop", 8*k.n, 8*k.n, k.n)
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

// powerOfTwo is 2ⁿ for n + expRound.
func (k *kernel) powerOfTwo(shifted value) value { return k.left(k.with("PADDQ", shifted, "bias"), 52) }

// times is 2ⁿy where 2ⁿ is a normal number.
func (k *kernel) times(y, n value) value {
	if k.n == 8 {
		return k.two("SCALEFPD", y, n)
	}
	return k.mul(y, k.powerOfTwo(k.addC(n, "expRound")))
}

// scale is 2ⁿy, rounded once.
func (k *kernel) scale(y, n value) value {
	if k.n == 8 {
		return k.two("SCALEFPD", y, n)
	}
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
	n = k.atLeast("lowestPower", n)
	d, f = k.fastSumC("one", k.times(h, n))
	return d, k.add(f, k.times(l, n))
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
	// −0 counts as below 0, which gives the same.
	y, e := k.quotient(k.bySign(x, h, k.constant("one")), k.bySign(x, l, k.constant("zero")), d, f)
	return k.scale(k.add(y, e), k.bySign(x, n, k.constant("zero")))
}

func (k *kernel) constant(c string) value {
	return k.emit(instruction{format: "VMOVAPD %[1]s, %[2]s", constant: c})
}

// stopBeyond leaves the loop where an entry exceeds the constant.
func (k *kernel) stopBeyond(a value, c string) {
	format := "VCMPPD $14, %[2]s, %[1]s, %[3]s\n\tVMOVMSKPD %[3]s, AX\n\tTESTL AX, AX\n\tJNE done"
	if k.n == 8 {
		format = "VCMPPD $14, %[2]s, %[1]s, K1\n\tKTESTB K1, K1\n\tJNE done"
	}
	k.emit(instruction{format: format, args: []value{a}, constant: c, memory: true, always: true})
}

// circular is the sine of x, or its cosine.
func (k *kernel) circular(x value, cosine bool) value {
	k.stopBeyond(k.abs(x), "trigLimit")
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
			k := &kernel{set: s}
			k.write(f.value(k, k.emit(instruction{})))
			p("done:\n\tSUBQ CX, DX\n\tMOVQ DX, ret+24(FP)\n\tVZEROUPPER\n\tRET\n")
		}
	}
	text := strings.TrimRight(out.String(), "\n") + "\n"
	out.Reset()
	p("// Code generated by gen/elementary.go; DO NOT EDIT.\n\n#include \"textflag.h\"\n")
	for _, c := range used {
		for lane := range 4 {
			p("DATA elementary_%s<>+%d(SB)/8, $0x%016x", c, 8*lane, math.Float64bits(constants[c]))
		}
		p("GLOBL elementary_%s<>(SB), RODATA|NOPTR, $32", c)
	}
	p("")
	if err := os.WriteFile("elementary_amd64.s", []byte(out.String()+text), 0o644); err != nil {
		log.Fatal(err)
	}
}
