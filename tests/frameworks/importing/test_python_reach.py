"""What changes a setting in a way that is not plain is read as Python does it, or not known."""

import contextlib

from support.cases import each

from frameworks.importing.python_oracle import SET, holds

CALLED = [
    ("put2 = put", "put2(cfg)"), ("", "again = put\nagain(cfg)"), ("", "[put][0](cfg)"),
    ("HOOKS = {'tp': put}", "HOOKS['tp'](cfg)"),
    ("HOOKS = {'tp': put}", "for name, hook in HOOKS.items(): hook(cfg)"),
    ("HOOKS = [put]", "any(hook(cfg) for hook in HOOKS)"),
    ("HOOKS = []\nHOOKS.append(put)", "HOOKS[0](cfg)"),
    ("def hook(f):\n    HOOKS.append(f)\n    return f\nHOOKS = []\n@hook\ndef tune(c): put(c)",
     "HOOKS[0](cfg)"),
    ("", "list(map(put, [cfg]))"),
    ("", "functools.reduce(lambda c, v: put(c, v) or c, [4, 8], cfg)"),
    ("", "functools.partial(put, cfg)()"),
    ("", "tune = functools.partial(put, cfg)\ncfg.model.TP = 4\ntune()"),
    ("tune = functools.partial(put, v=8)", "tune(cfg)"),
    ("", "operator.methodcaller('__setattr__', 'TP', 8)(cfg.model)"),
    ("", "operator.setitem(vars(cfg.model), 'TP', 8)"),
    ("class Tuner:\n    def __call__(self, c): put(c)", "Tuner()(cfg)"),
    ("class Tuner:\n    def __init__(self, c): self.c = c\n    def run(self): put(self.c)",
     "tuner = Tuner(cfg)\ncfg.model.TP = 4\ntuner.run()"),
    ("class Tuner:\n    def keep(self, c): self.c = c\n    def run(self): put(self.c)",
     "tuner = Tuner()\ntuner.keep(cfg)\ncfg.model.TP = 4\ntuner.run()"),
    ("class Tuner:\n    c = None\n    @classmethod\n    def run(cls): put(cls.c)",
     "Tuner.c = cfg\ncfg.model.TP = 4\nTuner.run()"),
    ("class Tuner(type): \n    def __call__(cls, c): put(c)\nclass B(metaclass=Tuner): pass",
     "B(cfg)"),
    ("class Base:\n    def __init__(self, c): put(c)\nclass Tuner(Base): pass", "Tuner(cfg)"),
    ("class Tuner:\n    def __new__(cls, c):\n        put(c)\n        return c", "Tuner(cfg)"),
    ("class Tuner:\n    def __init_subclass__(cls, c): put(c)", "class A(Tuner, c=cfg): pass"),
    ("class Tuner:\n    def __enter__(self): put(self.c)\n    def __exit__(self, *e): pass",
     "t = Tuner()\nt.c = cfg\nwith t: pass"),
    ("@contextlib.contextmanager\ndef tuned(c):\n    put(c)\n    yield", "with tuned(cfg): pass"),
    ("def tuned(c):\n    put(c)\n    yield", "for _ in tuned(cfg): pass"),
    ("def tuned(c):\n    put(c)\n    yield", "todo = tuned(cfg)\ncfg.model.TP = 4\nnext(todo)"),
    ("def tuned(c):\n    put(c)\n    yield", "todo = tuned(cfg)\ncfg.model.TP = 4\n_, = todo"),
    ("def tuned(c):\n    put(c)\n    yield", "todo = tuned(cfg)\ncfg.model.TP = 4\n[*todo]"),
    ("def tuned(c):\n    put(c)\n    yield", "todo = tuned(cfg)\ncfg.model.TP = 4\nprint(*todo)"),
    ("def tuned(c):\n    put(c)\n    yield", "todo = tuned(cfg)\ncfg.model.TP = 4\nNone in todo"),
    ("def tuned(c):\n    put(c)\n    yield", "tuned(cfg)"),
    ("async def tuned(c): put(c)", "tuned(cfg).close()"),
    ("async def tuned(c): put(c)", "todo = tuned(cfg)\ncfg.model.TP = 4\nasyncio.run(todo)"),
    ("if N:\n    def tune(c): put(c)", "tune(cfg)"),
    ("for _ in '1':\n    def tune(c): put(c)", "tune(cfg)"),
    ("with contextlib.nullcontext():\n    def tune(c): put(c)", "tune(cfg)"),
    ("def tune(c): pass\nif os.getpid():\n    def tune(c): put(c)", "tune(cfg)"),
    ("def tune(c): pass\nif N == 4: tune = put", "tune(cfg)"),
    ("tune = put if os.getpid() else print", "tune(cfg)"),
    ("tune, other = put, print", "tune(cfg)"), ("def pick(): return put", "pick()(cfg)"),
    ("def pick(c):\n    def tune(): put(c)\n    return tune", "pick(cfg)()"),
    ("def pick(c):\n    return lambda: put(c)", "todo = pick(cfg)\ncfg.model.TP = 4\ntodo()"),
    ("def apply(f, c): f(c)", "apply(put, cfg)"),
    ("def apply(f, *a, **k): f(*a, **k)", "apply(put, cfg, v=16)"),
    ("def apply(f, **k): f(**k)", "apply(put, c=cfg)"), ("", "put(*[cfg])"),
    ("", "put(**{'c': cfg, 'v': 16})"), ("", "args = (cfg, 16)\nput(*args)"),
    ("", "eval('put(cfg)')"), ("", "run = eval\nrun('put(cfg)')"), ("", "exec('put(cfg)')"),
    ("", "builtins.exec('put(cfg)')"), ("", "getattr(builtins, 'setattr')(cfg.model, 'TP', 8)"),
    ("", "globals()['put'](cfg)"), ("", "sys.modules[__name__] if 0 else put(cfg)"),
    ("", "put.__call__(cfg)"), ("", "put.__globals__['put'](cfg)"), ("", "x = {'a': put(cfg)}"),
    ("", "x = f'{put(cfg)}'"), ("", "x = put(cfg) or 4"), ("", "x = [put(cfg) for _ in range(2)]"),
    ("", "assert not put(cfg)"), ("", "if put(cfg): pass"), ("", "while put(cfg): pass"),
    ("", "x = lambda: put(cfg)"), ("", "x = lambda y=put(cfg): y"), ("", "def g(y=put(cfg)): pass"),
    ("", "class A:\n    put(cfg)"), ("", "x: put(cfg) = 1"), ("", "try: put(cfg)\nfinally: pass"),
    ("", "try: 1 / 0\nexcept ZeroDivisionError: put(cfg)"), ("", "x = (y := put(cfg))"),
    ("", "os.environ.get('A', put(cfg))"), ("", "print(put(cfg))"), ("", "cfg.model.x = put(cfg)"),
    ("", "vars(cfg)[put(cfg)] = 1"),
]  # fmt: skip


