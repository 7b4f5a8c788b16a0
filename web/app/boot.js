// Boots the planner's Python: in the worker of the page, and under Node.js (`web/ask.mjs`).
import { loadPyodide } from "./runtime/pyodide.mjs";

// Answers questions. `folder` has the runtime, `stream` gives what a file in it holds. `call` asks a
// method of `planner.web.answers.Answers`, with what it takes as an object; `tell` hears of progress.
// `load` unpacks another archive.
export async function boot(folder, stream) {
  const archive = (name) => opened(name, stream(name));
  const memory = archive("python.packed");
  const packages = archive("planner.packed");
  // The memory of a Python that has started (`web/start.mjs`): a tenth of what starting one takes. What
  // is awaited stays with the runtime, so it is no promise, which would keep a copy of that memory.
  const started = { then: (take, fail) => memory.then(whole).then(take, fail) };
  const [python] = await Promise.all([
    loadPyodide({ indexURL: folder, _loadSnapshot: started }), packages, memory,
  ]);
  const { build } = await memory;
  const load = async (archive) => {
    if (archive.build !== build) throw new Error(`files of two builds; ${AGAIN}`);
    await unpack(python.FS, archive);
  };
  await load(await packages);
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
    load: async (name) => load(await archive(name)),
  };
}

const AGAIN = "load the page again, past what the browser keeps";

// The only file of an archive.
async function whole({ files: [[, size]], take }) {
  return take(size);
}

// Writes the files of an archive.
async function unpack(system, { files, take }) {
  const folders = new Set();
  for (const [name, size] of files) {
    const folder = `/${name.slice(0, name.lastIndexOf("/"))}`;
    if (!folders.has(folder)) system.mkdirTree(folder);
    folders.add(folder);
    system.writeFile(`/${name}`, await take(size), { canOwn: true });
  }
}

// An archive (`_packed` in `web/build.py`): its build, its files, and what takes so many bytes of them at
// a time. Nothing of it is in memory twice.
async function opened(name, packed) {
  const pieces = (await packed).pipeThrough(new DecompressionStream("gzip")).getReader();
  const damaged = (why) => new Error(`${name}: ${why}; ${AGAIN}`);
  let piece = new Uint8Array();
  const take = async (size) => {
    const found = new Uint8Array(size);
    for (let at = 0; at < size; ) {
      if (!piece.length) {
        const { done, value } = await pieces.read().catch((error) => Promise.reject(damaged(error.message)));
        if (done) throw damaged("it ends too early");
        piece = value;
      }
      const part = piece.subarray(0, size - at);
      found.set(part, at);
      at += part.length;
      piece = piece.subarray(part.length);
    }
    return found;
  };
  const length = new DataView((await take(4)).buffer).getUint32(0, true);
  const heading = new TextDecoder().decode(await take(length));
  try {
    return { ...JSON.parse(heading), take };
  } catch {
    throw damaged("it does not begin as an archive");
  }
}
