// An answer that did not arrive is kept, also over a reload, and sent again until the server has said something to it.
// The form's key makes it one judgment however often it arrives.
(() => {
  const NAME = "momentjudge-kept";
  const PAUSES_S = [2, 4, 8, 15, 30];
  let tries = 0;
  let timer = 0;
  let sending = false;

  htmx.config.timeout = 10_000; // a line that hangs is a line that is down

  const read = () => JSON.parse(sessionStorage.getItem(NAME)) || [];
  const write = (items) => sessionStorage.setItem(NAME, JSON.stringify(items));
  const mine = (item) => item.assignment === document.getElementById("pair")?.dataset.assignment;
  const waiting = () => read().filter(mine);
  const pairOf = (path) => path.split("/")[2];
  const drop = (path) => write(read().filter((item) => pairOf(item.path) !== pairOf(path))); // one answer per pair

  function keep({ path, formData }) {
    const values = Object.fromEntries([...formData].filter(([name]) => name !== "csrfmiddlewaretoken"));
    drop(path);
    write([...read(), { path, values, assignment: document.getElementById("pair").dataset.assignment }]);
  }

  function nameOf({ path, values }) {
    if (path.endsWith("/grade/")) return `Your ${values.grade}`;
    return path.endsWith("/flag/") ? "Your flag" : "Your change";
  }

  function say(words, { again }) {
    const line = document.getElementById("connection");
    if (!line) return; // a page that says what is wrong has taken its place
    line.querySelector("[data-says]").textContent = words;
    line.querySelector("[data-send-now]").hidden = !again;
    line.hidden = false;
  }

  function failed(why) {
    const names = read().map(nameOf).join(", ");
    say(`${why} ${names} is kept and sent as soon as it works again.`, { again: true });
    clearTimeout(timer);
    timer = setTimeout(send, 1000 * PAUSES_S[Math.min(tries, PAUSES_S.length - 1)]);
    tries += 1;
  }

  async function send() {
    clearTimeout(timer);
    const items = read();
    const [item] = items;
    if (!item || sending || !document.getElementById("pair")) return;
    sending = true;
    try {
      if (shown(item)) await htmx.ajax("POST", item.path, { target: "#pair", swap: "outerHTML", values: item.values });
      else await sendUnseen(item);
    } catch {
      // the events below have told
    }
    sending = false;
    if (read().length < items.length) send(); // the next
  }

  // An answer for a pair that is not on the screen: the screen stays.
  async function sendUnseen(item) {
    const body = new FormData();
    for (const [name, value] of Object.entries(item.values)) body.append(name, value);
    const token = document.getElementById("judging").dataset.token;
    let status = 0;
    try {
      const options = { method: "POST", body, redirect: "manual", headers: { "HX-Request": "true", "X-CSRFToken": token } };
      ({ status } = await fetch(item.path, options));
    } catch {
      return failed("No connection.");
    }
    if (status === 200 || refused(status)) arrived({ path: item.path }, status);
    else failed("The server has trouble.");
  }

  const shown = (item) => document.getElementById("grade-form")?.getAttribute("action").includes(pairOf(item.path));
  const refused = (status) => [404, 409, 422].includes(status); // the site's own word on what was sent

  function arrived({ path }, status) {
    const item = read().find((one) => one.path === path);
    drop(path);
    tries = 0;
    const line = document.getElementById("connection");
    if (line) line.hidden = true;
    if (!item) return;
    clearTimeout(timer);
    const announced = document.getElementById("announce");
    if (status === 200 && announced) announced.textContent = `${nameOf(item)} is sent.`;
    else if (!shown(item)) say(`${nameOf(item)} was not taken: the time on its batch ran out, or it said otherwise.`, { again: false });
  }

  const answers = ({ detail }) => detail.requestConfig.verb === "post" && /^\/(pairs|known)\//.test(detail.requestConfig.path);
  const atLogIn = (xhr) => xhr.responseURL && new URL(xhr.responseURL).pathname.startsWith("/login/");

  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      if (!answers(event)) return;
      event.preventDefault();
      keep(event.detail.requestConfig);
      failed("No connection.");
    });
  }
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (!answers(event)) return;
    const { xhr, requestConfig } = event.detail;
    if (atLogIn(xhr)) return keep(requestConfig); // sent after logging in again
    if (xhr.status < 400 || refused(xhr.status)) return arrived(requestConfig, xhr.status);
    if (!waiting().some(({ path }) => path === requestConfig.path)) keep(requestConfig);
    failed("The server has trouble.");
  });
  window.addEventListener("online", send);
  document.addEventListener("click", ({ target }) => target.closest("[data-send-now]") && send());
  document.addEventListener("pair", ({ detail }) => {
    if (!detail.first) return;
    send(); // what is of another batch, too: it may still be open
  });
  // What ends the batch waits for what is kept: it would go by without it.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-ends]") || !waiting().length) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    failed("Not yet:");
    send();
  }, true);
})();