@each(("module", "lines"), CALLED)
def test_what_code_that_is_not_followed_may_set(module: str, lines: str) -> None:
    holds(module, f"{SET}{lines}")


STORED = [
    ("", "m = cfg.model\nm.TP = 8"), ("", "(m := cfg.model).TP = 8"),
    ("", "m = cfg.model if N else cfg\nm.TP = 8"), ("", "m = N and cfg.model\nm.TP = 8"),
    ("", "m = [cfg.model][0]\nm.TP = 8"), ("", "m, = [cfg.model]\nm.TP = 8"),
    ("", "m, *_ = cfg.model, 1, 2\nm.TP = 8"), ("", "[m, x] = (cfg.model, 1)\nm.TP = 8"),
    ("", "ms = []\nms.append(cfg.model)\nms[0].TP = 8"), ("", "ms = [cfg]\nms[-1].model.TP = 8"),
    ("", "ms = {}\nms['m'] = cfg.model\nms['m'].TP = 8"),
    ("", "d = {**dict(m=cfg.model)}\nd['m'].TP = 8"),
    ("", "ms = []\nms += [cfg.model]\nms[0].TP = 8"),
    ("", "ms = []\nother = ms\nother += [cfg.model]\nms[0].TP = 8"),
    ("", "ns = types.SimpleNamespace(m=cfg.model)\nns.m.TP = 8"),
    ("", "ns = types.SimpleNamespace()\nns.m = cfg.model\nns.m.TP = 8"),
    ("", "ns = types.SimpleNamespace()\nvars(ns)['m'] = cfg.model\nns.m.TP = 8"),
    ("", "ns = types.SimpleNamespace()\nsetattr(ns, 'm', cfg.model)\nns.m.TP = 8"),
    ("", "for m in (cfg.model,): m.TP = 8"), ("", "for m in [cfg.model]: pass\nm.TP = 8"),
    ("", "for i, m in enumerate([cfg.model]): m.TP = 8"),
    ("", "for m, v in zip([cfg.model], [8]): m.TP = v"),
    ("", "for m in filter(None, [cfg.model]): m.TP = 8"),
    ("", "m = next(iter([cfg.model]))\nm.TP = 8"), ("", "for cfg.model.TP in (4, 8): pass"),
    ("", "with contextlib.nullcontext(cfg.model) as m: m.TP = 8"),
    ("", "with contextlib.nullcontext(8) as cfg.model.TP: pass"),
    ("", "match cfg:\n    case object(model=m): m.TP = 8"),
    ("", "match cfg.model:\n    case m: m.TP = 8"), ("", "part(cfg).TP = 8"),
    ("", "m = part(cfg)\nm.TP = 8"), ("", "setattr(part(cfg), 'TP', 8)"),
    ("def pair(c): return c, c.model", "_, m = pair(cfg)\nm.TP = 8"),
    ("", "(lambda c: c.model)(cfg).TP = 8"),
    ("def pair(c): return {'m': c.model}", "pair(cfg)['m'].TP = 8"),
    ("", "copy.copy(cfg).model.TP = 8"), ("", "other = copy.deepcopy(cfg)\nother.model.TP = 8"),
    ("", "other = copy.copy(cfg)\nother.model.TP = 8"),
    ("", "cfg.model = copy.copy(cfg.model)\ncfg.model.TP = 8"),
    ("", "cfg = copy.copy(cfg)\ncfg.model.TP = 8"),
    ("", "other = copy.copy(cfg)\ncfg.model.TP = 8\ncfg = other"),
    ("", "vars(cfg.model)['TP'] = 8"), ("", "vars(cfg.model).update(TP=8)"),
    ("", "d = vars(cfg.model)\nd |= {'TP': 8}"), ("", "cfg.model.__dict__ |= {'TP': 8}"),
    ("", "cfg.model.__dict__ = {'TP': 8}"), ("", "cfg.__dict__['model'].TP = 8"),
    ("", "d = cfg.__dict__\nd['model'].TP = 8"), ("", "cfg.model.__dict__.setdefault('x', 1)"),
    ("", "cfg.model.__dict__.pop('TP')"), ("", "del cfg.model.TP"),
    ("", "del cfg.__dict__['model']"), ("", "delattr(cfg.model, 'TP')"),
    ("", "object.__delattr__(cfg.model, 'TP')"), ("", "cfg.model.__setattr__('TP', 8)"),
    ("", "type(cfg.model).__setattr__(cfg.model, 'TP', 8)"),
    ("", "s = cfg.model.__setattr__\ns('TP', 8)"),
    ("", "object.__getattribute__(cfg, 'model').TP = 8"), ("", "getattr(cfg, 'model').TP = 8"),
    ("", "getattr(cfg, 'mo' + 'del').TP = 8"), ("", "operator.attrgetter('model')(cfg).TP = 8"),
    ("", "old = cfg.model\ncfg.model = cfg.other\nold.TP = 8"),
    ("", "cfg.other = cfg.model\ncfg.other.TP = 8"),
    ("", "cfg.other = cfg\ncfg.other.other.model.TP = 8"),
    ("", "cfg.model, cfg.other = cfg.other, cfg.model\ncfg.other.TP = 8"),
    ("", "other = llama3_8b_pretrain_config()\nother.model.TP = 8"),
    ("", "other = llama3_8b_pretrain_config()\nother.model = cfg.model\nother.model.TP = 8"),
    ("", "other = llama3_8b_pretrain_config()\nother.model.TP = 8\ncfg.model = other.model"),
    ("", "other = llama3_8b_pretrain_config()\nother.model.TP = 8\ncfg = other"),
    ("BASE = llama3_8b_pretrain_config()", "BASE.model = cfg.model\nBASE.model.TP = 8"),
    ("BASE = llama3_8b_pretrain_config()\nBASE.model.TP = 16", "cfg.model = BASE.model"),
    ("BASE = llama3_8b_pretrain_config()\ndef tune(): BASE.model.TP = 8",
     "cfg = BASE\ncfg.model.TP = 4\ntune()"),
    ("KEPT = []\ndef keep(c): KEPT.append(c)\ndef tune(): put(KEPT[0])",
     "keep(cfg)\ncfg.model.TP = 4\ntune()"),
    ("KEPT = None\ndef keep(c):\n    global KEPT\n    KEPT = c\ndef tune(): put(KEPT)",
     "keep(cfg)\ncfg.model.TP = 4\ntune()"),
    ("def keep(c, kept=[]):\n    kept.append(c)\n    return kept",
     "keep(cfg)\ncfg.model.TP = 4\nput(keep(1)[0])"),
    ("def keep(c): keep.c = c\ndef tune(): put(keep.c)", "keep(cfg)\ncfg.model.TP = 4\ntune()"),
]  # fmt: skip


