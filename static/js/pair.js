// A pair, or the last look, comes on the page: says so to the other scripts ("pair") and to those who cannot see it,
// puts the focus where judging goes on, and takes no answer at once, so that a key pressed twice does not hit the next.
const SETTLE_MS = 150;
const CLICK_SETTLE_MS = 350; // the second half of a double click
const pairShown = { at: -Infinity };

document.addEventListener("htmx:load", ({ detail }) => {
  const section = detail.elt.closest("#pair") || detail.elt.querySelector("#pair");
  if (!section) return;
  const first = detail.elt === document.body;
  pairShown.at = first ? -Infinity : performance.now();
  section.querySelector("[data-focus]")?.focus({ preventScroll: first });
  if (!first) {
    document.getElementById("announce").textContent = section.dataset.announce;
    document.title = `${section.dataset.announce} · MomentJudge`;
    window.scrollTo(0, 0);
  }
  document.dispatchEvent(new CustomEvent("pair", { detail: { section, first } }));
});

function settled(by = SETTLE_MS) {
  return performance.now() - pairShown.at >= by;
}

document.addEventListener(
  "click",
  (event) => {
    const pressed = event.target.closest("#pair form button, #pair [data-next], #pair [data-back]");
    if (!pressed || settled(event.pointerType ? CLICK_SETTLE_MS : SETTLE_MS)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  },
  true,
);

// What was pressed is seen at once, whatever the line is like.
document.addEventListener("htmx:beforeSend", ({ detail }) => {
  for (const pressed of document.querySelectorAll("#pair .pressed")) pressed.classList.remove("pressed");
  detail.requestConfig.triggeringEvent?.submitter?.classList.add("pressed");
});
