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
  const drop = (path) => write(read().filter((item) => item.path !== path));

  function keep({ path, formData }) {
    const values = Object.fromEntries([...formData].filter(([name]) => name !== "csrfmiddlewaretoken"));
    drop(path);
    write([...read(), { path, values, assignment: document.getElementById("pair").dataset.assignment }]);
  }

  function nameOf({ path, values }) {
    if (path.endsWith("/grade/")) return `Your ${values.grade}`;
    return path.endsWith("/flag/") ? "Your flag" : "Your change";
  }

  function failed(why) {
    const line = document.getElementById("connection");
    const names = waiting().map(nameOf).join(", ");
    line.querySelector("[data-says]").textContent = `${why} ${names} is kept and sent as soon as it works again.`;
    line.hidden = false;
    clearTimeout(timer);
    timer = setTimeout(send, 1000 * PAUSES_S[Math.min(tries, PAUSES_S.length - 1)]);
    tries += 1;
  }

  async function send() {
    clearTimeout(timer);
    const items = waiting();
    const [item] = items;
    if (!item || sending || !document.getElementById("pair")) return;
    sending = true;
    try {
      await htmx.ajax("POST", item.path, { target: "#pair", swap: "outerHTML", values: item.values });
    } catch {
      // the events below have told
    }
    sending = false;
    if (waiting().length < items.length) send(); // the next
  }

  function arrived({ path }) {
    const item = waiting().find((one) => one.path === path);
    drop(path);
    tries = 0;
    if (!item) return;
    clearTimeout(timer);
    document.getElementById("connection").hidden = true;
    document.getElementById("announce").textContent = `${nameOf(item)} is sent.`;
  }

  const answers = ({ detail }) => detail.requestConfig.verb === "post" && detail.requestConfig.path.startsWith("/pairs/");
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
    if (xhr.status < 500) return arrived(requestConfig);
    keep(requestConfig);
    failed("The server has trouble.");
  });
  window.addEventListener("online", send);
  document.addEventListener("click", ({ target }) => target.closest("[data-send-now]") && send());
  document.addEventListener("pair", ({ detail }) => {
    if (!detail.first) return;
    write(waiting()); // another batch's time is over
    send();
  });
})();
