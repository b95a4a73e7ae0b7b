// The preview of suggestions to accept: what is unticked is taken out of the sums.
// The sums are counted at the start as well: a box may be unticked before this runs, or kept unticked by a reload.
const count = (form) => {
  const ticked = [...form.querySelectorAll('input[name="case"]:checked')];
  const pairs = ticked.reduce((sum, box) => sum + Number(box.dataset.pairs), 0);
  const cases = (word) => ticked.filter((box) => box.dataset.word === word).length;
  const show = (name, value) => form.querySelectorAll(`[data-sum="${name}"]`).forEach((place) => { place.textContent = value(place); });
  show("extend", () => cases("extend"));
  show("close", () => cases("close"));
  show("pairs", () => pairs);
  show("hours", (place) => (pairs * Number(place.dataset.perPair)).toFixed(1));
  show("rest", (place) => Number(place.dataset.waiting) - ticked.length);
  form.querySelector("button").disabled = ticked.length === 0;
};

document.addEventListener("change", ({ target }) => {
  if (target.matches?.('input[name="case"]')) count(target.form);
});
document.querySelectorAll("form:has([data-sum])").forEach(count);
