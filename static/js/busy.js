// What is pressed answers at once: its button shows that it waits, and is not sent twice. Grades have their own way (pair.js).
const DOWNLOAD_MS = 3000; // nothing tells a page that a download has begun

function pressedIn(event, sender) {
  const button = event?.submitter ?? (sender.matches("button") ? sender : sender.querySelector("button:not([type=button])"));
  return button?.closest("#pair .grades") ? null : button;
}

// Of a button whose request a script sends.
function occupy(button) {
  button.setAttribute("aria-busy", "true");
  button.disabled = true;
}

function free(button) {
  button.removeAttribute("aria-busy");
  button.disabled = false;
}

document.addEventListener("submit", (event) => {
  const button = event.defaultPrevented ? null : pressedIn(event, event.target);
  if (!button) return;
  button.setAttribute("aria-busy", "true");
  setTimeout(() => { button.disabled = true; }); // not before the form is read: a disabled button sends no value
  if (event.target.hasAttribute("data-download")) setTimeout(free, DOWNLOAD_MS, button);
});

document.addEventListener("htmx:beforeSend", ({ detail }) => {
  const button = pressedIn(detail.requestConfig.triggeringEvent, detail.elt);
  if (detail.elt.matches("form, button")) button?.setAttribute("aria-busy", "true");
});

document.addEventListener("htmx:afterRequest", ({ detail }) => {
  for (const button of [detail.requestConfig.triggeringEvent?.submitter, detail.elt, ...detail.elt.querySelectorAll("button")]) {
    button?.removeAttribute("aria-busy");
  }
});

// The page that "back" shows again is the one that was left waiting.
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) document.querySelectorAll("button[aria-busy]").forEach(free);
});