@each(("module", "lines"), STORED)
def test_what_a_store_through_another_name_sets(module: str, lines: str) -> None:
    with contextlib.suppress(AttributeError):
        holds(module, f"{SET}{lines}")


ENDED = [
    ("", "if os.getpid(): return cfg"), ("", "if given == 4: return cfg"),
    ("", "while N: return cfg"), ("", "for _ in range(N): return cfg"),
    ("", "with contextlib.nullcontext(): return cfg"), ("", "try: return cfg\nfinally: pass"),
    ("", "try: 1 / 0\nexcept ZeroDivisionError: return cfg"),
    ("", "try: pass\nexcept ValueError: return None\nelse: return cfg"),
    ("", "match N:\n    case 4: return cfg"),
    ("", "if os.getpid():\n    if N:\n        return cfg"),
    ("", "if os.getpid():\n    put(cfg, 16)\n    return cfg"),
    ("", "if not os.getpid(): return None"),
    ("", "if os.getpid(): return llama3_8b_pretrain_config()"),
    ("", "if not os.getpid(): raise ValueError"), ("", "for _ in []: return cfg"),
    ("", "if os.getpid():\n    other = cfg\n    return other"),
    ("def tune(c):\n    if os.getpid(): return\n    put(c)", "tune(cfg)\nreturn cfg"),
    ("def tune(c):\n    if not os.getpid(): return\n    put(c)", "tune(cfg)\nreturn cfg"),
    ("def tune(c):\n    if os.getpid(): return c\n    return None", "cfg = tune(cfg)\nreturn cfg"),
    ("def tune(c):\n    while N: return 16\n    return 4", "cfg.model.TP = tune(cfg)\nreturn cfg"),
    ("def tune(c):\n    try: return 16\n    finally: put(c)",
     "cfg.model.y = tune(cfg)\nreturn cfg"),
    ("def tune(c):\n    if os.getpid(): return c\n    return copy.deepcopy(c)",
     "put(tune(cfg), 16)\nreturn cfg"),
    ("def tune(c):\n    if os.getpid(): raise ValueError\n    put(c)",
     "try: tune(cfg)\nexcept ValueError: pass\nreturn cfg"),
    ("def tune(n):\n    if n: return tune(n - 1)\n    return 16",
     "cfg.model.TP = tune(1)\nreturn cfg"),
]  # fmt: skip


