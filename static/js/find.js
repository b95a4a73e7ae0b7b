// "/" opens the site's search from anywhere but a field; arrows walk through what was found.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.getElementById("find-words");
  if (event.key === "/" && !event.target.closest("input, textarea, select, [contenteditable]") && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    openDialog("find");
    field.focus();
    field.select();
  }
  const links = [...document.querySelectorAll("ul.found a")];
  const at = links.indexOf(event.target);
  if (!["ArrowDown", "ArrowUp"].includes(event.key) || !links.length || (at < 0 && event.target !== field)) return;
  event.preventDefault();
  const next = at + (event.key === "ArrowDown" ? 1 : -1);
  (links[Math.min(next, links.length - 1)] || field).focus();
});
