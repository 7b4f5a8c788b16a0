// What the theme leaves to those who read with keys or by ear: wide tables that keys can scroll,
// landmarks that are called apart, and commands that are not folded within a flag or a name.
const MENDED = {
  ".md-typeset__scrollwrap": (table) => { table.tabIndex = 0; },
  ".md-code__nav": (buttons) => { buttons.role = "presentation"; },
  ".language-sh code": keepWhole,
  ".md-path": (path) => { path.ariaLabel = "Path"; },
  ".md-nav[data-md-level='1'][aria-labelledby]": (nav) => {
    const named = document.getElementById(nav.getAttribute("aria-labelledby"));
    if (!named?.textContent.trim()) nav.ariaLabel = "Section";
    if (nav.ariaLabel) nav.removeAttribute("aria-labelledby");
  },
};

// The words of a command that have hyphens, at which a browser would fold them.
function keepWhole(code) {
  if (code.dataset.whole) return;
  code.dataset.whole = "yes";
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) if (/-\S/.test(texts.currentNode.data)) found.push(texts.currentNode);
  for (const text of found) {
    text.replaceWith(...text.data.split(/(\S+)/).filter(Boolean).map((part) => {
      if (!part.trim()) return part;
      return Object.assign(document.createElement("span"), { className: "whole", textContent: part });
    }));
  }
}

function mend() {
  for (const [found, how] of Object.entries(MENDED)) document.querySelectorAll(found).forEach(how);
}

mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true }); // the theme adds some later
