// Dialogs that links and buttons open; without this script the links lead to pages that say the same.
function openDialog(name) {
  document.getElementById(name)?.showModal();
}

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-dialog]");
  if (opener && document.getElementById(opener.dataset.dialog)) {
    event.preventDefault();
    openDialog(opener.dataset.dialog);
  } else if (event.target.matches("dialog") || event.target.closest("[data-close]")) {
    event.target.closest("dialog").close();
  }
});
