// The page of somebody who verifies: the moment plays in a loop; numbers answer the statement that is marked.
document.addEventListener("DOMContentLoaded", () => {
  const section = document.getElementById("marking");
  const data = JSON.parse(document.getElementById("clip-data").textContent);
  const form = section.querySelector("form.entry");
  const statements = [...form.querySelectorAll("fieldset.statement")];
  const player = new SpanPlayer(section, data, () => {});
  const answers = []; // the statements that were answered by keys, in that order
  const answerOf = (statement) => statement.querySelector("input:checked");
  const current = () => statements.find((statement) => !answerOf(statement)) ?? statements.at(-1);
  const mark = () => statements.forEach((statement) => statement.toggleAttribute("data-current", statement === current()));
  const focused = () => document.activeElement?.closest("fieldset.statement");
  const answer = (value) => {
    const statement = focused() ?? current();
    statement.querySelector(`input[value="${value}"]`).checked = true;
    answers.push(statement);
    if (focused()) document.activeElement.blur();
    mark();
  };
  const keys = {
    ...player.keys,
    ...Object.fromEntries([1, 2, 3, 4, 5].map((value) => [String(value), () => answer(value)])),
    u: () => {
      const chosen = answers.length ? answerOf(answers.pop()) : null;
      if (chosen) chosen.checked = false;
      mark();
    },
    Enter: () => form.requestSubmit(),
  };

  form.addEventListener("change", mark);
  document.addEventListener("keydown", (event) => {
    if (!SpanPlayer.isKey(event)) return;
    if (event.target.matches("input[type=radio]") && /^(Arrow| )/.test(event.key)) return; // it chooses an answer
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  }, true); // before the player's own keys
  mark();
  player.looping = true; // until its button says otherwise
  player.button("loop").setAttribute("aria-pressed", "true");
  player.video.addEventListener("loadedmetadata", () => player.seek(data.start), { once: true });
  if (player.video.readyState >= HTMLMediaElement.HAVE_METADATA) player.seek(data.start);
});
