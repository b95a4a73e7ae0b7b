// The review queue by keyboard. What is decided makes room at once; the answer of the server follows.
(() => {
  const OFF = "momentjudge-keys-off";
  const ITEMS = "[data-case], [data-decided]";
  const undoWhenThere = new Set(); // cases whose decision is on its way and already unwanted
  const decided = new Set(); // ids in the order of the decisions, which may not be that of the answers

  const all = (what) => [...document.querySelectorAll(what)];
  const current = () => document.activeElement?.closest?.(ITEMS) ?? null;
  const here = () => current() ?? all("[data-case]:not(.leaving)")[0] ?? null;

  function go(item) {
    if (!item) return;
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "start" });
  }

  function move(step) {
    const items = all(`${ITEMS}`).filter((item) => !item.matches(".leaving"));
    const at = items.indexOf(current());
    go(at < 0 ? here() : items[Math.min(items.length - 1, Math.max(0, at + step))]);
  }

  function nextOf(item) {
    const cases = all("[data-case]").filter((other) => other === item || !other.matches(".leaving"));
    const at = cases.indexOf(item);
    return cases[at + 1] ?? cases[at - 1] ?? null;
  }

  function decide(word) {
    const item = here();
    const button = item?.querySelector(`button[value="${word}"]:enabled`);
    if (!button || item.matches(".leaving")) return;
    const next = nextOf(item);
    item.classList.add("leaving");
    decided.add(item.id);
    button.click();
    go(next);
  }

  function undo() {
    const chosen = current()?.matches("[data-decided]") ? current() : document.getElementById([...decided].at(-1));
    if (!chosen) return;
    decided.delete(chosen.id);
    if (chosen.matches(".leaving")) undoWhenThere.add(chosen.id);
    else chosen.querySelector("form[data-undo]")?.requestSubmit();
  }

  // One candidate of a case: its bar is marked, its clip and grades are shown beside the chart.
  function look(item, index) {
    const rows = item.querySelectorAll("[data-row]");
    if (!rows.length) return;
    const at = Math.min(rows.length - 1, Math.max(0, index));
    if (item.dataset.at === String(at)) return;
    item.dataset.at = at;
    item.querySelectorAll("[data-candidate]").forEach((bar, place) => bar.classList.toggle("at", place === at));
    item.querySelector("[data-look]").replaceChildren(...shown(rows[at]));
    const chart = item.querySelector("[data-chart]");
    chart.setAttribute("aria-valuenow", cell(rows[at], "rank").textContent);
    chart.setAttribute("aria-valuetext", inWords(rows[at]));
  }

  const cell = (row, name) => row.querySelector(`[data-${name}]`);

  function inWords(row) {
    const grades = [...cell(row, "grades").querySelectorAll(".grade")].map((grade) => grade.textContent);
    const became = cell(row, "became").textContent.trim();
    const relevance = /^\d$/.test(became) ? `relevance ${became}` : became;
    return `Rank ${cell(row, "rank").textContent}: ${relevance}, similarity ${cell(row, "similarity").textContent}`
      + (grades.length ? `, grades ${grades.join(", ")}` : "");
  }

  function shown(row, picture = row.dataset.gif) {
    const clip = document.createElement(picture ? "img" : "span");
    clip.className = "clip";
    if (picture) Object.assign(clip, { src: picture, alt: "The moment", width: 320, height: 180 });
    else clip.textContent = "no clip";
    const place = document.createElement("p");
    const became = cell(row, "became").cloneNode(true);
    place.append(`Rank ${cell(row, "rank").textContent} · `, .../^\d$/.test(became.textContent.trim()) ? ["relevance "] : [],
      ...became.childNodes, ` · similarity ${cell(row, "similarity").textContent}`);
    const grades = document.createElement("p");
    grades.append(...cell(row, "grades").cloneNode(true).childNodes);
    return [clip, place, grades];
  }

  function step(by) {
    const item = here();
    if (!item?.matches("[data-case]")) return;
    const count = item.querySelectorAll("[data-row]").length;
    const from = item.dataset.at === undefined ? (by > 0 ? -1 : count) : Number(item.dataset.at);
    item.querySelector("[data-chart]").focus({ preventScroll: true });
    look(item, from + by);
  }

  function prepare(root) {
    for (const chart of root.querySelectorAll("[data-case] [data-chart]")) {
      const rows = chart.closest("[data-case]").querySelectorAll("[data-row]");
      if (!rows.length || chart.getAttribute("role") === "slider") continue;
      const ranks = [rows[0], rows[rows.length - 1]].map((row) => cell(row, "rank").textContent);
      const values = { role: "slider", tabindex: "0", "aria-valuemin": ranks[0], "aria-valuemax": ranks[1],
        "aria-valuenow": ranks[0], "aria-valuetext": inWords(rows[0]) };
      for (const [name, value] of Object.entries(values)) chart.setAttribute(name, value);
      const place = chart.closest("[data-case]").querySelector("[data-look]");
      place.replaceChildren(...shown(rows[0], rows[0].dataset.poster), place.querySelector(".hint")); // still, until pointed at
    }
  }

  const acts = {
    e: () => decide("extend"),
    c: () => decide("close"),
    u: undo,
    j: () => move(1),
    k: () => move(-1),
    r: () => here()?.querySelector("[name=reason]")?.focus(),
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1),
    Home: () => here() && step(-1000),
    End: () => here() && step(1000),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.matches("input:not([type=checkbox]), textarea, select")) {
      if (event.key !== "Escape" && event.key !== "Enter") return;
      event.preventDefault();
      return event.target.closest(ITEMS)?.focus();
    }
    const act = acts[event.key];
    if (!act || localStorage.getItem(OFF) || (event.repeat && !event.key.startsWith("Arrow"))) return;
    const scrolls = event.target.closest(".scroll") && event.key.startsWith("Arrow");
    if (scrolls || (event.key in { Home: 1, End: 1 } && !event.target.matches("[data-chart]"))) return;
    event.preventDefault();
    act();
  });

  for (const name of ["pointerover", "click"]) {
    document.addEventListener(name, ({ target }) => {
      const bar = target.closest?.("[data-candidate]");
      const item = bar?.closest("[data-case]");
      if (item) look(item, [...item.querySelectorAll("[data-candidate]")].indexOf(bar));
    });
  }

  // A line that says what was decided has come in place of a case, or a case in place of such a line.
  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    const item = document.getElementById(detail.elt?.id);
    if (!item?.matches(ITEMS)) return;
    const undoable = item.querySelector("form[data-undo]");
    if (!undoable) decided.delete(item.id);
    if (undoable && undoWhenThere.delete(item.id)) undoable.requestSubmit();
    else if (undoable) decided.add(item.id);
    else if (item.matches("[data-case]")) go(item);
    const lost = document.activeElement === document.body || (item.matches("[data-decided]") && current() === item);
    if (lost) go(nextOf(item));
    else if (current()) current().scrollIntoView({ block: "nearest" });
  });
  for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
    document.addEventListener(name, ({ detail }) => {
      const item = detail.elt?.closest?.(ITEMS);
      item?.classList.remove("leaving");
      undoWhenThere.delete(item?.id);
      decided.delete(item?.id);
      go(item);
    });
  }
  document.addEventListener("htmx:load", ({ detail }) => prepare(detail.elt.parentElement ?? detail.elt));
  document.addEventListener("change", ({ target }) => {
    if (target.id !== "keys-on") return;
    if (target.checked) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "yes");
  });
  document.addEventListener("DOMContentLoaded", () => {
    const keys = document.getElementById("keys-on");
    if (keys) keys.checked = !localStorage.getItem(OFF);
    for (const item of all("[data-decided]")) decided.add(item.id);
    prepare(document);
    all("[data-case]")[0]?.focus({ preventScroll: true });
  });
})();
