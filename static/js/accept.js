// The preview of suggestions to accept: what is unticked is taken out of the sums.
document.addEventListener("change", ({ target }) => {
  const form = target.closest?.("form");
  if (!target.matches?.('input[name="case"]')) return;
  const ticked = [...form.querySelectorAll('input[name="case"]:checked')];
  const pairs = ticked.reduce((sum, box) => sum + Number(box.dataset.pairs), 0);
  const count = (word) => ticked.filter((box) => box.dataset.word === word).length;
  const show = (name, value) => form.querySelectorAll(`[data-sum="${name}"]`).forEach((place) => { place.textContent = value(place); });
  show("extend", () => count("extend"));
  show("close", () => count("close"));
  show("pairs", () => pairs);
  show("hours", (place) => (pairs * Number(place.dataset.perPair)).toFixed(1));
  show("rest", (place) => Number(place.dataset.waiting) - ticked.length);
  form.querySelector("button").disabled = ticked.length === 0;
});
