"use strict";
(() => {
  const root = document.documentElement;
  const live = document.getElementById("live");
  const panel = document.getElementById("panel");
  root.classList.add("js");
  const say = (words) => { live.textContent = words; };

  /* Colours: those of the system until the button is pressed; nothing is stored. */
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = document.createElement("button");
  theme.id = "theme";
  theme.type = "button";
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const name = () => { theme.textContent = isDark() ? "Light colours" : "Dark colours"; };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  dark.addEventListener("change", name);
  name();
  document.querySelector("h1").after(theme);

  /* What is wider than the screen can be scrolled with the keyboard; all is measured first. */
  const boxes = ".scroll, figure, #panel";
  const reach = (part = document) => {
    const inside = [...part.querySelectorAll(boxes)];
    if (part.matches && part.matches(boxes)) { inside.push(part); }
    const sizes = inside.map((box) => {
      const wide = box.scrollWidth > box.clientWidth + 1;
      const high = box.id === "panel" && box.scrollHeight > box.clientHeight + 1;
      return [box, wide, wide || high];
    });
    for (const [box, wide, scrolls] of sizes) {
      if (scrolls) { box.tabIndex = 0; } else { box.removeAttribute("tabindex"); }
      if (!box.matches(".scroll")) { continue; }
      const caption = box.querySelector("caption");
      if (wide && caption) {
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", caption.textContent);
      } else {
        box.removeAttribute("role");
        box.removeAttribute("aria-label");
      }
    }
  };
  document.addEventListener("toggle", (event) => reach(event.target), true);

  /* Sorting by a click on a header. */
  const value = (row, column) => {
    const cell = row.cells[column];
    const number = cell.dataset.value;
    return number === undefined ? cell.textContent : Number(number);
  };
  const compare = (a, b) => {
    if (typeof a !== typeof b) { return typeof a === "number" ? -1 : 1; }
    return typeof a === "number" ? a - b : a.localeCompare(b);
  };
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (up ? 1 : -1) * compare(value(a, column), value(b, column)));
        table.tBodies[0].append(...rows);
        say(`Sorted by ${button.textContent}, ${up ? "ascending" : "descending"}.`);
      });
    });
  }

  /* The front: pointing shows a plan, a click or Enter pins it, arrows walk, Escape goes back. */
  const records = new Map();
  for (const list of document.querySelectorAll("details.record")) {
    const article = document.createElement("article");
    const heading = document.createElement("h3");
    heading.textContent = list.querySelector("summary").textContent;
    heading.tabIndex = -1;
    heading.id = `${list.dataset.record}-name`;
    article.className = "record";
    article.setAttribute("aria-labelledby", heading.id);
    article.append(heading, ...[...list.children].filter((part) => part.localName !== "summary"));
    records.set(list.dataset.record, article);
    list.replaceWith(article);
  }
  const keys = [...records.keys()];
  const dots = new Map();
  for (const dot of document.querySelectorAll("[data-key]")) {
    if (records.has(dot.dataset.key)) { dots.set(dot.dataset.key, dot); }
  }
  const strong = document.querySelector("tr.strong[data-row]");
  const home = strong ? strong.dataset.row : records.has("best") ? "best" : keys[0];
  let pinned = null;

  const show = (key) => {
    for (const [other, article] of records) { article.classList.toggle("shown", other === key); }
    for (const row of document.querySelectorAll("tr[data-row]")) {
      row.classList.toggle("chosen", row.dataset.row === key);
    }
    reach(panel);
  };
  const way = (key) => {
    const to = dots.has(key) ? key : dots.keys().next().value;
    for (const [other, dot] of dots) { dot.tabIndex = other === to ? 0 : -1; }
  };
  const mark = (key) => {
    way(key);
    for (const [other, dot] of dots) {
      dot.classList.toggle("chosen", other === pinned);
      dot.setAttribute("aria-pressed", String(other === pinned));
    }
  };
  const address = (key) => {
    const hash = key ? `#${key}` : location.pathname + location.search;
    try { history.replaceState(null, "", hash); } catch (error) { /* some viewers forbid it */ }
  };
  const pin = (key) => {
    pinned = key;
    show(key);
    mark(key);
    address(key);
    say(`Chosen: ${document.getElementById(`${key}-name`).textContent}.`);
  };
  const focused = () => [...dots.keys()].find((key) => dots.get(key) === document.activeElement);
  const rest = () => show(focused() || pinned || home);
  const back = () => {
    pinned = null;
    if (focused() && dots.has(home)) { dots.get(home).focus(); }
    show(home);
    mark(home);
    address("");
    say(`Back to ${document.getElementById(`${home}-name`).textContent}.`);
  };
  const focusOn = (key) => {
    way(key);
    dots.get(key).focus();
    say(document.getElementById(`${key}-name`).textContent);
  };
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const isShortcut = (event) => event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
  const onKey = (event, key) => {
    if (isShortcut(event)) { return; }
    const walk = keys.filter((one) => dots.has(one));
    const at = walk.indexOf(key);
    let to = null;
    if (event.key in steps) { to = Math.min(walk.length - 1, Math.max(0, at + steps[event.key])); }
    if (event.key === "Home") { to = 0; }
    if (event.key === "End") { to = walk.length - 1; }
    if (to !== null) { focusOn(walk[to]); }
    const press = event.key === "Enter" || event.key === " ";
    if (press) { pin(key); }
    if (press || to !== null) { event.preventDefault(); }
  };
  if (records.size) {
    panel.setAttribute("role", "region");
    panel.setAttribute("aria-label", "Chosen plan of the front");
    for (const [key, dot] of dots) {
      dot.addEventListener("pointerenter", () => show(key));
      dot.addEventListener("pointerleave", rest);
      dot.addEventListener("focus", () => show(key));
      dot.addEventListener("click", () => { pin(key); });
      dot.addEventListener("keydown", (event) => onKey(event, key));
      dot.addEventListener("blur", () => show(pinned || home));
    }
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && (pinned || focused())) { back(); }
    });
    for (const link of document.querySelectorAll("tr[data-row] a")) {
      link.addEventListener("click", (event) => {
        if (isShortcut(event)) { return; }
        event.preventDefault();
        const key = link.closest("tr").dataset.row;
        pin(key);
        const heading = document.getElementById(`${key}-name`);
        heading.focus({ preventScroll: true });
        panel.scrollIntoView({ block: "nearest" });
      });
    }
    const follow = () => {
      const key = location.hash.slice(1);
      if (records.has(key) && key !== pinned) {
        pin(key);
        (document.getElementById("front-figure") || panel).scrollIntoView({ block: "start" });
      }
    };
    show(home);
    mark(home);
    addEventListener("hashchange", follow);
    follow();
  }

  /* Printing opens what is folded, and closes it afterwards. */
  let opened = [];
  addEventListener("beforeprint", () => {
    const folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((one) => { one.open = true; });
    opened.push(...folded);
  });
  addEventListener("afterprint", () => {
    opened.forEach((one) => { one.open = false; });
    opened = [];
  });
  addEventListener("resize", () => reach());
  reach();
})();
