// A session that ended while a page was open: go to the log-in instead of swapping its form into the page.
document.addEventListener("htmx:beforeSwap", (event) => {
  const landed = event.detail.xhr.responseURL;
  if (landed && new URL(landed).pathname.startsWith("/login/")) {
    event.detail.shouldSwap = false;
    window.location.assign("/login/?next=" + encodeURIComponent(window.location.pathname));
  }
});
// On window, so that who keeps what was not sent has said so before (outbox.js).
for (const name of ["htmx:sendError", "htmx:timeout"]) {
  window.addEventListener(name, (event) => {
    const main = document.getElementById("main");
    if (event.defaultPrevented || main.querySelector(".offline")) return;
    const note = document.createElement("p");
    note.className = "notice error offline";
    note.setAttribute("role", "alert");
    note.textContent = "The server cannot be reached. Try it again in a moment.";
    main.prepend(note);
  });
}
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) document.querySelector(".offline")?.remove();
});
