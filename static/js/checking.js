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
    for (const decision of ["accept", "correct"]) {
      const isChosen = (decision === "correct") === isMoved();
      button(decision).hidden = button(decision).disabled = !isChosen;
    }
  };
  const accept = () => form.requestSubmit(button(isMoved() ? "correct" : "accept"));
  const player = new SpanPlayer(section, data, showButtons);
  const reasons = [...form.elements.reason];
  const keys = {
    ...player.keys,
    a: accept,
    r: () => (reasons.some((reason) => reason.checked) ? form.requestSubmit(button("reject")) : reasons[0].focus()),
    ...Object.fromEntries(reasons.map((reason, index) => [String(index + 1), () => (reason.checked = true)])),
  };

  form.addEventListener("input", showButtons);
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.matches("button")) return;
    event.preventDefault(); // Enter does what is chosen, not what the first button says
    if (reasons.some((reason) => reason.checked)) form.requestSubmit(button("reject"));
    else accept();
  });
  form.addEventListener("submit", ({ submitter }) => {
    if (submitter?.value !== "reject") for (const reason of reasons) reason.checked = false;
  });
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
