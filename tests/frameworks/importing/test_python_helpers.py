"""Recipes as they are written in practice, with helpers, presets and containers of objects."""

from support.cases import each

from frameworks.importing.python_oracle import SET, holds

HELPERS = [
    ("def _common(tp=1, pp=1, **kw):\n    c = llama3_8b_pretrain_config()\n"
     "    c.model.TP = tp\n    for k, v in kw.items():\n        setattr(c.model, k, v)\n"
     "    return c",
     "cfg = _common(tp=4, TP=8)"),
    ("def _common(**kw):\n    base = dict(tp=1)\n    base.update(kw)\n"
     "    c = llama3_8b_pretrain_config()\n    c.model.TP = base['tp']\n    return c",
     "cfg = _common(tp=8)"),
    ("def _common(tp):\n    c = llama3_8b_pretrain_config()\n    c.model.TP = tp\n"
     "    return c\ndef mine(**kw):\n    return _common(**{**dict(tp=2), **kw})",
     "cfg = mine(tp=8)"),
    ("OVERRIDES = {'model.TP': 8}",
     "for path, v in OVERRIDES.items():\n    obj = cfg\n    *parts, last = path.split('.')\n"
     "    for p in parts: obj = getattr(obj, p)\n    setattr(obj, last, v)"),
    ("def apply(c, over):\n    for path, v in over.items():\n        obj = c\n"
     "        *parts, last = path.split('.')\n        for p in parts: obj = getattr(obj, p)\n"
     "        setattr(obj, last, v)",
     "apply(cfg, {'model.TP': 8})"),
    ("def apply(c, path, v):\n    obj = c\n"
     "    for p in path.split('.')[:-1]: obj = getattr(obj, p)\n"
     "    setattr(obj, path.split('.')[-1], v)",
     "apply(cfg, 'model.TP', 8)"),
    ("def apply(c, path, v):\n    head, _, rest = path.partition('.')\n"
     "    if rest: return apply(getattr(c, head), rest, v)\n    setattr(c, head, v)",
     "apply(cfg, 'model.TP', 8)"),
    ("def apply(c, **over):\n    vars(c.model).update(over)", "apply(cfg, TP=8)"),
    ("def apply(c, **over):\n    c.model.__dict__ = {**c.model.__dict__, **over}",
     "apply(cfg, TP=8)"),
    ("def apply(c, over):\n    [setattr(c.model, k, v) for k, v in over.items()]",
     "apply(cfg, {'TP': 8})"),
    ("class Preset:\n    tp = 8\n    @classmethod\n    def apply(cls, c): c.model.TP = cls.tp",
     "Preset.apply(cfg)"),
    ("class Preset:\n    tp = 4\n    def apply(self, c):\n        c.model.TP = self.tp\n"
     "        return c\nclass Big(Preset):\n    tp = 8",
     "cfg = Big().apply(cfg)"),
    ("@dataclasses.dataclass\nclass Preset:\n    tp: int = 8\n"
     "    def apply(self, c): c.model.TP = self.tp",
     "Preset(tp=16).apply(cfg)"),
    ("PRESETS = {'h100': lambda c: put(c, 8), 'a100': lambda c: put(c, 4)}",
     "PRESETS['h100'](cfg)"),
    ("def register(name):\n    def deco(f):\n        REG[name] = f\n        return f\n"
     "    return deco\nREG = {}\n@register('x')\ndef tune(c): put(c, 8)",
     "REG['x'](cfg)"),
    ("def h100(c): put(c, 8)\ndef a100(c): put(c, 4)\nTUNE = h100 if os.getpid() else a100",
     "TUNE(cfg)"),
    ("def h100(c): put(c, 8)", "globals()['h' + '100'](cfg)"),
    ("def h100(c): put(c, 8)", "for name in ['h100']: globals()[name](cfg)"),
    ("def h100(c): put(c, 8)", "locals().get('x', h100)(cfg)"),
    ("def h100(c): put(c, 8)", "tune = h100\nfor c in [cfg]: tune(c)"),
    ("def h100(c):\n    c.model.TP = 8\n    return c",
     "cfg = functools.reduce(lambda c, f: f(c), [h100], cfg)"),
    ("def freeze(c): return types.MappingProxyType(vars(c))", "freeze(cfg.model)"),
    ("class Lock:\n    def __enter__(self): pass\n    def __exit__(self, *e): put(self.c)\n"
     "lock = Lock()",
     "lock.c = cfg\nwith lock: cfg.model.TP = 4"),
    ("@contextlib.contextmanager\ndef swap(c, v):\n    old = c.model.TP\n    c.model.TP = v\n"
     "    yield\n    c.model.TP = old",
     "with swap(cfg, 8): pass\n"),
    ("@contextlib.contextmanager\ndef swap(c, v):\n    c.model.TP = v\n    yield",
     "stack = contextlib.ExitStack()\nstack.enter_context(swap(cfg, 8))"),
    ("import itertools", "list(itertools.starmap(put, [(cfg, 8)]))"),
    ("import itertools", "it = itertools.starmap(put, [(cfg, 8)])\ncfg.model.TP = 4\nlist(it)"),
    ("import itertools", "it = itertools.chain([cfg])\ncfg.model.TP = 4\nfor c in it: put(c)"),
    ("import weakref", "r = weakref.ref(cfg)\ncfg.model.TP = 4\nput(r())"),
    ("import weakref", "p = weakref.proxy(cfg.model)\ncfg.model.TP = 4\np.TP = 8"),
    ("import json", "for k, v in json.loads('{\"TP\": 8}').items(): setattr(cfg.model, k, v)"),
    ("import inspect", "inspect.currentframe().f_locals['cfg'].model.TP = 8"),
    ("", "t = type('T', (), {'c': cfg})\ncfg.model.TP = 4\nput(t.c)"),
    ("", "t = type('T', (), {'run': lambda self: put(cfg)})\nt().run()"),
    ("", "t = type('T', (), dict(__call__=lambda s, c: put(c)))()\nt(cfg)"),
    ("", "cfg.model.__class__ = type('X', (type(cfg.model),), {'TP': 8})\ndel cfg.model.TP"),
    ("", "type(cfg.model).TP = 8\ndel cfg.model.TP"),
    ("",
     "type(cfg.model).__setattr__ = lambda s, n, v: object.__setattr__(s, n, 8)\n"
     "cfg.model.TP = 4"),
    ("",
     "setattr(type(cfg.model), 'TP', property(lambda s: 8, lambda s, v: None))\n"
     "cfg.model.TP = 4"),
    ("class A: pass\na = A()", "A.m = cfg.model\ncfg.model.TP = 4\na.m.TP = 8"),
    ("class A:\n    m = None\nA.m = types.SimpleNamespace()",
     "A().m.c = cfg\ncfg.model.TP = 4\nput(A.m.c)"),
]  # fmt: skip


