"""Writes elementary.csv: elementary functions and their derivatives to 25 digits (mpmath, 400 digits).

Columns: op, x, y, value, then the derivatives: of one operand f', f''; of two f_x, f_y. A field is empty where the
function or the derivative does not exist, or is beyond float64. Run: python3 elementary.py > elementary.csv
"""
from mpmath import mp, mpf, diff, erf, nstr, pi
import mpmath as m

mp.dps = 400  # e^-700 is added to 1 without loss

tails = [1e-300, 1e-20, 1e-8, 1e-4, 0.1, 0.5, 1.0, 2.0, 5.1, 10.0, 20.0, 25.3, 26.5, 36.9, 300.25, 700.0, 709.0, 745.0, 1e10, 1e300]
line = sorted(tails + [-x for x in tails] + [0.0])
unit = [1e-300, 1e-8, 0.1, 0.5, 0.7, 0.9, 0.99, 0.9999, 1 - 2.0**-30, 1 - 2.0**-53, 1.0]
unit = sorted(unit + [-x for x in unit] + [0.0])
above = [5e-324, 1e-300, 1e-8, 0.1, 0.5, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 2.0, 10.0, 1e10, 1e300, 1.7976931348623157e308]
circle = [1e-300, 1e-8, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0, 100.0, 1e5, 1.5707963267948966, 3.141592653589793, 355.0, 314159.2653589793]
circle = sorted(circle + [-x for x in circle] + [0.0])

one = lambda x: 1 / (1 + m.exp(-x))
unary = {
    "exp": (line, [m.exp, m.exp, m.exp]),
    "expm1": (line, [m.expm1, m.exp, m.exp]),
    "log": (above, [m.log, lambda x: 1/x, lambda x: -1/x**2]),
    "log1p": ([x for x in line if x > -1] + [-1 + 2.0**-53, -0.999], [lambda x: m.log(1 + x), lambda x: 1/(1 + x), lambda x: -1/(1 + x)**2]),
    "sqrt": ([0.0] + above, [m.sqrt, lambda x: 1/(2*m.sqrt(x)), lambda x: -1/(4*m.sqrt(x)**3)]),
    "sin": (circle, [m.sin, m.cos, lambda x: -m.sin(x)]),
    "cos": (circle, [m.cos, lambda x: -m.sin(x), lambda x: -m.cos(x)]),
    "tan": (circle, [m.tan, lambda x: 1/m.cos(x)**2, lambda x: 2*m.tan(x)/m.cos(x)**2]),
    "asin": (unit, [m.asin, lambda x: 1/m.sqrt(1 - x**2), lambda x: x/m.sqrt(1 - x**2)**3]),
    "acos": (unit, [m.acos, lambda x: -1/m.sqrt(1 - x**2), lambda x: -x/m.sqrt(1 - x**2)**3]),
    "atan": (line, [m.atan, lambda x: 1/(1 + x**2), lambda x: -2*x/(1 + x**2)**2]),
    "sinh": (line, [m.sinh, m.cosh, m.sinh]),
    "cosh": (line, [m.cosh, m.sinh, m.cosh]),
    "tanh": (line, [m.tanh, lambda x: m.sech(x)**2, lambda x: -2*m.tanh(x)*m.sech(x)**2]),
    "sech2": (line, [lambda x: m.sech(x)**2, lambda x: -2*m.tanh(x)*m.sech(x)**2, lambda x: m.sech(x)**2*(4*m.tanh(x)**2 - 2*m.sech(x)**2)]),
    "logistic": (line, [one, lambda x: one(x)*one(-x), lambda x: -one(x)*one(-x)*m.tanh(x/2)]),
    "softplus": (line, [lambda x: m.log1p(m.exp(x)), one, lambda x: one(x)*one(-x)]),
    "erf": (line, [erf, lambda x: 2/m.sqrt(pi)*m.exp(-x**2), lambda x: -4*x/m.sqrt(pi)*m.exp(-x**2)]),
    "gaussian": (line, [lambda x: m.exp(-x**2), lambda x: -2*x*m.exp(-x**2), lambda x: (4*x**2 - 2)*m.exp(-x**2)]),
}
plane = [(y, x) for y in (-2.0, -1e-8, 1e-8, 0.5, 3.0, 1e150) for x in (-2.0, -1e-8, 0.0, 1e-8, 0.5, 3.0, 1e150)] + [(0.0, 2.0)]
powers = [(0.5, 2.5), (2.0, -1.5), (3.0, 0.0), (1e-8, 0.3), (1.5, 700.5), (10.0, 300.0), (1.0, 4.0), (7.0, 1.0), (1e150, 2.0), (1e-300, -1.0)]
binary = {
    "atan2": (plane, [m.atan2, lambda y, x: x/(x**2 + y**2), lambda y, x: -y/(x**2 + y**2)]),
    "hypot": (plane, [lambda x, y: m.sqrt(x**2 + y**2), lambda x, y: x/m.sqrt(x**2 + y**2), lambda x, y: y/m.sqrt(x**2 + y**2)]),
    "pow": (powers, [m.power, lambda x, y: y*m.power(x, y - 1), lambda x, y: m.power(x, y)*m.log(x)]),
    "pow_slope": (powers, [lambda x, y: y*m.power(x, y - 1), lambda x, y: y*(y - 1)*m.power(x, y - 2), lambda x, y: m.power(x, y - 1)*(1 + y*m.log(x))]),
    "div": ([(1.0, 3.0), (-2.0, 7.0), (1e300, 1e10), (1e-300, 3.0), (0.0, 5.0)], [lambda x, y: x/y, lambda x, y: 1/y, lambda x, y: -x/y**2]),
}
LARGEST = mpf(1.7976931348623157e308)


def field(f, *x):
    try:
        v = f(*[mpf(c) for c in x])
    except (ZeroDivisionError, ValueError, OverflowError):
        return ""
    if not m.isfinite(v) or abs(v) > LARGEST:
        return ""
    return "0" if v == 0 or abs(v) < mpf(2)**-1075 else nstr(v, 25, strip_zeros=False)


print("op,x,y,value,d1,d2")
for name, (points, fs) in unary.items():
    for x in points:
        print(",".join([name, repr(x), ""] + [field(f, x) for f in fs]))
for name, (points, fs) in binary.items():
    for x, y in points:
        print(",".join([name, repr(x), repr(y)] + [field(f, x, y) for f in fs]))
