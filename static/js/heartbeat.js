// Tells the server that somebody is at the page, and when they leave it, so that nobody waits for a batch in vain.
(() => {
  const EVERY_MS = 60_000;
  const ACTIVE_MS = 5 * 60_000;
  const LEFT = "momentjudge-left";
  const place = document.getElementById("judging");
  if (!place) return;
  const form = new FormData();
  form.set("csrfmiddlewaretoken", place.dataset.token);
  let activeAt = Date.now();
  let staying = false; // a press ends the batch itself, or opens another page of the site

  async function beat() {
    if (!document.getElementById("pair")) return; // the page says already that the batch has ended
    const answer = await fetch(place.dataset.heartbeat, { method: "POST", body: form }).catch(() => null);
    if (answer?.redirected) window.location.assign(`/login/?next=${encodeURIComponent(window.location.pathname)}`);
    else if (answer?.status === 409) runOut();
    else if ([403, 404].includes(answer?.status)) window.location.reload(); // a log-in elsewhere, or a role that ended
  }

  function runOut() {
    document.getElementById("pair")?.remove();
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
    const note = document.getElementById("run-out");
    note.hidden = false;
    note.focus();
  }

  for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "touchstart"]) {
    document.addEventListener(name, () => (activeAt = Date.now()), { passive: true });
  }
  setInterval(() => {
    if (!document.hidden && Date.now() - activeAt < ACTIVE_MS) beat();
  }, EVERY_MS);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    activeAt = Date.now();
    beat();
  });

  document.addEventListener("submit", ({ target }) => target.matches("[data-ends]") && (staying = true));
  document.addEventListener("pair", () => (staying = false));
  window.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (link && !event.defaultPrevented && link.target !== "_blank") staying = link.origin === window.location.origin;
  });
  window.addEventListener("pagehide", () => {
    if (staying || !document.getElementById("pair")) return;
    navigator.sendBeacon(place.dataset.leave, form);
    localStorage.setItem(LEFT, String(Date.now()));
  });
  window.addEventListener("storage", ({ key }) => key === LEFT && setTimeout(beat, 500)); // another tab was closed
  window.addEventListener("load", beat); // the page before this one may have said that it was left
})();
