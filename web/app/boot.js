// Boots the planner's Python: in the worker of the page, and under Node.js (`web/ask.mjs`).
import { loadPyodide } from "./runtime/pyodide.mjs";

// Answers questions. `folder` has the runtime, `stream` gives what a file in it holds. `call` asks a
// method of `planner.web.answers.Answers`, with what it takes as an object; `tell` hears of progress.
// `load` unpacks another archive.
export async function boot(folder, stream) {
  // The memory of a Python that has started (`web/start.mjs`): a tenth of what starting one takes. What
  // is awaited stays with the runtime, so it is no promise, which would keep a copy of that memory.
  const memory = { then: (take, fail) => started(stream("python.packed")).then(take, fail) };
  const packages = stream("planner.packed");
  const python = await loadPyodide({ indexURL: folder, _loadSnapshot: memory });
  await unpack(python.FS, packages);
  const asked = python.runPython(`
import json, pathlib, sys
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
    load: async (name) => unpack(python.FS, stream(name)),
  };
}

async function started(packed) {
  const take = await opened(packed);
  return take(await length(take));
}

// Writes the files of an archive (`_packed` in `web/build.py`).
async function unpack(files, packed) {
  const take = await opened(packed);
  const list = JSON.parse(new TextDecoder().decode(await take(await length(take))));
  const folders = new Set();
  for (const [name, size] of list) {
    const folder = `/${name.slice(0, name.lastIndexOf("/"))}`;
    if (!folders.has(folder)) files.mkdirTree(folder);
    folders.add(folder);
    files.writeFile(`/${name}`, await take(size), { canOwn: true });
  }
}

const length = async (take) => new DataView((await take(4)).buffer).getUint32(0, true);

// Takes so many bytes at a time of what is compressed: nothing of it is in memory twice.
async function opened(packed) {
  const pieces = (await packed).pipeThrough(new DecompressionStream("gzip")).getReader();
  let piece = new Uint8Array();
  return async (size) => {
    const found = new Uint8Array(size);
    for (let at = 0; at < size; ) {
      if (!piece.length) piece = (await pieces.read()).value;
      const part = piece.subarray(0, size - at);
      found.set(part, at);
      at += part.length;
      piece = piece.subarray(part.length);
    }
    return found;
  };
}
