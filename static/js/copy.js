// "Copy" beside what is shown once, a link or a list; where the browser does not let us, selecting it by hand is left.
for (const button of document.querySelectorAll("[data-copy]")) {
  const field = button.parentElement.querySelector("[data-copy-from]");
  if (field.select) field.addEventListener("focus", () => field.select());
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(field.value ?? field.innerText);
    button.textContent = "Copied";
  });
}
