// Clips of a page stand still as posters; one moves while it is pointed at or has the focus, or all of them on demand.
(() => {
  const MOVING = "img[data-moving], .stills video";
  let all = false;

  function move(picture, on) {
    if (picture.matches("video")) {
      if (on) picture.play().catch(() => {});
      else picture.pause();
      return;
    }
    picture.dataset.poster ??= picture.getAttribute("src");
    const source = on ? picture.dataset.moving : picture.dataset.poster;
    if (picture.getAttribute("src") !== source) picture.src = source;
  }

  const moveIn = (item, on) => item.querySelectorAll(MOVING).forEach((picture) => move(picture, on || all));

  for (const [name, on] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
    document.addEventListener(name, ({ target, relatedTarget }) => {
      const item = target.closest?.(".stills > *, td, li, figure");
      if (!item || (name.startsWith("pointer") && item.contains(relatedTarget))) return;
      moveIn(item, on || item.matches(":focus-within"));
    });
  }
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-move-all]");
    if (!button) return;
    all = !all;
    button.setAttribute("aria-pressed", String(all));
    document.querySelectorAll(".stills > *").forEach((item) => moveIn(item, false));
  });
  const prepare = (root) => root.querySelectorAll("[data-move-all]").forEach((button) => (button.hidden = false));
  document.addEventListener("DOMContentLoaded", () => prepare(document));
  document.addEventListener("pair", ({ detail }) => prepare(detail.section));
})();
