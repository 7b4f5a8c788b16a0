"""Random scripts of bash: sums, patterns and words."""

from random import Random

_SIGNS = ["+", "-", "*", "/", "%", "**", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "^"]
_SIGNS += ["|", "&&", "||", ","]
_SETS = ["=", "+=", "-=", "*=", "<<=", "|=", "&=", "^=", "%=", "/=", ">>="]
_NUMBERS = ["0", "1", "2", "3", "7", "8", "64", "010", "0x1f", "2#101", "16#fF", "36#z", "64#_"]
_NUMBERS += ["9223372036854775807"]
_VALUES = ["X", "Y", "Z", "A[0]", "A[X]", "A[i++]", "E", "S", "$X", "${Y}", "$((Z+1))"]
_TARGETS = ["X", "Y", "Z", "A[0]", "A[2]", "A[X]", "i"]
_FORMS = [
    "P $((%s))", "((%s)) && P y || P n", "P $((%s)) $X", "let '%s'", "P ${A[%s]}",
    "for ((%s; i<3; i++)); do P $i; done", "U=abcdef; P ${U:%s:2}", "declare -i D='%s'; P $D",
    "[[ '%s' -gt 2 ]] && P g || P l",
]  # fmt: skip
_LETTERS = ["a", "b", "1", ".", "-", "\\a", "\\*", "'*'", '"a"', "'b?'", '"$V"', "$W", "x"]
_SOME = ["[ab]", "[!a]", "[^ab]", "[a-c]", "[[:digit:]]", "[![:alpha:]]", "[]a]", "[a-]", "[a"]
_PIECES = [
    "a", "b=", "\\ ", "\\n", "'s q'", '"d q"', "$X", '"$X"', "${X}", "$E", '"$E"', "${A[@]}",
    '"${A[@]}"', '"${A[*]}"', "$A", "${A[1]}", '"$@"', "$@", "$*", '"$*"', "$1", "${#X}",
    "${#A[@]}", "{1,2}", "{1..3}", "{a,b{c,d}}", "{a}", "{,x}", "{3..1}", "$((1+2))",
    "$(echo q r)", '"$(echo q  r)"', "''", '""', "$'a\\tb'", "`echo z`", "${X:1:2}", "${X: -2}",
    "${X^^}", "${X#a}", "${X%c}", "${X/b/Q}", "${X//b}", "${A[@]:1}", "${A[@]/b/Q}", "${@:2}",
    "${!N}", "~", "x:~", "${U:-w v}", '"${U:-w v}"', "${E:-$X}", "${E-d}", "${X:+'q r'}",
]  # fmt: skip
_BEFORE = ["", "", "", "IFS=,\n", "IFS=', '\n", "IFS=\n", "IFS=:\n", "unset IFS\n"]
_TEXTS = ["abc", "'a b'", "'  a  b '", "a,b", "',a,,b,'", "a:b", "'a, b'"]


def _expression(random: Random, depth: int = 0) -> str:
    kind = random.random()
    if depth > 3 or kind < 0.22:
        return random.choice(random.choice([_NUMBERS, _VALUES]))
    inner = _expression(random, depth + 1)
    if kind < 0.62:
        return f"{inner}{random.choice(_SIGNS)} {_expression(random, depth + 1)}"
    if kind < 0.7:
        return random.choice(["-", "+", "!", "~"]) + inner
    if kind < 0.78:
        return f"({inner})"
    if kind < 0.84:
        return f"{inner} ? {_expression(random, depth + 1)} : {_expression(random, depth + 1)}"
    target = random.choice(_TARGETS)
    if kind < 0.92:
        return f"{target}{random.choice(_SETS)}{inner}"
    return random.choice(["++{}", "--{}", "{}++", "{}--"]).format(target)


def sum_script(random: Random) -> str:
    """A sum, and what its variables are after it."""
    x, y, z = (random.choice(one.split()) for one in ("0 1 2 5", "3 -2 8", "0 6 1"))
    text = random.choice(_FORMS).replace("%s", _expression(random))
    return f'X={x}; Y={y}; Z={z}; A=(4 5 6); i=0; E=X+1; S=\n{text}\nP $X $Y $Z "${{A[@]}}" $i'


def _pattern(random: Random, depth: int = 0) -> str:
    found = ""
    for _ in range(random.randint(0, 4)):
        kind = random.random()
        if kind < 0.4:
            found += random.choice(_LETTERS)
        elif kind < 0.7:
            found += random.choice("**?")
        elif kind < 0.88:
            found += random.choice(_SOME)
        elif depth < 2:
            arms = f"{_pattern(random, depth + 1)}|{_pattern(random, depth + 1)}"
            found += f"{random.choice('@?*+!')}({arms})"
    return found


def pattern_script(random: Random) -> str:
    """A pattern, and a text that it may fit."""
    text = "".join(random.choice("aab1.-x*?[") for _ in range(random.randint(0, 6)))
    pattern = _pattern(random) or "x"
    form = random.choice([
        "[[ $T == % ]] && P y || P n", "case $T in %) P y;; *) P n;; esac", 'P "x${T#%}"',
        'P "x${T##%}"', "P x${T%%}", "P x${T%%%}", 'P "x${T/%/Z}"', 'P "x${T//%/Z}"',
    ])  # fmt: skip
    at = form.rindex("%")
    if "/" in form:
        pattern = pattern.replace("/", "")
    text = f"shopt -s extglob\nV='*'; W='a*'; T='{text}'\n"
    return f"{text}{form[:at]}{pattern}{form[at + 1 :]}"


def word_script(random: Random) -> str:
    """Words, and what else takes them."""

    def word() -> str:
        return "".join(random.choice(_PIECES) for _ in range(random.randint(1, 4)))

    items = random.choice(["a 'b c' d", "''", "", "1 2", "a,b c"])
    given = random.choice(["p 'q r'", "", "'' x", "1,2"])
    begins = f"{random.choice(_BEFORE)}X={random.choice(_TEXTS)}; E=; N=X; A=({items})"
    more = random.choice([
        f'Z={word()}; P "$Z"', f'B=({word()} {word()}); P "${{B[@]}}"',
        f'for i in {word()}; do P "$i"; done', f'P "$(echo {word()})"',
    ])  # fmt: skip
    return f"{begins}; set -- {given}\nP {word()} {word()}\n{more}"
