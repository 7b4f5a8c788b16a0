// Keeps the page and its runtime for use without a network, and hands out the reports of answers.
importScripts("files.js"); // self.FILES: {version, names}
const OURS = `planner ${new URL(self.registration.scope).pathname} `; // other pages of this host have theirs
const KEPT = `${OURS}${self.FILES.version}`;
const REPORTS = `${OURS}answers`;

// Past the browser's own cache, which may have files of an older build. It then waits for the tabs that
// run the older one.
self.addEventListener("install", (event) => {
  const names = self.FILES.names.map((name) => new Request(name, { cache: "reload" }));
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(names)));
});

self.addEventListener("message", (event) => {
  if (event.data === "take") self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  const old = (name) => name.startsWith(OURS) && name !== KEPT;
  event.waitUntil(
    caches.keys()
      .then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

async function found(request) {
  for (const name of [KEPT, REPORTS]) {
    const cache = await caches.open(name);
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
  }
  return fetch(request);
}

self.addEventListener("fetch", (event) => {
  const address = new URL(event.request.url);
  if (event.request.method !== "GET" || address.origin !== self.location.origin) return;
  event.respondWith(found(event.request));
});
