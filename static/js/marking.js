// The marking page: player, timeline, keys, live checks, drafts, and a query that waits for the connection.
(() => {
  const KEYS_OFF = "momentjudge-keys-off";
  const WAITING = "momentjudge-query";
  const DRAFT = "momentjudge-clip-draft:";
  const PAUSES_S = [2, 4, 8, 15, 30];
  const DRAFT_MS = 700;
  const BEAT_MS = 60_000;
  const ACTIVE_MS = 5 * 60_000;
  let page = null; // the clip on the page

  htmx.config.timeout = 10_000; // a line that hangs is a line that is down

  function begin(section) {
    page?.timeline.close();
    const find = (what) => section.querySelector(what);
    const data = JSON.parse(document.getElementById("clip-data").textContent);
    const form = find("#mark-form");
    page = {
      section, find, data, form, video: find("#clip"), fields: form.elements, undo: [], looping: false, activeAt: Date.now(),
      uuid: section.dataset.assignment, version: Number(section.dataset.version), timer: 0, saving: false, changed: false,
    };
    page.timeline = new MarkingTimeline(find("#timeline"), page.video, data, { onSpan: setSpan, onSeek: seek });
    for (const element of section.querySelectorAll("[data-scripted]")) element.hidden = false;
    bringBack();
    page.span = spanOf();
    page.timeline.set(page.span);
    followVideo(page.video);
    check();
    document.getElementById("keys-on").checked = !localStorage.getItem(KEYS_OFF);
    sendWaiting();
  }

  const number = (field) => (field.value.trim() === "" || Number.isNaN(field.valueAsNumber) ? null : field.valueAsNumber);
  const spanOf = () => ({ start: number(page.fields.start_s), end: number(page.fields.end_s) });
  const entry = () => ({ ...spanOf(), text: page.fields.text.value, type: page.fields.type.value });
  const round = (seconds) => Math.round(seconds * 1000) / 1000;

  // The span: kept in the fields; the timeline follows.
  function setSpan(changes, { done = true, show = false } = {}) {
    const { duration } = page.data;
    page.before ??= spanOf();
    for (const [name, value] of Object.entries(changes)) {
      page.fields[`${name}_s`].value = round(Math.min(Math.max(value, 0), duration));
      if (show) seek(value);
    }
    page.span = spanOf();
    page.timeline.set(page.span);
    if (done) settle();
  }

  function settle() {
    const now = spanOf();
    if (page.before && (page.before.start !== now.start || page.before.end !== now.end)) {
      page.undo.push(page.before);
      changed();
    }
    page.before = null;
    page.find('[data-act="undo"]').disabled = !page.undo.length;
  }

  function undo() {
    const before = page.undo.pop();
    if (!before) return;
    for (const name of ["start", "end"]) page.fields[`${name}_s`].value = before[name] ?? "";
    page.span = before;
    page.timeline.set(before);
    page.find('[data-act="undo"]').disabled = !page.undo.length;
    changed();
  }

  // The player
  function seek(seconds) {
    page.video.pause();
    page.video.currentTime = Math.min(Math.max(seconds, 0), page.data.duration);
    showTime();
  }

  function showTime() {
    const at = page.video.currentTime;
    page.timeline.set({ at });
    const line = page.data.lines[page.timeline.lineAt(at)];
    say("time", `${at.toFixed(2)} s`);
    say("subtitle", line ? line[2] : "\u00a0");
  }

  function followVideo(video) {
    const here = page;
    const tick = () => {
      if (page !== here || video.paused) return;
      const { start, end } = here.span;
      if (here.looping && end !== null && video.currentTime >= end) video.currentTime = start ?? 0;
      showTime();
      requestAnimationFrame(tick);
    };
    video.addEventListener("play", tick);
    video.addEventListener("seeked", () => page === here && showTime());
    video.addEventListener("error", () => (here.find("#broken").hidden = false));
    video.addEventListener("loadeddata", async () => {
      here.section.dataset.frame = String(Math.round(performance.now()));
      await here.timeline.drawFrames();
      await here.timeline.drawLevel();
    }, { once: true });
    video.addEventListener("loadedmetadata", () => page === here && showTime(), { once: true });
    if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) video.dispatchEvent(new Event("loadeddata"));
  }

  function play(rate = 1) {
    page.video.playbackRate = rate;
    page.video.play().catch(() => {});
  }

  function loop() {
    const { start, end } = spanOf();
    page.looping = !page.looping && start !== null && end !== null && start < end;
    page.find('[data-act="loop"]').setAttribute("aria-pressed", String(page.looping));
    if (!page.looping) return page.video.pause();
    page.video.currentTime = start;
    play();
  }

  function stopLoop() {
    page.looping = false;
    page.find('[data-act="loop"]').setAttribute("aria-pressed", "false");
  }

  const at = () => page.video.currentTime;
  const bounds = () => [0, ...page.data.cuts, page.data.duration];
  const acts = {
    " ": () => (page.video.paused ? play() : page.video.pause()),
    ArrowLeft: ({ shiftKey }) => seek(at() - (shiftKey ? 1 : 1 / page.data.fps)),
    ArrowRight: ({ shiftKey }) => seek(at() + (shiftKey ? 1 : 1 / page.data.fps)),
    j: () => seek(at() - 2),
    k: () => page.video.pause(),
    l: () => play(page.video.paused ? 1 : Math.min(page.video.playbackRate + 0.5, 3)),
    i: () => setSpan({ start: at() }),
    o: () => setSpan({ end: at() }),
    p: loop,
    "[": () => setSpan({ start: bounds().findLast((cut) => cut <= at() + 1e-3) }),
    "]": () => setSpan({ end: bounds().find((cut) => cut > at() + 1e-3) ?? page.data.duration }),
    u: undo,
    Enter: () => page.fields.start_s.focus(),
  };
  const buttons = { start: acts.i, end: acts.o, loop, undo };

  // Enter goes on to the next field; from the last one it submits.
  function nextField(field) {
    const order = [page.fields.start_s, page.fields.end_s, page.fields.text, page.find('[name="type"]:checked') ?? page.find('[name="type"]')];
    const index = field.type === "radio" ? order.length - 1 : order.indexOf(field);
    if (index === order.length - 1) page.form.requestSubmit();
    else order[index + 1].focus();
  }

  document.addEventListener("keydown", (event) => {
    if (!page?.section.isConnected || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    const { target } = event;
    if (target.matches("#mark-form input, #mark-form textarea")) {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      return nextField(target);
    }
    if (localStorage.getItem(KEYS_OFF)) return;
    if (target.matches('[role="slider"]') && /^(Arrow|Home|End)/.test(event.key)) return; // it moves the handle
    if (target.matches("button, summary, a, select") && (event.key === " " || event.key === "Enter")) return;
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  }, true); // before the player's own keys

  document.addEventListener("click", ({ target }) => {
    const act = target.closest("[data-act]")?.dataset.act;
    if (act) buttons[act]();
    if (target.closest("[data-send-now]")) sendWaiting();
  });

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

  document.addEventListener("input", ({ target }) => {
    if (!page?.form.contains(target)) return;
    if (target.name === "start_s" || target.name === "end_s") {
      page.span = spanOf();
      page.timeline.set(page.span);
    }
    changed();
  });
  document.addEventListener("focusin", ({ target }) => {
    if (page && (target === page.fields.start_s || target === page.fields.end_s)) page.before = spanOf();
  });
  document.addEventListener("change", ({ target }) => {
    if (target.id === "keys-on") {
      if (target.checked) localStorage.removeItem(KEYS_OFF);
      else localStorage.setItem(KEYS_OFF, "yes");
    } else if (page && (target === page.fields.start_s || target === page.fields.end_s)) settle();
  });

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
