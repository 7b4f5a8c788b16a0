"""Random scripts over the grammar of the shell: lists, blocks, functions, commands of its own.

`U` is a command from outside of which nothing is known, `P` one that shows its words.
"""

from random import Random

VARIABLES = ("A", "B", "C")
WORDS = (
    "1", "2", "x", "$A", "$B", '"$C"', "${A:-7}", '"$1"', "$#", "y$B", "$2", "${B:+s}", "3", '"$*"',
)  # fmt: skip
CONDITIONS = (
    "true", "false", '[ "$A" = 1 ]', '[ "$B" = 2 ]', "[[ $A == x ]]", '[ -n "$A" ]', "[ $# -gt 1 ]",
    "U", "U", "! U", "f", "g", "! f", "(false)", "{ true; }", "[ $? -eq 0 ]", "U && false",
    "U || true", "true | false", "false | true", 'test "$A" = "$B"',
)  # fmt: skip
COMMANDS = (
    "V=W", "V=W", "V=W", "V=W", "P W W", "unset V", "export V=2", "set -- W W", "shift", "shift 2",
    "V=9 P $V", "V=9 f", "V=9 true", "f W", "g W", "f", "g", "true", "false", ":", "eval 'V=4'",
    "eval V=$B", "read V <<< '5 6'", "read -r A B <<< \"$C 7\"", "read V < /dev/null",
    "printf -v V %d 8", "V=$(false)", "unset -f f", "unset -f g", "set -e", "set +e", "V+=1",
    "set -o pipefail", "declare V=6", "command true", "command false", "builtin :", "exec 3>&1",
    "trap 'V=5' EXIT", 'mapfile -t M <<< "$A"', "shopt -s extglob", "wait", "hash -r", "((V=4))",
    "echo 1 > u", "rm -f u", "env V=9 true", "exit", "P ${A}${B}${C}",
)  # fmt: skip
IN_FUNCTIONS = ("local V=W", "local V", "return", "return 1", "declare -g V=7", "local V=$(false)")
IN_LOOPS = ("break", "continue", "break 2", "continue 2")
BLOCKS = (
    "if Q; then\nS\nfi", "if Q; then\nS\nelse\nS\nfi",
    "if Q; then\nS\nelif Q; then\nS\nelse\nS\nfi",
    "Q && N", "Q || N", "Q && N || N", "(\nS\n)", "{\nS\n}", "! {\nS\n}", "{\nS\n} > /dev/null",
    "L for V in 1 2; do\nS\ndone", 'L for V in "$@"; do\nS\ndone', "L for V in $UNK; do\nS\ndone",
    "L for I in 1 2; do\nS\ndone", "L while read -r l; do\nS\ndone <<< 'a'",
    "L I=0\nwhile [ $I -lt 2 ]; do\nI=$((I+1))\nS\ndone",
    "L I=0\nwhile U && [ $I -lt 3 ]; do\nI=$((I+1))\nS\ndone",
    "case W in\n1) N ;;\nx|2)\nS\n;;\n*) N ;;\nesac", "case $UNK in\n1) N ;;\n*)\nS\n;;\nesac",
    "case W in\n1) N ;&\nx|2)\nS\n;;&\n3) N ;;\nesac", "{\nS\n} | {\nS\n}", "{\nS\n} &\nwait",
    "F f() {\nS\n}", "F g() {\nS\n}", "F f() (\nS\n)",
)  # fmt: skip


class Scripts:
    """Writes one script after another."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._loops = self._functions = self._count = 0

    def script(self) -> str:
        head = "A=1\nB=2\nC=x\nf() { A=f; }\ng() { P g $1; return 1; }\nset -- a b\n"
        parts = "\n".join(self._node(3) for _ in range(self._random.randint(2, 6)))
        return f'{head}{parts}\nP end "$A" "$B" "$C" $# "$1"\n'

    def _some(self, depth: int) -> str:
        return "\n".join(self._node(depth) for _ in range(self._random.randint(1, 3)))

    def _node(self, depth: int) -> str:
        if depth <= 0 or self._random.random() < 0.45:
            more = IN_FUNCTIONS * bool(self._functions) + IN_LOOPS * bool(self._loops)
            return self._filled(self._random.choice(COMMANDS + 2 * more), depth)
        text = self._random.choice(BLOCKS)
        kind, _, rest = text.partition(" ")
        outer = self._loops, self._functions
        self._count += 1
        if kind == "L":
            self._loops, text = self._loops + 1, rest.replace("I", f"n{self._count}")
        elif kind == "F":
            self._loops, self._functions, text = 0, 1, rest
        found = self._filled(text, depth)
        self._loops, self._functions = outer
        return found

    def _filled(self, text: str, depth: int) -> str:
        """A text with words, conditions and parts where its letters stand."""
        text = text.replace("V", self._random.choice(VARIABLES))
        pieces = []
        for at, letter in enumerate(text):
            alone = not (text[at - 1 : at] + text[at + 1 : at + 2]).strip(" \n;=").strip("_")
            if letter == "W" and alone:
                pieces.append(self._random.choice(WORDS))
            elif letter == "Q":
                pieces.append(self._random.choice(CONDITIONS))
            elif letter in "SN" and alone:
                pieces.append(self._some(depth - 1) if letter == "S" else self._node(0))
            else:
                pieces.append(letter)
        return "".join(pieces)