@each(("module", "lines"), ENDED)
def test_what_stands_after_an_end_that_may_be(module: str, lines: str) -> None:
    holds(module, f"{SET}{lines}\ncfg.model.TP = 8")


VALUES = [
    ("def f(n=[]):\n    n.append(1)\n    return n[0]", "f()"),
    ("def f(n=N): return n\nN = 8", "f()"), ("def f(*n): return n[0]", "f(16)"),
    ("def f(**n): return n['v']", "f(v=16)"), ("def f(n, /, **m): return n", "f(16, n=2)"),
    ("def f(n=1, /, m=2): return m", "f(16, m=4)"), ("def f(n, *, m=16): return m", "f(4)"),
    ("def f(n: int = 16) -> int: return n", "f()"),
    ("def f():\n    n = 16\n    def g(): return n\n    n = 4\n    return g()", "f()"),
    ("def f():\n    n = 16\n    def g():\n        nonlocal n\n        n = 4\n    g()\n    return n",
     "f()"),
    ("M = 16\ndef f():\n    global M\n    M = 4", "f() or M"),
    ("M = 16\ndef f(): return M\nM = 4", "f()"), ("M = [16]\ndef f(): M[0] = 4", "f() or M[0]"),
    ("M = [16]\ndef f(n): n[0] = 4", "f(M) or M[0]"), ("class M: n = 16", "M.n"),
    ("class M:\n    n = 16\n    def f(self): return self.n", "M().f()"),
    ("def f(n): return -n", "f(-16)"), ("def f(n): return not n", "f(0)"),
    ("", "16 if N == 4 else 2"), ("", "N * 4"), ("", "N ** 2"), ("", "N << 1"), ("", "-(-N)"),
    ("", "+N"), ("", "~N"), ("", "not N"), ("", "N == 4"), ("", "N != 4"), ("", "N is None"),
    ("", "N is not None"), ("", "[1] is [1]"), ("", "(1, 2) == [1, 2]"), ("", "1 == True"),
    ("", "1 is True"), ("", "4.0 == N"), ("", "True * 4"), ("", "2.0 * 4"), ("", "-True"),
    ("", "'8' * 2"), ("", "not []"), ("", "1 < N < 8"), ("", "N == 4 == 4"), ("", "[4, 16][1]"),
    ("", "(lambda: 16)()"), ("", "sum([4, 4])"), ("", "int('16')"), ("", "len([1, 2])"),
    ("", "max(N, 16)"), ("", "(n := 16) and n"), ("", "[n for n in (4, 16)][-1]"),
    ("", "__import__('os') and 16"),
    ("torch = types.SimpleNamespace(bfloat16=16)", "torch.bfloat16"), ("", "os.path and 16"),
    ("", "1 << 70"), ("try: N = 16\nexcept ValueError: pass", "N"), ("for N in (4, 16): pass", "N"),
    ("N += 12", "N"), ("N: int = 16", "N"), ("N, M = 16, 4", "N"), ("[N] = [16]", "N"),
    ("N = M = 16", "M"), ("del N\nN = 16", "N"), ("if N == 4: N = 16", "N"),
    ("if os.getpid(): N = 16", "N"), ("with contextlib.nullcontext(16) as N: pass", "N"),
    ("import os as N", "4 if N else 16"), ("def N(): return 16", "N()"), ("class N: v = 16", "N.v"),
    ("globals()['N'] = 16", "N"), ("exec('N = 16')", "N"), ("vars()['N'] = 16", "N"),
    ("locals().update(N=16)", "N"), ("from os.path import *", "N"),
]  # fmt: skip


