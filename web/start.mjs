// Writes the memory of a Python that has started and imported what the planner takes of the standard
// library: a browser that loads it starts none. node start.mjs PACKAGES FILE
import { writeFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const [packages, file] = process.argv.slice(2);
const trial = await loadPyodide();
trial.mountNodeFS("/packages", packages);
const names = trial.runPython(`
import json, pathlib, sys
sys.path.insert(0, "/packages")
sys.dont_write_bytecode = True
from planner.web.answers import Answers
found = Answers("/tmp").ask({"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": "8"})
assert "answer" in found, found
json.dumps([name for name in sys.modules if name.partition(".")[0] in sys.stdlib_module_names])
`);

const python = await loadPyodide({ _makeSnapshot: true, env: { PYTHONHASHSEED: "0" } });
python.runPython(`
def _started(names):
    import gc, importlib
    for name in names.split():
        importlib.import_module(name)
    gc.collect()

_started(${JSON.stringify(JSON.parse(names).join(" "))})
del _started
`);
writeFileSync(file, python.makeMemorySnapshot());