@each(("module", "lines"), HELPERS)
def test_helpers_and_presets_of_a_file(module: str, lines: str) -> None:
    holds(module, f"{SET}{lines}")


HOLDERS = [
    ("",
     "stack = contextlib.ExitStack()\nstack.callback(put, cfg)\ncfg.model.TP = 4\n"
     "stack.close()"),
    ("",
     "with contextlib.ExitStack() as stack:\n    stack.callback(put, cfg)\n"
     "    cfg.model.TP = 4"),
    ("",
     "with contextlib.ExitStack() as stack:\n    stack.callback(lambda: put(cfg))\n"
     "cfg.model.TP = 4"),
    ("", "sys._getframe().f_locals['cfg'].model.TP = 8"), ("", "locals()['cfg'].model.TP = 8"),
    ("", "vars()['cfg'].model.TP = 8"), ("", "dir(); vars().get('cfg').model.TP = 8"),
    ("", "(c := cfg) and put(c)"), ("", "x = [c := cfg]\nc.model.TP = 8"),
    ("", "[m := cfg.model for _ in (1,)]\nm.TP = 8"), ("", "if (m := cfg.model): m.TP = 8"),
    ("", "while (m := cfg.model) and m.TP != 8: m.TP = 8"),
    ("", "match [cfg]:\n    case [c]: put(c)"),
    ("", "match {'c': cfg}:\n    case {'c': c, **rest}: put(c)"),
    ("", "try: raise ValueError(cfg)\nexcept ValueError as e: put(e.args[0])"),
    ("", "e = ValueError(cfg)\ncfg.model.TP = 4\nput(e.args[0])"),
    ("", "import types as t\nt.SimpleNamespace(c=cfg).c.model.TP = 8"),
    ("", "put.__defaults__ = (16,)\nput(cfg)"),
    ("", "put.__code__ = (lambda c, v: setattr(c.model, 'TP', 16)).__code__\nput(cfg)"),
    ("", "globals()['N'] = 8\ncfg.model.TP = N"),
    ("", "globals().update(put=lambda c: None)\nput(cfg)"),
    ("", "put.c = cfg\ncfg.model.TP = 4\nput(put.c)"),
    ("", "x = cfg, cfg.model\ncfg.model.TP = 4\nx[1].TP = 8"),
    ("", "x = cfg\nx = [x]\nx = (x, 1)\nx = {'a': x}\nx['a'][0][0].model.TP = 8"),
    ("", "x = {'a': {'b': cfg.model}}\nx['a']['b'].TP = 8"),
    ("", "x = {cfg.model: 1}\nfor m in x: m.TP = 8"), ("", "x = {1: cfg.model}\nx.get(1).TP = 8"),
    ("", "x = {1: cfg.model}\nx.pop(1).TP = 8"), ("", "x = [cfg.model]\nx.pop().TP = 8"),
    ("", "x = [cfg.model]\nm = x[0] or None\nm.TP = 8"),
    ("", "a, (b, c) = 1, (cfg.model, 2)\nb.TP = 8"),
    ("", "a, (b, *c) = 1, [2, cfg.model]\nc[0].TP = 8"),
    ("", "x = cfg.model; y = x; x = cfg.train; y.TP = 8"),
    ("", "x = cfg.model\nif os.getpid(): x = cfg.train\nx.TP = 8"),
    ("", "x = cfg.train\nfor x in (cfg.train, cfg.model): pass\nx.TP = 8"),
    ("", "x = None\ntry: x = cfg.model\nfinally: x.TP = 8"),
    ("", "def f(x=cfg.model): x.TP = 8\nf()"), ("", "def f(x=cfg.model): return x\nf().TP = 8"),
    ("", "f = lambda x=cfg.model: x\nf().TP = 8"), ("", "class A:\n    m = cfg.model\nA.m.TP = 8"),
    ("", "class A:\n    m = cfg.model\nA().m.TP = 8"),
    ("", "class A:\n    def __init__(self): self.m = cfg.model\nA().m.TP = 8"),
    ("", "class A: pass\na = A()\na.m = cfg.model\na.m.TP = 8"),
    ("", "class A: pass\na = A()\na.m = cfg.model\nb = a\nb.m.TP = 8"),
    ("", "class A: pass\na, b = A(), A()\na.m = cfg.model\nb.m = a\nb.m.m.TP = 8"),
    ("", "class A: pass\nA.m = cfg.model\nA.m.TP = 8"),
    ("", "class A: pass\nA.m = cfg.model\nA().m.TP = 8"),
    ("", "class A: pass\na = A()\nA.m = cfg.model\na.m.TP = 8"),
]  # fmt: skip


