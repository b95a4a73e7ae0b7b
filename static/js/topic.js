// Description and narrative of a query stay as they were left, open or closed, on every pair that follows.
(() => {
  const OPEN = "momentjudge-topic-open";
  document.addEventListener("pair", ({ detail }) => {
    const part = detail.section.querySelector("details.topic");
    if (!part) return;
    part.open = Boolean(localStorage.getItem(OPEN));
    part.addEventListener("toggle", () => {
      if (part.open) localStorage.setItem(OPEN, "yes");
      else localStorage.removeItem(OPEN);
    });
  });
})();
