// Many clips on one page stand still; one moves while it is pointed at or has the focus, or all of them on demand.
(() => {
  const FIGURES = ".stills img, .stills video";
  let all = false;

  function still(image) {
    if (image.still || !image.naturalWidth) return;
    const canvas = document.createElement("canvas");
    canvas.className = "still";
    canvas.width = image.naturalWidth;
    canvas.height = image.naturalHeight;
    canvas.getContext("2d").drawImage(image, 0, 0); // the first frame, of an animated one
    canvas.setAttribute("aria-hidden", "true");
    image.still = canvas;
    image.after(canvas);
    move(image, all);
  }

  function move(picture, on) {
    if (picture.matches("video")) {
      if (on) picture.play().catch(() => {});
      else picture.pause();
    } else if (picture.still) {
      picture.hidden = !on;
      picture.still.hidden = on;
    }
  }

  function moveIn(item, on) {
    item.querySelectorAll("img, video").forEach((picture) => move(picture, on || all));
  }

  function prepare(root) {
    for (const picture of root.querySelectorAll(FIGURES)) {
      if (picture.matches("video")) continue;
      if (picture.complete) still(picture);
      else picture.addEventListener("load", () => still(picture), { once: true });
    }
    for (const button of root.querySelectorAll("[data-move-all]")) button.hidden = false;
  }

  for (const [name, on] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
    document.addEventListener(name, ({ target }) => {
      const item = target.closest?.(".stills > *");
      if (item) moveIn(item, on || item.matches(":focus-within"));
    });
  }
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-move-all]");
    if (!button) return;
    all = !all;
    button.setAttribute("aria-pressed", String(all));
    document.querySelectorAll(".stills > *").forEach((item) => moveIn(item, false));
  });
  document.addEventListener("DOMContentLoaded", () => prepare(document));
  document.addEventListener("pair", ({ detail }) => prepare(detail.section));
})();
