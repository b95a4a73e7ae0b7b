// Parts that ask again by themselves rest while nobody can see them, and ask at once when somebody can again.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.detail.elt.matches("[data-live]")) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  for (const part of document.querySelectorAll("[data-live]")) htmx.trigger(part, "seen");
});
// What was unfolded stays so.
let unfolded = [];
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  unfolded = [...detail.target.querySelectorAll("details[open][id]")].map((part) => part.id);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const name of unfolded) document.getElementById(name)?.setAttribute("open", "");
});
