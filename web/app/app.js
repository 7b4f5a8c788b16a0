// The page: a form made from form.json, a worker that answers, and what is shown of its answers.
import { $, build, element, fields, find } from "./form.js";
import { framed, kept as keepFiles } from "./kept.js";

const state = $("state");
let worker = null;
let ready = false;
let asked = 0;
let kept = null; // the section that stays beside the next answer
let boot = 0; // answers of an earlier worker are gone with it
let lost = false; // the worker does not start
let keeps = false; // the browser was asked to keep the page
let turn = 0; // of the question that is asked now; what an earlier one says is not shown
const waiting = new Map();
const STOPPED = "stopped"; // of a question whose worker was ended

// The worker

// A worker takes its policy from the server's headers, which a plain server does not send, unless it
// comes from a blob: that has the policy of the page.
const WORKER = URL.createObjectURL(new Blob(
  [`import ${JSON.stringify(new URL("worker.js", import.meta.url).href)};`], { type: "text/javascript" },
));

function start() {
  boot += 1;
  ready = lost = false;
  const mine = new Worker(WORKER, { type: "module" });
  mine.onmessage = ({ data }) => mine === worker && heard(data); // one that was stopped is not heard
  mine.onerror = (event) => mine === worker && broken(event.message || "the worker does not start");
  worker = mine;
}

function heard(data) {
  if (lost) return;
  if (data.kind === "ready") {
    ready = true;
    $("progress").hidden = true;
    say(waiting.size ? "Solving." : "Ready.");
    setTimeout(() => waiting.size || keepPage(), 2_000); // a question that is asked at once comes first
  } else if (data.kind === "broken") broken(data.why);
  else if (data.kind === "loading") filled(data);
  else if (data.kind === "progress") shown(data);
  else {
    const { resolve, reject } = waiting.get(data.id) || {};
    waiting.delete(data.id);
    if (data.kind === "reply") resolve?.(data.found);
    else reject?.(new Error(data.why));
    if (!waiting.size) $("progress").hidden = true;
    keepPage();
  }
}

function broken(why) {
  lost = true; // the next question starts another one
  worker.terminate();
  $("progress").hidden = true;
  keepPage();
  say(`The planner does not start in this browser: ${why}`);
  for (const { reject } of waiting.values()) reject(new Error(why));
  waiting.clear();
}

// Once, and after the boot and the first answer, beside which it would load all files again.
function keepPage() {
  if (keeps) return;
  keeps = true;
  const newer = (take) => {
    $("newer").hidden = false;
    $("newer").querySelector("button").onclick = take;
  };
  keepFiles(newer).then((done) => (keeps = done)); // else it is tried again after the next answer
}

function ask(kind, given) {
  asked += 1;
  const id = asked;
  worker.postMessage({ id, kind, given });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function say(text) {
  state.textContent = text;
}

function shown({ what, done, of }) {
  say(of ? `${what}: ${done.toLocaleString("en")} of ${of.toLocaleString("en")}` : `${what} …`);
  filled({ done, of });
}

function filled({ done, of }) {
  const bar = $("progress");
  bar.hidden = false;
  if (of) {
    bar.max = of;
    bar.value = done;
  } else bar.removeAttribute("value");
}

async function load() {
  let form;
  try {
    const response = await fetch("form.json");
    if (!response.ok) throw new Error(`${response.status}`);
    form = await response.json();
  } catch (error) {
    formless(error.message);
    return;
  }
  build(form);
  if (!ready && !lost) say("The form is there; the planner loads.");
  linked();
}

function formless(why) {
  worker.terminate();
  worker = null; // what it said last is not heard
  window.onhashchange = null;
  $("solve").disabled = true;
  say(`The form cannot be loaded (form.json: ${why}). Load the page again.`);
}

// The question in the address

// `again`: it was read there. Another question is another step of the browser's way back.
function written(asked, again) {
  const place = `#${new URLSearchParams(asked)}`;
  try {
    if (again || place === location.hash) history.replaceState(null, "", place);
    else history.pushState(null, "", place);
  } catch {
    // longer than an address may be: answered all the same
  }
}

function linked() {
  if (location.hash && !location.hash.includes("=")) return; // a place on the page
  const asked = Object.create(null);
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const between = $(`f-${name}`)?.tagName === "TEXTAREA" ? "\n" : ", ";
    asked[name] = name in asked ? asked[name] + between + value : value;
  }
  for (const box of $("question").querySelectorAll("[id^=f-]")) {
    box.value = asked[box.name] || "";
    box.pasted?.(asked[box.name] || "");
  }
  const taken = fields(); // not what the form has no field or no choice for
  const lacks = Object.keys(asked).some((name) => asked[name].trim() !== (taken[name] || "").trim());
  for (const panel of $("rest").children) {
    panel.open = [...panel.querySelectorAll("[name]")].some((box) => asked[box.name]);
    if (panel.open) $("more").open = true;
  }
  if (Object.keys(asked).length) solve(lacks ? asked : taken, true); // which says what is meant
}

