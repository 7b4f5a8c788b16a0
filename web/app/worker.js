// The planner in a thread of its own: boots Pyodide, then answers one message after the other.
import { loadPyodide } from "./runtime/pyodide.mjs";

const MORE = { scipy: "more.zip" }; // archives that are loaded when a question takes them
let answers = null;

async function bytes(name) {
  const response = await fetch(new URL(`runtime/${name}`, import.meta.url));
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

const booted = (async () => {
  if (typeof WebAssembly === "undefined") {
    throw new Error("it has no WebAssembly, or that is turned off. The command line does without it.");
  }
  const runtime = new URL("runtime/", import.meta.url).href;
  const [python, packages] = await Promise.all([
    loadPyodide({ indexURL: runtime }),
    bytes("planner.zip"),
  ]);
  python.unpackArchive(packages, "zip", { extractDir: "/" });
  python.runPython("import sys; sys.path.insert(0, '/packages'); sys.dont_write_bytecode = True");
  answers = python.runPython(
    "import json, pathlib\n" +
      "from planner.web.answers import Answers\n" +
      "pathlib.Path('/question').mkdir()\n" +
      "_answers = Answers('/question')\n" +
      "def _told(tell):\n" +
      "    return lambda what, done, of: tell(what, done, of)\n" +
      "def _asked(kind, given, tell):\n" +
      "    given = json.loads(given)\n" +
      "    if kind == 'ask':\n" +
      "        return json.dumps(_answers.ask(given['fields'], _told(tell)))\n" +
      "    return json.dumps(getattr(_answers, kind)(**given))\n" +
      "_asked",
  );
  return python;
})();

async function reply(kind, given) {
  const python = await booted;
  let last = 0;
  const tell = (what, done, of) => {
    if (Date.now() - last < 100) return;
    last = Date.now();
    postMessage({ kind: "progress", what, done, of });
  };
  for (;;) {
    const found = JSON.parse(answers(kind, JSON.stringify(given), tell));
    const archive = MORE[found.lacks];
    if (!archive) return found;
    delete MORE[found.lacks];
    postMessage({ kind: "progress", what: "loading SciPy for this question", done: 0, of: 0 });
    python.unpackArchive(await bytes(archive), "zip", { extractDir: "/" });
    python.runPython("import importlib; importlib.invalidate_caches()");
  }
}

onmessage = async ({ data }) => {
  try {
    postMessage({ kind: "reply", id: data.id, found: await reply(data.kind, data.given) });
  } catch (error) {
    postMessage({ kind: "failed", id: data.id, why: String(error.message || error) });
  }
};

booted.then(
  () => postMessage({ kind: "ready" }),
  (error) => postMessage({ kind: "broken", why: String(error.message || error) }),
);
