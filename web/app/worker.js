// The planner in a thread of its own: boots, then answers one message after the other.
import { boot } from "./boot.js";

const MORE = { scipy: "more.packed" }; // archives that are loaded when a question takes them
const TAKES = { uneven: "scipy" }; // by the layout, which need not be found out by a search
const RUNTIME = new URL("runtime/", import.meta.url).href;

const loads = { done: 0, of: 0 }; // bytes of all that was asked for

async function fetched(name) {
  const response = await fetch(RUNTIME + name).catch((error) => {
    throw new Error(`${name}: ${error.message}`);
  });
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response;
}

async function stream(name) {
  const response = await fetched(name);
  loads.of += Number(response.headers.get("Content-Length")); // none: more is done than there is
  const tell = teller("loading");
  const transform = (piece, out) => {
    loads.done += piece.length;
    tell("", loads.done, loads.done <= loads.of ? loads.of : 0);
    out.enqueue(piece);
  };
  return response.body.pipeThrough(new TransformStream({ transform }));
}

// Tells of progress, ten times a second at most.
function teller(kind = "progress") {
  let last = 0;
  return (what, done, of) => {
    if (Date.now() - last < 100) return;
    last = Date.now();
    postMessage({ kind, what, done, of });
  };
}

const booted = (async () => {
  if (typeof WebAssembly === "undefined") {
    throw new Error("it has no WebAssembly, or that is turned off. The command line does without it.");
  }
  const missing = ["pyodide.asm.wasm", "python_stdlib.zip"].map(async (name) => {
    (await fetched(name)).body.cancel(); // of which the runtime says nothing where they are not there
  });
  const [planner] = await Promise.all([boot(RUNTIME, stream), ...missing]);
  return planner;
})();

async function reply(kind, given) {
  const planner = await booted;
  const tell = teller();
  if (kind === "ask") await loaded(TAKES[given.texts.layout]);
  for (;;) {
    const found = planner.call(kind, given, tell);
    if (!(await loaded(found.lacks))) return found;
  }
}

// Whether there was more of a package to load, which is there then.
async function loaded(name) {
  const archive = MORE[name];
  if (!archive) return false;
  postMessage({ kind: "progress", what: "loading SciPy for this question", done: 0, of: 0 });
  await (await booted).load(archive);
  delete MORE[name]; // after it: one that failed is tried again by the next question
  return true;
}

onmessage = async ({ data }) => {
  try {
    postMessage({ kind: "reply", id: data.id, found: await reply(data.kind, data.given) });
  } catch (error) {
    postMessage({ kind: "failed", id: data.id, why: String(error.message || error) });
  }
};

// The runtime lets go of some of its own failures, such as a file of it that is not there.
addEventListener("unhandledrejection", ({ reason }) => {
  postMessage({ kind: "broken", why: String(reason?.message || reason) });
});
booted.then(
  () => postMessage({ kind: "ready" }),
  (error) => postMessage({ kind: "broken", why: String(error.message || error) }),
);
