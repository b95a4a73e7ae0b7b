// "/" goes to the field of the search, from anywhere but another field.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const field = document.querySelector("search input[type=search]");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});
