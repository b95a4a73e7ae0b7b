// Measures how long each pair was before the annotator and sends it with the grade. A hidden tab does not count.
(() => {
  const spent = new Map(); // by the key of the form: a pair that was left without a grade goes on where it stopped
  let shown = null; // the key of the form on the screen
  let since = null; // null while nobody can see it

  function stop() {
    if (shown !== null && since !== null) spent.set(shown, (spent.get(shown) || 0) + performance.now() - since);
    since = null;
  }

  function start() {
    since = document.hidden ? null : performance.now();
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
  document.addEventListener("pair", ({ detail }) => {
    stop();
    shown = detail.section.querySelector("#grade-form [name=key]")?.value ?? null;
    start();
  });
  // What the outbox sends again says already what was measured when it was pressed.
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    if (detail.verb !== "post" || !detail.path.endsWith("/grade/") || detail.formData.has("active_ms")) return;
    stop();
    start();
    detail.formData.set("active_ms", String(Math.round(spent.get(shown) || 0)));
  });
})();
