package exec

import "github.com/lensir/lensir-study/graph"

// code is the instruction list of a program: plain data, which a Workspace runs.
type code struct {
	p     *graph.Program
	laned bool // linear values have one entry for each lane
	tile  int

	steps []step
	once  int // steps before this one do not depend on lanes

	scalars   []scalar // the instructions of all scalar steps
	groups    []group
	moves     []move
	sums      []sum
	scans     []scan
	products  []product
	indexed   []indexed
	evals     []eval
	views     []view
	singles   []tileOp      // elementwise operations among the scalar instructions
	nodes     []*graph.Node // leaf functions of scalar instructions
	constants []constant

	fours      bool // all is there four times, for four lanes
	scalarOnly bool // there is one step of scalars at most, and no other input or output

	inputs, outputs           []size
	scalarInputs              []int32 // their numbers: they are copied to consecutive registers,
	firstInput                int     // from this one on
	scalarOutputs             []scalarPlace
	arrayInputs, arrayOutputs []arrayPlace

	// sizes of what a Workspace owns
	registers   int
	fixed, ints arena // entries
	perLane     arena // entries, for each lane
	tiles       int   // float tiles of the largest group
	intTiles    int
	maxArgs     int
}

// step is one instruction: its kind, and its place in the table of that kind.
type step struct {
	kind stepKind
	at   int32
	end  int32 // of scalar steps
}

type stepKind uint8

const (
	stepScalars stepKind = iota
	stepGroup
	stepMove
	stepSum
	stepScan
	stepProduct
	stepGather
	stepScatter
	stepEval // asks the operation itself
)

// view is a stretch of memory that instructions read or write.
type view struct {
	space space
	isInt bool
	laned bool // n entries for each lane
	at    int  // offset, or number of the input, output or tile
	n     int
	of    graph.Value   // that it holds
	value *graph.Tensor // of a literal
}

type space uint8

const (
	inRegisters space = iota
	inFixed           // the arena of what does not depend on lanes
	inLanes           // the arena of what does
	inInts
	inInput
	inOutput
	inLiteral     // entries of the program text
	inTile        // one tile of a group
	inLiteralTile // a tile full of one literal
)

// operand names a view; a tiled one holds the current tile only.
type operand struct {
	view  int32
	tiled bool
}

const noOperand = int32(-1)

// tileOp is one elementwise operation of a group.
type tileOp struct {
	code        opcode
	spread      spreadMode
	d, a, b, c  operand
	size, inner int
	node        *graph.Node
}

// spreadMode says how lanes take part in kSpread.
type spreadMode uint8

const (
	spreadPlain  spreadMode = iota // neither side has lanes
	spreadShared                   // the operand has none, the result has
	spreadLanes                    // both have
)

// group is a list of elementwise operations over arrays of n entries (for each lane).
type group struct {
	n     int
	laned bool
	ops   []tileOp
}

// scalar is one scalar instruction: operands are byte offsets of registers.
type scalar struct {
	code             uint16
	d, a, b, c, e, f uint32
}

// constant is a register that holds a literal.
type constant struct {
	register int
	value    float64
}

// move copies blocks of entries into d, which starts from zero if the blocks do not fill it.
type move struct {
	d      int32
	zero   bool
	isInt  bool
	laned  bool // d has lanes
	blocks []block
}

// block copies a strided block of entries.
type block struct {
	src            int32
	shared         bool // the source has no lanes, the result has
	from, to       int
	run            int // entries that lie together on both sides, if that is all
	dims           []int
	fromStep, step []int
}

// sum adds x[o, r, i] over r; a general pattern of axes lists the offsets instead.
type sum struct {
	d, x                 int32
	isInt, laned         bool
	outer, length, inner int
	kept, summed         []int
}

// scan is a running sum along the middle axis.
type scan struct {
	d, x                 int32
	isInt, laned         bool
	reverse              bool
	outer, length, inner int
}

// product is a matrix product of op(a): m×k and op(b): k×n.
type product struct {
	d, a, b        int32
	m, k, n        int
	ta, tb         bool
	lanesA, lanesB bool
}

// indexed is a gather (d[i] = x[index[i]]) or a scatter (d[index[i]] += x[i]) of rows.
type indexed struct {
	d, x, index  int32
	rows, width  int
	isInt, laned bool
}

// eval runs the reference kernel of an operation that has none here.
type eval struct {
	d    int32
	in   []int32
	node *graph.Node
}

// size is the number of entries of a buffer.
type size struct{ floats, perLane, ints int }

// scalarPlace is an output that is copied from a register, given by its byte offset.
type scalarPlace struct {
	number   int32
	register uint32
}

// arrayPlace is an input or output that is used where it is, through a view of its buffer, or an
// output that is copied from another view at the end; −1: none.
type arrayPlace struct {
	number       int32
	view, source int32
	isInt        bool
	isBool       bool // an input that must hold 0 and 1 only
	spread       bool // the source has no lanes, the output has
}
