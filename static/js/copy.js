// "Copy" beside a link that is shown once; where the browser does not let us, selecting it by hand is left.
for (const button of document.querySelectorAll("[data-copy]")) {
  const field = button.parentElement.querySelector("[data-copy-from]");
  field.addEventListener("focus", () => field.select());
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  });
}
