// Boots the planner's Python: in the worker of the page, and under Node.js (`web/ask.mjs`).
import { loadPyodide } from "./runtime/pyodide.mjs";

// Answers questions. `folder` has the runtime, `bytes` gives what a file in it holds. `call` asks a
// method of `planner.web.answers.Answers`, with what it takes as an object; `tell` hears of progress.
// `load` unpacks another archive.
export async function boot(folder, bytes) {
  const [python, packages] = await Promise.all([
    loadPyodide({ indexURL: folder }),
    bytes("planner.zip"),
  ]);
  const unpack = python.runPython(`
import importlib, json, pathlib, sys, zipfile

def _unpack():
    place = pathlib.Path("/archive.zip")
    with zipfile.ZipFile(place) as archive:
        archive.extractall("/")
    place.unlink()
    importlib.invalidate_caches()

_unpack
`);
  // Python's files are memory: the array becomes the content of one as it is, without a copy.
  const load = (archive) => {
    python.FS.writeFile("/archive.zip", archive, { canOwn: true });
    unpack();
  };
  load(packages);
  const asked = python.runPython(`
sys.path.insert(0, "/packages")
sys.dont_write_bytecode = True
from planner.web.answers import Answers
pathlib.Path("/question").mkdir()
_answers = Answers("/question")
_read = set()

def _called(kind, given, tell):
    given = json.loads(given)
    if kind == "ask":
        given["on_progress"] = lambda what, done, of: tell(what, done, of)
    found = json.dumps(getattr(_answers, kind)(**given))
    _forget()
    return found

def _forget():
    """Removes the files of modules that are imported: they are not read again, and are memory."""
    for name in sys.modules.keys() - _read:
        _read.add(name)
        place = getattr(sys.modules[name], "__file__", None)
        if place and place.startswith("/packages/"):
            pathlib.Path(place).unlink(missing_ok=True)

_forget()
_called
`);
  return {
    call: (kind, given, tell = () => {}) => JSON.parse(asked(kind, JSON.stringify(given), tell)),
    load: async (name) => load(await bytes(name)),
  };
}
