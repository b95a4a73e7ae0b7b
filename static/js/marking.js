// The marking page: player, timeline, keys, live checks, drafts, and a query that waits for the connection.
(() => {
  const WAITING = "momentjudge-query";
  const DRAFT = "momentjudge-clip-draft:";
  const PAUSES_S = [2, 4, 8, 15, 30];
  const DRAFT_MS = 700;
  const BEAT_MS = 60_000;
  const ACTIVE_MS = 5 * 60_000;
  let page = null; // the clip on the page

  htmx.config.timeout = 10_000; // a line that hangs is a line that is down

  function begin(section) {
    page?.player.close();
    const find = (what) => section.querySelector(what);
    const data = JSON.parse(document.getElementById("clip-data").textContent);
    const form = find("#mark-form");
    page = {
      section, find, data, form, fields: form.elements, activeAt: Date.now(),
      uuid: section.dataset.assignment, version: Number(section.dataset.version), timer: 0, saving: false, changed: false,
    };
    bringBack();
    page.player = new SpanPlayer(section, data, changed);
    check();
    sendWaiting();
  }

  const entry = () => {
    const { start, end } = page.player.spanOf();
    return { start, end, text: page.fields.text.value, type: page.fields.type.value };
  };

  // Enter goes on to the next field; from the last one it submits.
  function nextField(field) {
    const order = [page.fields.start_s, page.fields.end_s, page.fields.text, page.find('[name="type"]:checked') ?? page.find('[name="type"]')];
    const index = field.type === "radio" ? order.length - 1 : order.indexOf(field);
    if (index === order.length - 1) page.form.requestSubmit();
    else order[index + 1].focus();
  }

  document.addEventListener("keydown", (event) => {
    if (!page?.section.isConnected) return;
    const { target } = event;
    if (target.matches("#mark-form input, #mark-form textarea")) {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      return nextField(target);
    }
    if (!SpanPlayer.isKey(event)) return;
    const act = event.key === "Enter" ? () => page.fields.start_s.focus() : page.player.keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  }, true); // before the player's own keys

  document.addEventListener("click", ({ target }) => target.closest("[data-send-now]") && sendWaiting());

  // Live checks
  function check() {
    const problems = markingChecks.problems(entry(), page.data);
    const warnings = markingChecks.warnings(page.fields.text.value, page.data);
    const item = (kind) => (problem) => {
      const element = document.createElement("li");
      element.className = kind;
      element.textContent = markingChecks.message(problem, page.data);
      return element;
    };
    const items = [...problems.map(item("problem")), ...warnings.map(item("warning"))];
    if (!items.length) {
      const ready = document.createElement("li");
      ready.className = "ready";
      ready.textContent = "Ready to submit.";
      items.push(ready);
    }
    page.find("#checks").replaceChildren(...items);
  }

  // Drafts: at once in the browser, soon at the server
  function changed() {
    page.changed = true;
    localStorage.setItem(DRAFT + page.uuid, JSON.stringify({ ...entry(), version: page.version }));
    check();
    clearTimeout(page.timer);
    page.timer = setTimeout(saveDraft, DRAFT_MS, page);
  }

  // What the server has not got, as the line was down; not where another tab has saved a later one.
  function bringBack() {
    const draft = JSON.parse(localStorage.getItem(DRAFT + page.uuid) ?? "null");
    if (!draft || draft.version < page.version) return;
    for (const name of ["start", "end"]) page.fields[`${name}_s`].value = draft[name] ?? "";
    page.fields.text.value = draft.text;
    const type = page.find(`[name="type"][value="${CSS.escape(draft.type)}"]`);
    if (type) type.checked = true;
    say("saved", "Your draft is here again.");
  }

  async function saveDraft(here) {
    if (here !== page || here.saving || !here.section.isConnected) return;
    here.saving = true;
    here.changed = false;
    const body = new FormData(here.form);
    body.set("version", String(here.version));
    try {
      const answer = await fetch(here.section.dataset.draft, { method: "POST", body, headers: { "X-CSRFToken": here.section.dataset.token } });
      if (answer.redirected) return window.location.assign(`/login/?next=${encodeURIComponent(window.location.pathname)}`);
      const said = await answer.json();
      if (here !== page) return;
      if (answer.ok) {
        here.version = said.version;
        if (!here.changed) localStorage.removeItem(DRAFT + here.uuid);
        say("saved", "Draft kept.");
      } else say("saved", said.message ?? "The draft is kept in this browser.");
    } catch {
      say("saved", "No connection. The draft is kept in this browser.");
    } finally {
      here.saving = false;
    }
    if (here.changed) here.timer = setTimeout(saveDraft, DRAFT_MS, here);
  }

  function say(id, words) {
    const place = page.find(`#${id}`);
    if (place && place.textContent !== words) place.textContent = words;
  }

  document.addEventListener("input", ({ target }) => page?.form.contains(target) && changed());

  // A query that did not arrive: kept, and sent again until the server has said something to it
  let tries = 0;
  let again = 0;
  const isOurs = (detail) => detail.requestConfig.verb === "post" && /^\/writing\/clips\/.*\/submit\/$/.test(detail.requestConfig.path);
  const waiting = () => JSON.parse(localStorage.getItem(WAITING) ?? "null");

  function keep({ path, formData }, why) {
    const values = Object.fromEntries([...formData].filter(([name]) => name !== "csrfmiddlewaretoken"));
    localStorage.setItem(WAITING, JSON.stringify({ path, values }));
    const line = page.find("#connection");
    line.querySelector("span").textContent = `${why} Your query is kept and sent as soon as it works again.`;
    line.hidden = false;
    clearTimeout(again);
    again = setTimeout(sendWaiting, 1000 * PAUSES_S[Math.min(tries, PAUSES_S.length - 1)]);
    tries += 1;
  }

  function sendWaiting() {
    clearTimeout(again);
    const item = waiting();
    if (!item || !page) return;
    if (!item.path.includes(page.uuid)) return sendUnseen(item);
    htmx.ajax("POST", item.path, { target: "#marking", swap: "outerHTML", values: item.values }).catch(() => {});
  }

  // Of a clip that is not on the page any more: the page stays.
  async function sendUnseen({ path, values }) {
    const body = new FormData();
    for (const [name, value] of Object.entries(values)) body.append(name, value);
    const answer = await fetch(path, { method: "POST", body, redirect: "manual", headers: { "X-CSRFToken": page.section.dataset.token } }).catch(() => null);
    if (answer && answer.status < 500) localStorage.removeItem(WAITING);
  }

  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      if (!isOurs(event.detail)) return;
      event.preventDefault();
      keep(event.detail.requestConfig, "No connection.");
    });
  }
  document.addEventListener("htmx:beforeOnLoad", ({ detail }) => {
    if (!isOurs(detail)) return;
    const { xhr, requestConfig } = detail;
    if (xhr.status >= 500) return keep(requestConfig, "The server has trouble.");
    if (new URL(xhr.responseURL).pathname.startsWith("/login/")) return keep(requestConfig, "You were logged out.");
    tries = 0;
    localStorage.removeItem(WAITING);
    page.find("#connection").hidden = true;
    if (xhr.status === 200) {
      clearTimeout(page.timer);
      localStorage.removeItem(DRAFT + page.uuid);
    }
  });
  window.addEventListener("online", () => {
    sendWaiting();
    if (page?.changed || localStorage.getItem(DRAFT + page?.uuid)) saveDraft(page);
  });

  // Whoever looks at the clip without entering anything keeps it, too.
  for (const name of ["keydown", "pointerdown", "pointermove", "touchstart"]) {
    document.addEventListener(name, () => page && (page.activeAt = Date.now()), { passive: true });
  }
  setInterval(() => page && !document.hidden && Date.now() - page.activeAt < ACTIVE_MS && saveDraft(page), BEAT_MS);

  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target?.id === "problems" || detail.elt?.id === "problems") document.getElementById("problems").focus();
  });
  document.addEventListener("htmx:load", ({ detail }) => {
    const section = detail.elt.id === "marking" ? detail.elt : detail.elt.querySelector?.("#marking");
    if (section && section !== page?.section) begin(section);
  });
})();
