// Answers questions with the runtime of a built page, under Node.js: the same files, no browser.
//   node web/ask.mjs FOLDER < questions.json > answers.json
// Questions are a list of objects of fields; answers a list of documents, as `planner solve --json`
// prints them, or of what `planner.web.answers.Answers.ask` says in their place. Standard error gets
// CPU seconds of the boot and of each answer, and the memory in the end.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const runtime = `${resolve(process.argv[2])}/runtime/`;
const { loadPyodide } = await import(`${runtime}pyodide.mjs`);
const seconds = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
const started = seconds();
const python = await loadPyodide({ indexURL: runtime });
const unpack = (name) =>
  python.unpackArchive(new Uint8Array(readFileSync(runtime + name)), "zip", { extractDir: "/" });
unpack("planner.zip");
const ask = python.runPython(`
import sys, json, importlib
sys.path.insert(0, "/packages")
from planner.web.answers import Answers
answers = Answers("/tmp")
def ask(fields):
    found = answers.ask(json.loads(fields))
    return answers.document(found["answer"])["json"] if "answer" in found else json.dumps(found)
ask`);
const spent = [seconds() - started];
const documents = [];
for (const fields of JSON.parse(readFileSync(0, "utf8"))) {
  const before = seconds();
  let found = JSON.parse(ask(JSON.stringify(fields)));
  if (found.lacks === "scipy") {
    unpack("more.zip");
    python.runPython("importlib.invalidate_caches()");
    found = JSON.parse(ask(JSON.stringify(fields)));
  }
  documents.push(found);
  spent.push(seconds() - before);
}
process.stdout.write(JSON.stringify(documents));
process.stderr.write(JSON.stringify({ cpu_s: spent, memory_bytes: process.memoryUsage().rss }));