@each(("module", "value"), VALUES)
def test_a_value_is_what_python_computes(module: str, value: str) -> None:
    holds(module, f"{SET}cfg.model.TP = {value}")


KNOWN = [
    ("def early(c):\n    if os.getpid(): return\n    c.train.x = 1",
     "early(cfg)\ncfg.model.TP = 8"),
    ("", "cfg.model.TP = 8"), ("", "put(cfg)"), ("", "put(v=8, c=cfg)"),
    ("", "m = part(cfg)\nm.TP = 8"), ("", "part(cfg).TP = 8"), ("", "m = cfg.model\nm.TP = 8"),
    ("", "cfg.model.TP = 4\ncfg.model.TP *= 2"), ("", "print(cfg)\ncfg.model.TP = 8"),
    ("", "cfg.model.TP = 8\nprint(cfg.model)"), ("", "v = [8]\nlen(v)\nput(cfg)"),
    ("", "if os.getpid(): pass\nput(cfg)"), ("", "put(cfg)\nif os.getpid(): cfg.train.x = 4"),
    ("", "put(cfg)\nif not os.getpid(): raise ValueError"),
    ("", "put(cfg)\nfor x in (1, 2): cfg.train.x = x"), ("", "put(cfg)\ncfg.train.hooks = [put]"),
    ("", "put(cfg)\ndef unused(): cfg.model.TP = 2"),
    ("", "put(cfg)\nunused = lambda: put(cfg, 2)"),
    ("", "put(cfg)\ncfg.train.path = os.path.join('a', str(cfg.model.TP))"),
    ("", "put(cfg)\nassert cfg.model.TP"), ("", "put(cfg)\nos.environ['A'] = str(cfg.model.x)"),
    ("", "setattr(cfg.model, 'TP', 8)"), ("", "put(cfg)\nx = [N, N]"),
    ("", "cfg.other = cfg.model\ncfg.model.TP = 8"), ("", "a, cfg.model.TP = 1, 8"),
    ("", "put(cfg)\nother = copy.deepcopy(cfg.train)"),
    ("def tune(c, ok=True):\n    if not ok: return\n    put(c)", "tune(cfg)"),
    ("def tune(c):\n    def name(): return 'x'\n    put(c)", "tune(cfg)"),
    ("def tune(c, n=2): c.model.TP = n * N", "tune(cfg)"),
    ("@functools.wraps(put)\ndef unused(): pass", "put(cfg)"),
    ("@dataclasses.dataclass\nclass A:\n    x: int = 3", "put(cfg)\nA(x=4)"),
]  # fmt: skip


@each(("module", "lines"), KNOWN)
def test_what_is_plain_stays_known(module: str, lines: str) -> None:
    holds(module, f"{SET}{lines}", known=8)
