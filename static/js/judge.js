// Keys of the judging page: 0-4 grade, ? guideline, left arrow back.
const guideline = document.getElementById("guideline");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || guideline.open) return;
  if (event.target.matches("input, textarea, select")) return;
  const page = document.querySelector("[data-judge]");
  if (!page) return;
  if (/^[0-4]$/.test(event.key)) page.querySelector(`button[value="${event.key}"]:enabled`)?.click();
  else if (event.key === "?") guideline.showModal();
  else if (event.key === "ArrowLeft") page.querySelector("[data-back]")?.click();
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-guideline]")) {
    event.preventDefault();
    guideline.showModal();
  } else if (event.target === guideline) {
    guideline.close();
  }
});
