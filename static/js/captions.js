// Keys of the page of captions in review: j, k move; a, e, r, u act on the caption in focus.
(() => {
  const all = () => [...document.querySelectorAll("[data-caption]")];
  const more = () => document.querySelector("[data-more] a");
  const current = () => document.activeElement.closest?.("[data-caption]") ?? null;

  function move(step) {
    const captions = all();
    if (!captions.length) return more()?.click();
    const at = captions.indexOf(current());
    const next = at < 0 ? captions[0] : captions[Math.min(captions.length - 1, Math.max(0, at + step))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  const press = (act) => (current() ?? all()[0])?.querySelector(`button[value="${act}"]`)?.click();
  const acts = {
    j: () => move(1),
    k: () => move(-1),
    a: () => press("accept"),
    r: () => press("redo"),
    e: () => {
      const box = (current() ?? all()[0])?.querySelector("textarea");
      box?.focus();
      box?.setSelectionRange(box.value.length, box.value.length);
    },
    u: () => document.querySelector("form[data-undo]")?.requestSubmit(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.target.matches("textarea")) {
      if (event.key === "Escape") event.target.closest("[data-caption]").focus();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        press("edit");
      }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input") || event.repeat) return;
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });

  // The decided caption made room: the next one takes the focus, a redone one keeps it.
  document.addEventListener("htmx:afterSwap", (event) => {
    const swapped = document.getElementById(event.detail.elt?.id) ?? event.detail.elt;
    if (!swapped?.matches?.("article.caption")) return;
    let next = swapped;
    while (next && !next.matches("[data-caption]")) next = next.nextElementSibling;
    next ??= all()[0];
    const left = document.querySelector("[data-more]");
    if (left) left.hidden = Boolean(next); // the pages have moved up: those that follow are on this one now
    (next ?? more())?.focus();
  });
})();
