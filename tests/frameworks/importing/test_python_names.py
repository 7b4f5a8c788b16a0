"""Other names, classes with code of their own, lists: as Python has them, or not known."""

from support.cases import each

from frameworks.importing.python_oracle import SET, holds
from planner.frameworks.reading.python.recipe import python_recipe

CLASSES = [
    ("@dataclasses.dataclass\nclass Wrap:\n    c: object = None",
     "w = Wrap(c=cfg)\nw.c.model.TP = 8"),
    ("@dataclasses.dataclass\nclass Wrap:\n    c: object = None",
     "w = Wrap(cfg)\nw.c.model.TP = 8"),
    ("class Wrap:\n    c = llama3_8b_pretrain_config()",
     "cfg = Wrap.c\ncfg.model.TP = 4\nWrap().c.model.TP = 8"),
    ("@dataclasses.dataclass\nclass Wrap:\n    c: object = llama3_8b_pretrain_config()",
     "w, v = Wrap(), Wrap()\ncfg = w.c\ncfg.model.TP = 4\nv.c.model.TP = 8"),
    ("class Wrap:\n    @property\n    def tp(self): return 8", "cfg.model.TP = Wrap().tp"),
    ("class Wrap:\n    def __setattr__(self, n, v): put(v)", "w = Wrap()\nw.x = cfg"),
    ("class Wrap:\n    def __getattr__(self, n): put(self.__dict__['c'])",
     "w = Wrap()\nw.__dict__['c'] = cfg\ncfg.model.TP = 4\nw.x"),
    ("class Wrap:\n    def __len__(self): put(self.c); return 1",
     "w = Wrap()\nw.c = cfg\ncfg.model.TP = 4\nlen(w)"),
    ("class Wrap:\n    def __str__(self): put(self.c); return 'x'",
     "w = Wrap()\nw.c = cfg\ncfg.model.TP = 4\nf'{w}'"),
    ("class Wrap:\n    def __str__(self): put(self.c); return 'x'",
     "w = Wrap()\nw.c = cfg\ncfg.model.TP = 4\nprint(w)"),
    ("class Wrap:\n    def __eq__(self, o): put(self.c); return True",
     "w = Wrap()\nw.c = cfg\ncfg.model.TP = 4\nw == 1"),
    ("class Wrap:\n    def __bool__(self): put(self.c); return True",
     "w = Wrap()\nw.c = cfg\ncfg.model.TP = 4\nif w: pass"),
    ("class Wrap:\n    def __del__(self): put(self.c)",
     "w = Wrap()\nw.c = cfg\ncfg.model.TP = 4\ndel w"),
    ("class Wrap:\n    def __del__(self): put(self.c)",
     "w = Wrap()\nw.c = cfg\ncfg.model.TP = 4\nw = 1"),
    ("class Wrap:\n    def __iadd__(self, o): put(self.c); return self",
     "w = Wrap()\nw.c = cfg\ncfg.model.TP = 4\nw += 1"),
    ("class Wrap:\n    def __hash__(self): put(self.c); return 1",
     "w = Wrap()\nw.c = cfg\ncfg.model.TP = 4\nx = {w: 1}"),
    ("class Wrap:\n    def __lt__(self, o): put(self.c); return True",
     "w = Wrap()\nw.c = cfg\ncfg.model.TP = 4\nsorted([w, w])"),
    ("class Wrap(dict):\n    def __missing__(self, k): put(cfg_[0]); return 1\ncfg_ = []",
     "cfg_.append(cfg)\nw = Wrap()\ncfg.model.TP = 4\nw['x']"),
    ("class V(int): pass", "v = V(8)\ncfg.model.TP = v + 0"),
    ("", "class A:\n    def f(self): cfg.model.TP = 8\nA().f()"),
    ("class copy:\n    deepcopy = lambda c: c", "cfg2 = copy.deepcopy(cfg)\ncfg2.model.TP = 8"),
    ("class T:\n    def validate(self): put(self.c)", "t = T()\nt.c = cfg\nt.validate()"),
]  # fmt: skip


@each(("module", "lines"), CLASSES)
def test_classes_of_the_file_may_run_code(module: str, lines: str) -> None:
    holds(module, f"{SET}{lines}")


