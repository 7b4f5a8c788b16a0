// Writes the memory of a Python that has started and imported what an answer takes of the standard
// library and of PURE: a browser that loads it starts none. node start.mjs PACKAGES FILE
//
// All visitors have this memory, and whoever builds it gets the same: nothing of the builder's machine,
// folder, time or chance is in it. So `random` begins alike for all of them; `os.urandom` does not.
import { writeFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

// Packages without compiled parts, which a memory cannot hold, that import none with such parts.
const PURE = ["annotated_types", "typing_extensions", "typing_inspection", "platformdirs", "rich"];

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
kept = {*sys.stdlib_module_names, *${JSON.stringify(PURE)}}
json.dumps([name for name in sys.modules if name.partition(".")[0] in kept])
`);

process.argv[1] = "/python"; // what Python takes for its own name
process.env.TZ = "UTC";
Object.defineProperty(process, "version", { value: "v0" });
Date.now = performance.now = () => 0;
crypto.getRandomValues = (numbers) => numbers.fill(0);
const python = await loadPyodide({ _makeSnapshot: true, env: { PYTHONHASHSEED: "0" } });
python.mountNodeFS("/packages", packages);
python.runPython(`
def _started(names):
    import gc, importlib, random, sys
    sys.path.insert(0, "/packages")
    sys.dont_write_bytecode = True
    for name in names.split():
        importlib.import_module(name)
    sys.path_importer_cache.clear()  # of a folder that is not there yet when a page starts
    random.seed(0)
    gc.collect()

_started(${JSON.stringify(JSON.parse(names).join(" "))})
del _started
`);
writeFileSync(file, python.makeMemorySnapshot());
