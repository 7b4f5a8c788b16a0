// The planner in a thread of its own: boots, then answers one message after the other.
import { boot } from "./boot.js";

const MORE = { scipy: "more.packed" }; // archives that are loaded when a question takes them
const RUNTIME = new URL("runtime/", import.meta.url).href;

async function stream(name) {
  const response = await fetch(RUNTIME + name).catch((error) => {
    throw new Error(`${name}: ${error.message}`);
  });
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response.body;
}

const booted = (async () => {
  if (typeof WebAssembly === "undefined") {
    throw new Error("it has no WebAssembly, or that is turned off. The command line does without it.");
  }
  return boot(RUNTIME, stream);
})();

async function reply(kind, given) {
  const planner = await booted;
  let last = 0;
  const tell = (what, done, of) => {
    if (Date.now() - last < 100) return;
    last = Date.now();
    postMessage({ kind: "progress", what, done, of });
  };
  for (;;) {
    const found = planner.call(kind, given, tell);
    const archive = MORE[found.lacks];
    if (!archive) return found;
    postMessage({ kind: "progress", what: "loading SciPy for this question", done: 0, of: 0 });
    await planner.load(archive);
    delete MORE[found.lacks]; // after it: one that failed is tried again by the next question
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
