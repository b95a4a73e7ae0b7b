// A session that ended while a page was open: go to the log-in instead of swapping its form into the page.
document.addEventListener("htmx:beforeSwap", (event) => {
  const landed = event.detail.xhr.responseURL;
  if (landed && new URL(landed).pathname.startsWith("/login/")) {
    event.detail.shouldSwap = false;
    window.location.assign("/login/?next=" + encodeURIComponent(window.location.pathname));
  }
});
// On window, so that who keeps what was not sent has said so before (outbox.js).
function offline(words) {
  const main = document.getElementById("main");
  if (main.querySelector(".offline")) return;
  const note = document.createElement("p");
  note.className = "notice error offline";
  note.setAttribute("role", "alert");
  note.textContent = words;
  main.prepend(note);
}
for (const name of ["htmx:sendError", "htmx:timeout"]) {
  window.addEventListener(name, (event) => {
    if (!event.defaultPrevented) offline("The server cannot be reached. Try it again in a moment.");
  });
}
// What the site lacks just now, in its own words: its database, room on its disks.
window.addEventListener("htmx:responseError", ({ detail }) => {
  if (![503, 507].includes(detail.xhr.status) || /^\/(pairs|known)\//.test(detail.requestConfig.path)) return;
  const message = new DOMParser().parseFromString(detail.xhr.responseText, "text/html").querySelector("h1 + p");
  offline(message ? message.textContent : "The server has trouble. Try it again in a moment.");
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) document.querySelector(".offline")?.remove();
});
// On a phone the row of pages is wider than the screen: it begins where one is.
for (const current of document.querySelectorAll("header nav [aria-current], nav.group [aria-current]")) {
  current.scrollIntoView({ block: "nearest", inline: "center" });
}
