// Answers questions with the runtime of a built page, under Node.js: the same files, no browser.
//   node web/ask.mjs FOLDER < questions.json > answers.json
// Questions are a list of objects of fields; answers a list of documents, as `planner solve --json`
// prints them, or of what `planner.web.answers.Answers.ask` says in their place. Standard error gets
// CPU seconds of the boot and of each answer, and the memory in the end.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const site = resolve(process.argv[2]);
const { boot } = await import(pathToFileURL(`${site}/boot.js`).href);
const seconds = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
const stream = async (name) => new Blob([readFileSync(`${site}/runtime/${name}`)]).stream();
const started = seconds();
const planner = await boot(`${site}/runtime/`, stream);
const spent = [seconds() - started];
const documents = [];
for (const texts of JSON.parse(readFileSync(0, "utf8"))) {
  const before = seconds();
  let found = planner.call("ask", { texts });
  if (found.lacks === "scipy") {
    await planner.load("more.packed");
    found = planner.call("ask", { texts });
  }
  if ("answer" in found) found = JSON.parse(planner.call("document", { answer: found.answer }).json);
  documents.push(found);
  spent.push(seconds() - before);
}
process.stdout.write(JSON.stringify(documents));
process.stderr.write(JSON.stringify({ cpu_s: spent, memory_bytes: process.memoryUsage().rss }));
