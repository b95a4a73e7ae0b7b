// Keys of the judging page. They can be switched off, for people whose software types for them.
(() => {
  const OFF = "momentjudge-keys-off";
  const find = (what) => document.querySelector(`#pair ${what}`);
  const press = (what) => find(what)?.click();

  const acts = {
    "?": () => openDialog("guideline"),
    k: () => openDialog("keys"),
    f: () => openPart("flag"),
    c: () => openPart("comment"),
    d: () => press("details.topic summary"),
    " ": () => player.replay(),
    p: () => player.toggle(),
    ",": () => player.step(-1),
    ".": () => player.step(1),
    ArrowLeft: () => press("[data-back]"),
    ArrowRight: () => press("[data-next]"),
    Enter: () => press("[data-next]"),
    Escape: () => closeParts(),
  };
  for (const grade of "0123456789") acts[grade] = () => give(grade);

  function give(grade) {
    const button = find(`button[name="grade"][value="${grade}"]`);
    const message = document.getElementById("no-grade");
    message.hidden = Boolean(button) || !find("[data-grades]");
    if (!message.hidden) {
      message.textContent = `Grades go from 0 to ${document.getElementById("pair").dataset.topGrade}.`;
      setTimeout(() => (message.hidden = true), 4000);
    } else if (button?.disabled === false) button.click();
  }

  function openPart(name) {
    const part = find(`details.${name}`);
    if (!part) return find(".flagged button")?.focus();
    part.open = true;
    part.querySelector("textarea").focus();
  }

  function closeParts() {
    const part = find("details:not(.topic)[open]:focus-within");
    if (part && !part.querySelector("textarea")?.value) part.open = false;
    find("[data-focus]")?.focus();
  }

  // What the focused element does with a key itself.
  function taken(element, key) {
    if (key === "Escape") return false;
    if (element.matches("textarea, select, input:not([type=range])")) return true;
    if (element.matches("input[type=range]")) return key.startsWith("Arrow");
    if (element.closest("details.flag[open] form")) return /^\d$/.test(key) || "Enter ".includes(key);
    if (element.matches("button, summary")) return key === "Enter" || key === " ";
    return element.matches("a") && key === "Enter";
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (!find("[data-grades]") && !find(".flagged")) return;
    if (document.querySelector("dialog[open]")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const act = acts[key];
    if (!act || taken(event.target, key) || (localStorage.getItem(OFF) && key !== "Escape")) return;
    event.preventDefault();
    if (!event.repeat || key === "," || key === ".") act();
  });

  document.addEventListener("change", ({ target }) => {
    if (target.id !== "keys-on") return;
    if (target.checked) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "yes");
  });
  document.addEventListener("pair", ({ detail }) => {
    document.getElementById("keys-on").checked = !localStorage.getItem(OFF);
    for (const opener of detail.section.querySelectorAll('[data-dialog="keys"]')) opener.hidden = false;
  });
})();
