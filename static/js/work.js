// Counts what was given since the page was loaded, and reminds of a break after enough time at work.
(() => {
  const TICK_MS = 5_000;
  const IDLE_MS = 60_000; // no longer at work
  const RESTED_MS = 5 * 60_000; // that was a break
  const NAME = "momentjudge-at-work-ms";
  const place = document.getElementById("judging");
  if (!place) return;
  const breakAfter = Number(place.dataset.break) * 60_000;
  const reminder = document.getElementById("break");
  let activeAt = Date.now();

  function countUp(what) {
    for (const number of document.querySelectorAll(`#work [data-count="${what}"]`)) {
      number.textContent = Number(number.textContent) + 1;
    }
  }

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.xhr.status !== 200 || detail.requestConfig.verb !== "post") return;
    const { path } = detail.requestConfig;
    if (path.endsWith("/grade/") && document.querySelector("#pair[data-new]")) countUp("grades");
    if (path.endsWith("/finish/") && document.querySelector("#pair[data-last-look]")) countUp("batches");
  });

  const atWork = () => Number(sessionStorage.getItem(NAME));
  const setAtWork = (ms) => sessionStorage.setItem(NAME, String(ms));

  function tick() {
    const idle = Date.now() - activeAt;
    if (idle >= RESTED_MS) setAtWork(0);
    else if (idle < IDLE_MS && !document.hidden) setAtWork(atWork() + TICK_MS);
    if (breakAfter && atWork() >= breakAfter) reminder.hidden = false;
  }

  for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "touchstart"]) {
    document.addEventListener(name, () => (activeAt = Date.now()), { passive: true });
  }
  setInterval(tick, TICK_MS);
  document.addEventListener("click", ({ target }) => {
    if (!target.closest("[data-break-over]")) return;
    setAtWork(0);
    reminder.hidden = true;
    document.querySelector("#pair [data-focus]")?.focus();
  });
})();
