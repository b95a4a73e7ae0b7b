// The page of a checker: the moment plays in a loop; keys decide; which button serves follows from the bounds.
document.addEventListener("DOMContentLoaded", () => {
  const section = document.getElementById("marking");
  const data = JSON.parse(document.getElementById("clip-data").textContent);
  const form = section.querySelector("form.entry");
  const button = (decision) => form.querySelector(`button[value="${decision}"]`);
  const isMoved = () => {
    const { start, end } = player.spanOf();
    return start !== data.start || end !== data.end;
  };
  const showButtons = () => {
    button("accept").hidden = isMoved();
    button("correct").hidden = !isMoved();
  };
  const player = new SpanPlayer(section, data, showButtons);
  const reasons = [...form.elements.reason];
  const keys = {
    ...player.keys,
    a: () => form.requestSubmit(button(isMoved() ? "correct" : "accept")),
    r: () => (reasons.some((reason) => reason.checked) ? form.requestSubmit(button("reject")) : reasons[0].focus()),
    ...Object.fromEntries(reasons.map((reason, index) => [String(index + 1), () => (reason.checked = true)])),
  };

  form.addEventListener("input", showButtons);
  section.addEventListener("click", ({ target }) => {
    const seconds = target.closest("[data-seek]")?.dataset.seek;
    if (seconds) player.seek(Number(seconds));
  });
  document.addEventListener("keydown", (event) => {
    if (!SpanPlayer.isKey(event)) return;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  }, true); // before the player's own keys
  showButtons();
  player.video.addEventListener("loadedmetadata", () => player.seek(data.start), { once: true });
  if (player.video.readyState >= HTMLMediaElement.HAVE_METADATA) player.seek(data.start);
});
