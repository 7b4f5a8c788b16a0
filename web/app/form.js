// The form: made from form.json, and what stands in it.

export const $ = (id) => document.getElementById(id);

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function input(field) {
  const common = { id: `f-${field.name}`, name: field.name };
  const usual = field.default ? `default: ${field.default}` : "not set";
  if (field.kind === "switch") {
    const also = field.words.map((word) => [word, word]);
    return choices(common, [["", usual], ["true", "yes"], ["false", "no"], ...also]);
  }
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
    turn(whole(value));
    text.value = whole(value) ? value : "";
  };
  return element("div", {}, text, open);
}

export function build(form) {
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

export function find() {
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

// Whether a value is the text of a file, whose first spaces belong to it.
const whole = (value) => value.includes("\n") || value.trim().startsWith("{");

export function fields() {
  const found = Object.create(null);
  for (const [name, value] of new FormData($("question"))) {
    if (value.trim()) found[name] = whole(value) ? value : value.trim();
  }
  return found;
}
