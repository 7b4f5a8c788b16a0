// What the browser keeps: the files of the page, for use without a network, and reports in frames.
let keeping = Promise.resolve(false);

// Keeps the files. A newer page waits until its reader takes it, which all tabs then do at once: files
// of two builds never meet. `newer` is called with what takes it.
export function kept(newer) {
  keeping = registered(newer);
  return keeping;
}

async function registered(newer) {
  const place = navigator.serviceWorker; // https and this machine have it
  if (!place) return false;
  const old = place.controller;
  place.addEventListener("controllerchange", () => old && location.reload());
  try {
    const found = await place.register("sw.js", { updateViaCache: "none" });
    const look = () => {
      if (found.waiting && old) newer(() => found.waiting?.postMessage("take"));
    };
    const watch = () => found.installing?.addEventListener("statechange", look);
    look();
    watch(); // it may have begun before this line
    found.addEventListener("updatefound", watch);
    return found.active ? true : await installed(found.installing || found.waiting);
  } catch {
    return false; // the browser is told to keep nothing
  }
}

// Whether the files come to be kept: not where one of them cannot be had, or there is no room.
function installed(worker) {
  return new Promise((done) => {
    const look = () => {
      if (worker.state === "activated") done(true);
      if (worker.state === "redundant") done(false);
    };
    look();
    worker.addEventListener("statechange", look);
  });
}

// Shows a report, which has a policy of its own and so comes as a document of its own: the service
// worker hands it out, once. `choose` gets the address of a plan that is chosen in it. False: the
// browser keeps nothing for this page.
export async function framed(place, report, choose) {
  if (!(await keeping)) return false;
  const { scope } = await navigator.serviceWorker.ready;
  const cache = await caches.open(`planner ${new URL(scope).pathname} answers`);
  const name = new URL(`answers/${crypto.randomUUID()}.html`, location.href).href; // of this tab alone
  await cache.put(name, new Response(report, { headers: { "Content-Type": "text/html; charset=utf-8" } }));
  const frame = document.createElement("iframe");
  Object.assign(frame, { src: name, title: "The whole report" });
  frame.onload = () => {
    const page = frame.contentWindow;
    if (page.location.href !== name) return; // the empty one that comes first
    cache.delete(name);
    for (const kind of ["click", "keyup"]) page.addEventListener(kind, () => choose(page.location.hash));
  };
  place.append(frame);
  return true;
}
