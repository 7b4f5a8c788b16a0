// What the theme leaves to those who read with keys or by ear: wide tables that keys can scroll,
// and landmarks that are called apart.
const MENDED = {
  ".md-typeset__scrollwrap": (table) => { table.tabIndex = 0; },
  ".md-code__nav": (buttons) => { buttons.role = "presentation"; },
  ".md-path": (path) => { path.ariaLabel = "Path"; },
  ".md-nav[data-md-level='1'][aria-labelledby]": (nav) => {
    const named = document.getElementById(nav.getAttribute("aria-labelledby"));
    if (!named?.textContent.trim()) nav.ariaLabel = "Section";
    if (nav.ariaLabel) nav.removeAttribute("aria-labelledby");
  },
};

function mend() {
  for (const [found, how] of Object.entries(MENDED)) document.querySelectorAll(found).forEach(how);
}

mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true }); // the theme adds some later
