// Measures how long a clip was before its writer, or a query before its checker, and sends it with what they decide.
// A hidden tab does not count; a page that is loaded again goes on where it stopped.
(() => {
  const SPENT = "momentjudge-time-spent:";
  let section = null; // the one on the screen
  let since = null; // null while nobody can see it

  const name = () => SPENT + section.dataset.time;
  const spent = () => Number(sessionStorage.getItem(name()) ?? 0);

  function stop() {
    if (section && since !== null) sessionStorage.setItem(name(), String(spent() + performance.now() - since));
    since = null;
  }

  function start() {
    since = document.hidden ? null : performance.now();
  }

  function begin(next) {
    stop();
    section = next;
    for (const other of Object.keys(sessionStorage)) {
      if (other.startsWith(SPENT) && other !== name()) sessionStorage.removeItem(other);
    }
    start();
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", ({ persisted }) => persisted && start());
  document.addEventListener("formdata", ({ target, formData }) => {
    if (!section?.contains(target)) return;
    stop();
    start();
    formData.set("active_ms", String(Math.round(spent())));
  });
  document.addEventListener("htmx:load", ({ detail }) => {
    const next = detail.elt.id === "marking" ? detail.elt : detail.elt.querySelector?.("#marking");
    if (next && next !== section) begin(next);
  });
})();