// Answers

async function solve(question, again = false) {
  if (lost || $("solve").disabled) stop(); // it failed before, or an address was followed meanwhile
  written(question, again);
  turn += 1;
  const mine = turn;
  busy(true);
  for (const box of document.querySelectorAll("[aria-invalid]")) box.removeAttribute("aria-invalid");
  say(ready ? "Solving." : "The planner is loaded first; the question is asked then.");
  const section = fresh();
  try {
    const found = await ask("ask", { texts: question });
    if (mine !== turn) return;
    show(section, question, found);
    const why = found.errors?.[0] ?? found.reason; // which an answer does not have
    say(found.answer ? "Done." : `No answer: ${why}`);
  } catch (error) {
    if (mine !== turn) return;
    if (error.message === STOPPED) section.remove();
    else fail(section, error);
  }
  busy(false);
}

function busy(on) {
  $("solve").disabled = on;
  $("stop").hidden = !on;
}

function fresh() {
  const section = $("answer").content.firstElementChild.cloneNode(true);
  const places = $("answers");
  for (const other of [...places.children]) if (other !== kept) other.remove();
  places.append(section); // what is kept stays where it is: its report would load again
  places.classList.toggle("two", Boolean(kept));
  section.dataset.boot = boot;
  section.hidden = true;
  return section;
}

function fail(section, error) {
  section.hidden = false;
  section.querySelector("h2").textContent = "No answer";
  for (const part of section.querySelectorAll(".command, details")) part.hidden = true;
  errors(section, [error.message]);
  say("No answer.");
}

function errors(section, lines) {
  const place = section.querySelector(".errors");
  place.replaceChildren(...lines.map((line) => element("p", { textContent: line })));
}

