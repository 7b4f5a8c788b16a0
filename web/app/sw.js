// Keeps the page and its runtime for use without a network, and hands out the pages of answers.
importScripts("files.js"); // self.FILES: {version, names}
const KEPT = `planner-${self.FILES.version}`;
const ANSWERS = "planner-answers";

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches.open(KEPT).then((cache) => cache.addAll(self.FILES.names)).then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  const old = (name) => name.startsWith("planner-") && name !== KEPT;
  event.waitUntil(
    caches.keys()
      .then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const address = new URL(event.request.url);
  if (event.request.method !== "GET" || address.origin !== self.location.origin) return;
  const found = caches.match(event.request, { ignoreSearch: true });
  event.respondWith(found.then((kept) => kept || fetch(event.request)));
});
