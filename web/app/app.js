// The page: a form made from form.json, a worker that answers, and what is shown of its answers.
import { framed, kept as keepFiles } from "./kept.js";

const $ = (id) => document.getElementById(id);
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
  ready = false;
  const mine = new Worker(WORKER, { type: "module" });
  mine.onmessage = ({ data }) => mine === worker && heard(data); // one that was stopped is not heard
  mine.onerror = (event) => mine === worker && broken(event.message || "the worker does not start");
  worker = mine;
}

function heard(data) {
  if (data.kind === "ready") {
    ready = true;
    keepPage();
    if (!waiting.size) say("Ready.");
  } else if (data.kind === "broken") broken(data.why);
  else if (data.kind === "progress") shown(data);
  else {
    const { resolve, reject } = waiting.get(data.id) || {};
    waiting.delete(data.id);
    if (data.kind === "reply") resolve?.(data.found);
    else reject?.(new Error(data.why));
    if (!waiting.size) $("progress").hidden = true;
  }
}

function broken(why) {
  lost = true;
  keepPage();
  say(`The planner does not start in this browser: ${why}`);
  for (const { reject } of waiting.values()) reject(new Error(why));
  waiting.clear();
}

// Once, and after the boot, whose files it would load a second time beside it.
function keepPage() {
  if (keeps) return;
  keeps = true;
  keepFiles((take) => {
    $("newer").hidden = false;
    $("newer").querySelector("button").onclick = take;
  });
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
  const bar = $("progress");
  bar.hidden = false;
  if (of) {
    bar.max = of;
    bar.value = done;
  } else bar.removeAttribute("value");
}

// The form

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function input(field) {
  const common = { id: `f-${field.name}`, name: field.name };
  const usual = field.default ? `default: ${field.default}` : "not set";
  if (field.kind === "switch") return choices(common, [["", usual], ["true", "yes"], ["false", "no"]]);
  const closed = ["word", "name"].includes(field.kind) && field.words.length;
  if (closed) return choices(common, [["", usual], ...field.words.map((word) => [word, word])]);
  if (["texts", "changes", "choices"].includes(field.kind)) {
    return element("textarea", { ...common, rows: 1, placeholder: "one a line", spellcheck: false });
  }
  return element("input", { ...common, type: "text", placeholder: usual, autocomplete: "off" });
}

function choices(common, pairs) {
  const made = element("select", common);
  made.append(...pairs.map(([value, text]) => element("option", { value, textContent: text })));
  return made;
}

function row(field) {
  const made = input(field);
  const help = element("p", { className: "help", id: `h-${field.name}`, textContent: field.help });
  made.setAttribute("aria-describedby", help.id);
  if (field.required) made.required = true;
  const box = element("div", { className: "field" });
  box.dataset.words = `${field.name} ${field.label} ${field.help}`.toLowerCase();
  box.append(element("label", { htmlFor: made.id, textContent: field.label }), made);
  if (field.kind === "path") box.append(names(field, made), pasting(field, made));
  box.append(help);
  return box;
}

// What is known of a name, while it is typed.
function names(field, made) {
  const list = element("datalist", { id: `n-${field.name}` });
  list.append(...field.words.map((value) => element("option", { value })));
  made.setAttribute("list", list.id);
  return list;
}

// A file of the reader's own in the place of a name: its text is the value of the field.
function pasting(field, made) {
  const kinds = field.name === "model" ? "YAML or a config.json" : "YAML";
  const text = element("textarea", { name: field.name, rows: 10, spellcheck: false, hidden: true, disabled: true });
  text.placeholder = `For example:\n\n${field.example}`;
  text.setAttribute("aria-label", `${field.label}: the text of a file`);
  const open = element("button", { type: "button", className: "small", textContent: `Paste ${kinds}` });
  const turn = (on) => {
    text.hidden = text.disabled = !on;
    made.hidden = made.disabled = on;
    open.textContent = on ? "A name instead" : `Paste ${kinds}`;
  };
  open.onclick = () => {
    turn(text.hidden);
    (text.hidden ? made : text).focus();
  };
  made.pasted = (value) => {
    const whole = value.includes("\n") || value.startsWith("{");
    turn(whole);
    text.value = whole ? value : "";
  };
  return element("div", {}, text, open);
}

function build(form) {
  $("version").textContent = `planner ${form.version}`;
  $("first").append(...form.fields.filter((field) => field.first).map(row));
  for (const [panel, fields] of grouped(form.fields.filter((field) => !field.first))) {
    const box = element("div", { className: "fields" }, ...fields.map(row));
    $("rest").append(element("details", {}, element("summary", { textContent: panel }), box));
  }
}

function grouped(fields) {
  const found = new Map();
  for (const field of fields) found.set(field.panel, [...(found.get(field.panel) || []), field]);
  return found;
}

function find() {
  const text = $("find").value.trim().toLowerCase().replaceAll(" ", "_");
  const plain = text.replaceAll("_", " ");
  for (const panel of $("rest").children) {
    let any = false;
    for (const box of panel.querySelectorAll(".field")) {
      const match = !text || box.dataset.words.includes(text) || box.dataset.words.includes(plain);
      box.hidden = !match;
      any ||= match;
    }
    panel.hidden = !any;
    panel.open = Boolean(text) && any;
  }
}

function fields() {
  const found = {};
  for (const [name, value] of new FormData($("question"))) {
    if (value.trim()) found[name] = value.trim();
  }
  return found;
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
  const asked = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const boxes = [...$("question").querySelectorAll("[id^=f-]")];
  for (const box of boxes) {
    box.value = asked[box.name] || "";
    box.pasted?.(box.value);
  }
  const known = boxes.map((box) => box.name);
  const unknown = Object.keys(asked).filter((name) => !known.includes(name));
  for (const panel of $("rest").children) {
    panel.open = [...panel.querySelectorAll("[name]")].some((box) => asked[box.name]);
    if (panel.open) $("more").open = true;
  }
  if (Object.keys(asked).length) solve(unknown.length ? asked : fields(), true); // which says what is meant
}

// Answers

async function solve(question, again = false) {
  if ($("solve").disabled) stop(); // an address was followed while a question is answered
  written(question, again);
  turn += 1;
  const mine = turn;
  busy(true);
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

function show(section, question, found) {
  const part = (name) => section.querySelector(name);
  section.hidden = false;
  part("h2").textContent = [question.model, question.hardware, question.chips && `${question.chips} chips`]
    .filter((word) => word && !word.includes("\n")).join(" · ") || "Answer";
  part(".command").hidden = !found.command;
  part("code").textContent = found.command;
  part(".copy").onclick = () => copy(found.command);
  part(".page").hidden = part(".export").hidden = !found.answer;
  if (found.errors) errors(section, found.errors);
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
  if (!place.open || place.querySelector("iframe") || gone(section)) return;
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
    say("Done.");
  } catch (error) {
    wait.textContent = `It cannot be drawn: ${error.message}`;
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
  if (gone(section)) return;
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

function gone(section) {
  const lost = Number(section.dataset.boot) !== boot;
  if (lost) say("The planner was stopped since; ask the question again.");
  return lost;
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