@each(("module", "lines"), HOLDERS)
def test_an_object_is_found_again_in_what_holds_it(module: str, lines: str) -> None:
    holds(module, f"{SET}{lines}")


STATES = [
    ("", "x = cfg.a\ny = x\ny.m = cfg.model\ncfg.a.m.TP = 8"),
    ("", "x = cfg.a if os.getpid() else cfg.b\nx.m = cfg.model\ncfg.model.TP = 4\ncfg.a.m.TP = 8"),
    ("",
     "x = cfg.a if os.getpid() else cfg.b\nx.m = cfg.model\ncfg.model.TP = 4\n"
     "(lambda z: put(z))(types.SimpleNamespace(model=cfg.a.m))"),
    ("",
     "if os.getpid(): cfg.a.m = cfg.model\ncfg.model.TP = 4\n"
     "(lambda z: setattr(z.m, 'TP', 8))(cfg.a)"),
    ("", "(lambda z: setattr(z, 'm', cfg.model))(cfg.a)\ncfg.model.TP = 4\ncfg.a.m.TP = 8"),
    ("", "(lambda z: setattr(z, 'm', cfg.model))(cfg.a)\ncfg.model.TP = 4\nn = cfg.a.m\nn.TP = 8"),
    ("", "(lambda z: setattr(z, 'model', z.a))(cfg)\ncfg.model.TP = 4\ncfg.a.TP = 8"),
    ("", "(lambda z: setattr(z, 'a', z.model))(cfg)\na = cfg.a\ncfg.model.TP = 4\na.TP = 8"),
    ("", "def swap(c): c.model, c.a = c.a, c.model\nswap(cfg)\ncfg.a.TP = 8\ncfg.model.TP = 4"),
    ("def swap(c): c.model, c.a = c.a, c.model", "cfg.a.TP = 8\nswap(cfg)"),
    ("def swap(c): c.model, c.a = c.a, c.model",
     "cfg.a.TP = 8\nm = cfg.model\nswap(cfg)\nm.TP = 4"),
    ("def new(c):\n    c = copy.deepcopy(c)\n    c.model.TP = 8\n    return c", "new(cfg)"),
    ("def new(c):\n    c = copy.deepcopy(c)\n    c.model.TP = 8\n    return c", "cfg = new(cfg)"),
    ("def new(c):\n    c = copy.copy(c)\n    c.model.TP = 8\n    return c", "new(cfg)"),
    ("def new(c):\n    c = copy.copy(c)\n    c.model = copy.copy(c.model)\n"
     "    c.model.TP = 8\n    return c",
     "new(cfg)"),
    ("def new(c, **kw): return dataclasses.replace(c, **kw)",
     "try: cfg = new(cfg, x=1)\nexcept TypeError: cfg.model.TP = 8"),
    ("", "a = cfg.model\nb = copy.copy(a)\nb.TP = 8\ncfg.model.y = b.TP"),
    ("", "a = cfg.model\nb = copy.copy(a)\ncfg.model = b\na.TP = 8"),
    ("", "a = cfg.model\nb = copy.deepcopy([a])[0]\nb.TP = 8\ncfg.model = b"),
    ("", "cfg2 = copy.deepcopy(cfg)\ncfg2.model.TP = 8\ncfg.model = cfg2.model"),
    ("", "cfg2 = copy.deepcopy(cfg)\ncfg.model.TP = 8\ncfg = cfg2"),
    ("",
     "cfg.model.l = [1]\nc2 = copy.copy(cfg.model)\nc2.l.append(2)\n"
     "if cfg.model.l == [1]: cfg.model.TP = 4"),
    ("",
     "cfg.model.l = []\nc2 = copy.deepcopy(cfg.model)\nc2.l.append(2)\n"
     "if not cfg.model.l: cfg.model.TP = 4"),
    ("",
     "cfg.model.l = []\nc2 = copy.deepcopy(cfg)\nc2.model.l.append(2)\n"
     "if not c2.model.l: cfg.model.TP = 4"),
    ("",
     "l = []\nc = types.SimpleNamespace(l=l)\nd = copy.copy(c)\nd.l.append(1)\n"
     "if not l: cfg.model.TP = 4"),
    ("", "l = []\nc = types.SimpleNamespace(l=l)\nl.append(1)\nif not c.l: cfg.model.TP = 4"),
    ("", "l = []\nm = l\nl = [1]\nif not m: cfg.model.TP = 4"),
    ("", "l = []\nm = (l, 1)\nl.append(1)\nif not m[0]: cfg.model.TP = 4"),
    ("",
     "l = []\ncfg.model.v = l\nf = cfg.model.v.append\nf(1)\n"
     "if not cfg.model.v: cfg.model.TP = 4"),
    ("", "v = 8\ncfg.model.TP = v\nv = 2"), ("", "cfg.model.TP = cfg.model.x = 8\ncfg.model.x = 2"),
    ("def f(v):\n    v += 1\n    return v", "v = 8\nf(v)\ncfg.model.TP = v"),
    ("def f(v):\n    v += [1]\n    return v", "v = []\nf(v)\nif not v: cfg.model.TP = 4"),
    ("def f(*v): v[0].append(1)", "v = []\nf(v)\nif not v: cfg.model.TP = 4"),
    ("def f(v):\n    w = v\n    w.append(1)", "v = []\nf(v)\nif not v: cfg.model.TP = 4"),
    ("V = []\ndef f():\n    v = V\n    v.append(1)", "f()\nif not V: cfg.model.TP = 4"),
    ("V = []\ndef f(): return V\ndef g(): f().append(1)", "g()\nif not V: cfg.model.TP = 4"),
    ("V = []\nW = V\nW.append(1)", "if not V: cfg.model.TP = 4"),
    ("V = 4\ndef f():\n    V = 8\n    return V", "f()\ncfg.model.TP = V"),
    ("V = 4\ndef f(V): return V", "cfg.model.TP = f(8)"),
    ("V = 4\nf = lambda V: V", "cfg.model.TP = f(8)"),
    ("V = 4\n[V for V in (8,)]", "cfg.model.TP = V"),
    ("V = 4\n[(V := x) for x in (8,)]", "cfg.model.TP = V"),
    ("V = 4\ntry: raise ValueError\nexcept ValueError as V: pass\nV = 8", "cfg.model.TP = V"),
    ("V = 4\nclass A: V = 8", "cfg.model.TP = V"),
    ("V = 4\nclass A:\n    global V\n    V = 8", "cfg.model.TP = V"),
    ("V = 4\nif N == 4:\n    V = 8\nelse:\n    V = 2", "cfg.model.TP = V"),
    ("V = 4\nwhile V < 8: V *= 2", "cfg.model.TP = V"),
    ("def f(n):\n    if n == 2: return 8\n    elif n == 3: return 4\n    return 2",
     "cfg.model.TP = f(2)"),
    ("def f(n):\n    if n == 2: return 8\n    elif n == 3: return 4\n    return 2",
     "cfg.model.TP = f(os.getpid())"),
    ("def f(n):\n    if n:\n        return 8\n    else:\n        return 4", "cfg.model.TP = f(1)"),
    ("def f(n):\n    if os.getpid():\n        return 8\n    raise ValueError",
     "cfg.model.TP = f(1)"),
    ("def f(n):\n    if os.getpid():\n        return 8", "cfg.model.TP = f(1)"),
    ("def f(n):\n    for i in range(n): return 8\n    return 4", "cfg.model.TP = f(1)"),
    ("def f(): pass", "cfg.model.TP = f()"), ("def f(): return", "cfg.model.TP = f() or 8"),
]  # fmt: skip


@each(("module", "lines"), STATES)
def test_copies_lists_and_names_are_what_they_are_then(module: str, lines: str) -> None:
    holds(module, f"{SET}{lines}")