LISTS = [
    ("def f(n=[]):\n    r = 8 if n else 2\n    if not n: r = 2\n    n.append(1)\n    return r",
     "f()\ncfg.model.TP = f()"),
    ("", "x = [8]\ndef f(): x.append(4)\nf()\ncfg.model.TP = x[-1]"),
    ("L = []\ndef f(): L.append(1)", "f()\ncfg.model.TP = 8 if L else 4"),
    ("L = []\ndef f(): L.append(1)", "f()\nif not L: cfg.model.TP = 4"),
    ("L = []\ndef f(l): l.append(1)", "f(L)\nif not L: cfg.model.TP = 4"),
    ("L = []", "M = L\nM.append(1)\nif not L: cfg.model.TP = 4"),
    ("L = []", "M = [L]\nM[0].append(1)\nif not L: cfg.model.TP = 4"),
    ("L = [[]]", "M = L[0]\nM.append(1)\nif L != [[]]: cfg.model.TP = 4"),
    ("L = []", "cfg.l = L\ncfg.l.append(1)\nif not L: cfg.model.TP = 4"),
    ("L = []", "ns = types.SimpleNamespace(l=L)\nns.l.append(1)\nif not L: cfg.model.TP = 4"),
    ("L = []", "d = dict(l=L)\nd['l'].append(1)\nif not L: cfg.model.TP = 4"),
    ("L = []", "L[:] = [1]\nif not L: cfg.model.TP = 4"),
    ("L = []", "M = L\nM += [1]\nif not L: cfg.model.TP = 4"),
    ("L = []", "L.__iadd__([1])\nif not L: cfg.model.TP = 4"),
    ("L = []", "list.append(L, 1)\nif not L: cfg.model.TP = 4"),
    ("L = []", "[L.append(x) for x in (1,)]\nif not L: cfg.model.TP = 4"),
    ("L = []", "for x in (1,): L.append(x)\nif not L: cfg.model.TP = 4"),
    ("L = []", "def f(): L.append(1)\nx = f\nx()\nif not L: cfg.model.TP = 4"),
    ("L = []", "f = L.append\nf(1)\nif not L: cfg.model.TP = 4"),
    ("L = []\ndef f(): return L", "f().append(1)\nif not L: cfg.model.TP = 4"),
    ("L = []\ndef f(x=L): return x", "f().append(1)\nif not L: cfg.model.TP = 4"),
]  # fmt: skip


@each(("module", "lines"), LISTS)
def test_a_list_is_changed_under_any_name(module: str, lines: str) -> None:
    holds(module, f"{SET}{lines}")