// To the field that an error begins with.
function wrong(line) {
  const name = line.split(":")[0].replace(/\.(yaml|json)$/, "").replaceAll("-", "_");
  const field = $(`f-${name}`)?.closest(".field");
  if (!field) return;
  $("find").value = "";
  find();
  for (let at = field.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  const box = field.querySelector("input:enabled, select:enabled, textarea:enabled");
  box.setAttribute("aria-invalid", "true");
  box.focus();
}

function show(section, question, found) {
  const part = (name) => section.querySelector(name);
  section.hidden = false;
  part("h2").textContent = [question.model, question.hardware, question.chips && `${question.chips} chips`]
    .filter((word) => word && !word.includes("\n")).join(" · ") || "Answer";
  part(".command").hidden = !found.command;
  part("code").textContent = found.command;
  part(".copy").onclick = () => copy(found.command);
  part(".command").append(...Object.entries(found.pasted || {}).map(([name, text]) => saving(name, text)));
  part(".page").hidden = part(".export").hidden = !found.answer;
  if (found.errors) {
    errors(section, found.errors);
    wrong(found.errors[0]);
  }
  if (found.lacks) {
    errors(section, [`Not in a browser: ${found.reason}. The command above answers it on a computer.`]);
  }
  if (!found.answer) return;
  part(".said").innerHTML = found.html; // made by the planner, which escapes all that is not its own
  for (const wide of part(".said").querySelectorAll("pre")) wide.tabIndex = 0; // keys scroll it
  $("keep").hidden = false;
  part(".page").ontoggle = () => report(section, found.answer);
  part(".export").hidden = !found.best && !found.plans;
  select(part(".row"), [...Array(Math.max(found.plans, 1)).keys()].map((at) => `${at + 1}`), `${found.best || 1}`);
  select(part(".target"), found.targets, found.targets[0]);
  select(part(".launcher"), ["", "slurm", "kubernetes", "torchrun"], "");
  part(".write").onclick = () => files(section, found.answer);
}

function select(place, values, chosen) {
  place.replaceChildren(...values.map((value) => element("option", { value, textContent: value || "none" })));
  place.value = chosen;
}

async function report(section, answer) {
  const place = section.querySelector(".page");
  const wait = place.querySelector(".wait");
  if (!place.open || !wait || place.dataset.drawn || gone(section, wait)) return;
  place.dataset.drawn = "it is, or will be";
  wait.textContent = "It is being drawn.";
  try {
    const found = await ask("page", { answer });
    if (!found.page) throw new Error(found.reason || found.errors.join(" "));
    wait.remove();
    const save = element("button", { type: "button", textContent: "Save the page" });
    save.onclick = () => download("report.html", found.page, "text/html");
    place.querySelector(".save").append(save);
    const choose = (hash) => chosen(section, hash);
    const none = "The browser keeps no pages of this address (https is needed): save the page, and open it.";
    if (!(await framed(place, found.page, choose))) place.querySelector(".save").append(` ${none}`);
    if (!waiting.size) say("Done.");
  } catch (error) {
    wait.textContent = `It cannot be drawn: ${error.message}`;
    delete place.dataset.drawn;
  }
}

// The plan whose point was chosen in the picture of the front is the one to write files of.
function chosen(section, hash) {
  const row = section.querySelector(".row");
  const number = hash.replace("#front-", "");
  if ([...row.options].some((option) => option.value === number)) row.value = number;
}

async function files(section, answer) {
  const place = section.querySelector(".files");
  if (gone(section, place)) return;
  const of = (name) => section.querySelector(name);
  const given = {
    answer, row: Number(of(".row").value), target: of(".target").value,
    launcher: of(".launcher").value, lossy: of(".lossy input").checked,
  };
  place.textContent = "Writing.";
  try {
    const found = await ask("files", given);
    const lines = found.errors || [];
    const notes = [...(found.lossy || []).map((one) => `${one.field}: ${one.reason}`), ...(found.warnings || [])];
    place.replaceChildren(
      ...lines.map((line) => element("p", { textContent: line })),
      ...Object.entries(found.files || {}).map(([name, text]) => file(name, text)),
      ...notes.map((note) => element("p", { className: "help", textContent: note })),
    );
    if (found.command) place.prepend(file("command", found.command));
  } catch (error) {
    place.textContent = error.message;
  }
}

// Whether the worker that has an answer was ended, which `place` says.
function gone(section, place) {
  const ended = Number(section.dataset.boot) !== boot;
  if (ended) place.textContent = "The planner was stopped since; ask the question again.";
  return ended;
}

// What was pasted is a file for the command line.
function saving(name, text) {
  const save = element("button", { type: "button", textContent: `Save ${name} for it` });
  save.onclick = () => download(name, text, "text/plain");
  return save;
}

function file(name, text) {
  const take = element("button", { type: "button", textContent: "Copy" });
  take.onclick = () => copy(text);
  const save = element("button", { type: "button", textContent: "Download" });
  save.onclick = () => download(name, text, "text/plain");
  const shown = element("pre", { textContent: text, tabIndex: 0 });
  return element("div", { className: "file" }, element("h3", {}, name, take, save), shown);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    say("The browser does not let this page copy; select the text.");
  }
}

function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function keep() {
  const places = $("answers");
  kept = kept ? null : places.lastElementChild;
  $("keep").textContent = kept ? "Keep none" : "Keep this answer beside the next";
  if (!kept) places.classList.remove("two");
  if (!kept && places.children.length > 1) places.firstElementChild.remove();
}

function stop() {
  worker.terminate();
  for (const { reject } of waiting.values()) reject(new Error(STOPPED));
  waiting.clear();
  $("progress").hidden = true;
  start();
  say("Stopped.");
}

$("question").onsubmit = (event) => {
  event.preventDefault();
  solve(fields());
};
document.querySelector(".skip").onclick = (event) => {
  event.preventDefault();
  $("question").querySelector("input, select, textarea")?.focus();
};
$("stop").onclick = stop;
$("keep").onclick = keep;
$("find").oninput = find;
window.onhashchange = linked;
start();
load();