NAMES = [
    ("BASE = llama3_8b_pretrain_config()\ndef get(): return BASE",
     "cfg = BASE\ncfg.model.TP = 4\nx = None\nif os.getpid(): x = get()\n(lambda c: put(c))(x)"),
    ("def tune(c): pass\ndef swap():\n    global tune\n    tune = put", "swap()\ntune(cfg)"),
    ("", "m = cfg\nif not os.getpid(): m = 1\ncfg.model.TP = 4\n(lambda c: put(c))(m)"),
    ("", "if os.getpid(): [cfg.model][0].TP = 8"),
    ("", "x = [(lambda c: put(c))(m) for m in [cfg]]"),
    ("", "a = llama3_8b_pretrain_config()\nfor _ in range(2):\n"
     "    (lambda c: put(c))(a.b)\n    a.b = cfg"),
    ("def untie(a):\n    if os.getpid(): return\n    a.b = 1",
     "a = llama3_8b_pretrain_config()\na.b = cfg\nuntie(a)\n"
     "cfg.model.TP = 4\n(lambda: put(a.b))()"),
    ("", "a = llama3_8b_pretrain_config()\na.b = cfg\nif not os.getpid(): a.b = 1\n"
     "cfg.model.TP = 4\n(lambda: put(a.b))()"),
    ("KEPT = None\ndef keep(c):\n    global KEPT\n    KEPT = c",
     "keep(cfg)\ncfg.model.TP = 4\n(lambda: put(KEPT))()"),
    ("def tie(a, b):\n    if not os.getpid(): return\n    a.b = b",
     "a = llama3_8b_pretrain_config()\ntie(a, cfg)\ncfg.model.TP = 4\n(lambda: put(a.b))()"),
    ("", "x = max([cfg], key=lambda c: put(c) or 1) or 4"),
    ("", "x = [max([cfg], key=put)]"), ("", "print(len([*map(put, [cfg])]))"),
    ("", "def g(): m.TP = 8\ndef h():\n    m = cfg.other\n    g()\nm = cfg.model\nh()"),
    ("", "m = cfg.other\ndef g(): m.TP = 8\nm = cfg.model\ng()"),
    ("", "def g(): m.TP = 8\nf = g\nm = cfg.model\nf()"),
    ("def mk():\n    c = llama3_8b_pretrain_config()\n    c.model.TP = 8\n    return c",
     "cfg = mk()\ncfg2 = mk()\ncfg2.model.TP = 4"),
    ("CACHE = {}\ndef mk():\n    if 'c' not in CACHE: CACHE['c'] = llama3_8b_pretrain_config()\n"
     "    return CACHE['c']",
     "cfg = mk()\ncfg.model.TP = 4\nmk().model.TP = 8"),
    ("@functools.lru_cache\ndef mk(): return llama3_8b_pretrain_config()",
     "cfg = mk()\ncfg.model.TP = 4\nmk().model.TP = 8"),
    ("C = llama3_8b_pretrain_config()\ndef mk(): return C",
     "cfg = mk()\ncfg.model.TP = 4\nmk().model.TP = 8"),
    ("C = llama3_8b_pretrain_config()\ndef mk(c=C): return c",
     "cfg = mk()\ncfg.model.TP = 4\nmk().model.TP = 8"),
    ("", "cfg.model.TP = x = 4\nx = 8"), ("", "x = y = [cfg.model]\ny[0].TP = 8"),
    ("", "x = [cfg.model]\ny = x.copy()\ny[0].TP = 8"),
    ("", "x = {**vars(cfg)}\nx['model'].TP = 8"),
    ("", "for k, v in vars(cfg).items():\n    if k == 'model': v.TP = 8"),
    ("", "for k in ['TP']: setattr(cfg.model, k, 8)"),
    ("", "for k, v in {'TP': 8}.items(): setattr(cfg.model, k, v)"),
    ("", "over = {'TP': 8}\nfor k, v in over.items(): setattr(cfg.model, k, v)"),
    ("", "cfg.model.__dict__.update(**{'TP': 8})"),
    ("", "m = cfg.model\ndel m\ncfg.model.x = 1\nm = cfg.model\nm.TP = 8"),
    ("", "def f(cfg): cfg.model.TP = 8\nf(cfg)"),
    ("", "def f():\n    cfg = llama3_8b_pretrain_config()\n    cfg.model.TP = 8\nf()"),
    ("", "def f():\n    nonlocal cfg\n    cfg = llama3_8b_pretrain_config()\nf()"),
    ("", "[x for x in [cfg.model] if setattr(x, 'TP', 8)]"),
    ("", "any(setattr(x, 'TP', 8) for x in [cfg.model])"),
    ("", "g = (setattr(x, 'TP', 8) for x in [cfg.model])\ncfg.model.TP = 4\nnext(g)"),
    ("", "g = (put(x) for x in [cfg])\ncfg.model.TP = 4\nfor _ in g: pass"),
    ("", "g = map(put, [cfg])\ncfg.model.TP = 4\nlist(g)"),
    ("", "g = map(put, [cfg])\ncfg.model.TP = 4\n*_, = g"),
    ("", "g = filter(put, [cfg])\ncfg.model.TP = 4\nx = tuple(g)"),
    ("", "g = iter([cfg])\ncfg.model.TP = 4\nput(next(g))"),
    ("", "a = b = c = cfg.model\nc.TP = 8"), ("", "cfg.a = cfg.b = cfg.model\ncfg.a.TP = 8"),
    ("", "cfg.model = cfg.a\ncfg.a.TP = 8"),
    ("", "cfg.a = cfg.model\ncfg.model = cfg.b\ncfg.a.TP = 8"),
    ("", "cfg.a = cfg.model\ncfg.model = cfg.b\ncfg.model.TP = 4\ncfg.a.TP = 8"),
    ("", "if os.getpid(): cfg.a = cfg.model\ncfg.a.TP = 8"),
    ("", "if os.getpid(): cfg.model = cfg.a\ncfg.a.TP = 8"),
    ("", "if os.getpid(): cfg.model = cfg.a\ncfg.model.TP = 4\ncfg.a.TP = 8"),
    ("", "m = cfg.a\nif os.getpid(): m = cfg.model\ncfg.model.TP = 4\nm.TP = 8"),
    ("",
     "m = cfg.a\nif os.getpid(): m = cfg.model\nm.TP = 8\ncfg.model.TP = 4\ncfg.model.x = m.TP\n"
     "cfg.model.TP = cfg.model.x"),
    ("", "try: cfg.a = cfg.model\nexcept ValueError: pass\nsetattr(cfg.a, 'TP', 8)"),
    ("", "with contextlib.suppress(ZeroDivisionError):\n    1 / 0\n    cfg.model.TP = 8"),
    ("def f(c):\n    with contextlib.suppress(ValueError):\n        raise ValueError\n"
     "    c.model.TP = 8",
     "f(cfg)"),
    ("def f(c):\n    try: raise ValueError\n    except ValueError: pass\n    c.model.TP = 8",
     "f(cfg)"),
    ("def f(c):\n    raise ValueError\n    c.model.TP = 8", "try: f(cfg)\nexcept ValueError: pass"),
    ("def f(c):\n    c.model.TP = 8\n    raise ValueError", "try: f(cfg)\nexcept ValueError: pass"),
    ("def f(c):\n    while True:\n        c.model.TP = 8\n        break", "f(cfg)"),
    ("def f(c, m=None):\n    m = m or c.model\n    m.TP = 8", "f(cfg)"),
    ("def f(c, m=None):\n    if m is None: m = c.model\n    m.TP = 8", "f(cfg)"),
    ("def f(c, m=None):\n    m = c.model if m is None else m\n    m.TP = 8", "f(cfg)"),
    ("def f(c, *, tp=None):\n    if tp is not None: c.model.TP = tp", "f(cfg, tp=8)"),
    ("def f(c, tp=8, **more):\n    c.model.TP = tp\n"
     "    for k, v in more.items(): setattr(c.model, k, v)",
     "f(cfg, tp=16, TP=32)"),
    ("def f(*cs):\n    for c in cs: put(c)", "f(cfg)"), ("def f(*cs): put(cs[0])", "f(cfg)"),
    ("def f(*cs): put(*cs)", "f(cfg)"), ("def f(**k): put(**k)", "f(c=cfg)"),
    ("def f(c): return {'m': c.model, 'v': 8}", "d = f(cfg)\nd['m'].TP = d['v']"),
    ("def f(c): return c.model, 8", "m, v = f(cfg)\nm.TP = v"),
    ("def f(c): return [c.model]", "for m in f(cfg): m.TP = 8"),
    ("def replace(c): return c", "cfg2 = replace(cfg)\ncfg2.model.TP = 8"),
    ("def deepcopy(c): return c", "cfg2 = deepcopy(cfg)\ncfg2.model.TP = 8"),
    ("def print(c): put(c)", "print(cfg)"), ("print = put", "print(cfg)"),
    ("def setattr(c, n, v): pass", "setattr(cfg.model, 'TP', 8)"), ("int = put", "int(cfg)"),
    ("", "len = put\nlen(cfg)"),
    ("def f(len): len(cfg_[0])\ncfg_ = []", "cfg_.append(cfg)\nf(put)"),
    ("", "cfg.model.validate = lambda: put(cfg)\ncfg.model.validate()"),
    ("", "cfg.hook = put\ncfg.hook(cfg)"),
    ("", "cfg.hook = lambda: put(cfg)\ncfg.model.TP = 4\ncfg.hook()"),
    ("def Config2(c): put(c); return c", "Config2(cfg)"), ("Bar = put", "Bar(c=cfg)"),
    ("", "Bar = put\nBar(c=cfg)"), ("", "x = 8\ndef f(y=x): return y\nx = 4\ncfg.model.TP = f()"),
    ("", "x = 8\nf = lambda: x\nx = 4\ncfg.model.TP = f()"),
    ("", "x = 8\ndef f():\n    nonlocal x\n    x = 4\n[f() for _ in range(1)]\ncfg.model.TP = x"),
    ("X = 8\ndef f(x=[]):\n    x.append(1)\n    return len(x)", "f(); f()\ncfg.model.TP = f()"),
]  # fmt: skip


@each(("module", "lines"), NAMES)
def test_an_object_is_the_same_under_any_name(module: str, lines: str) -> None:
    holds(module, f"{SET}{lines}")


@each(("set_of", "returned"), [("a", "b"), ("b", "a")])
def test_a_flat_copy_has_the_same_parts(set_of: str, returned: str) -> None:
    lines = f"    a = made()\n    b = copy(a)\n    {set_of}.m.x = 8\n    return {returned}\n"
    found = python_recipe(f"def recipe() -> C:\n{lines}", "r.py", "recipe", "C")
    assert found.values == {}
    assert found.unknown("m.x")
