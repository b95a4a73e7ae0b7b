// Wide tables: a faded edge says that there is more on that side.
(() => {
  const ROOM = 4; // px that nobody misses

  function mark(box) {
    const left = box.scrollLeft;
    const right = box.scrollWidth - box.clientWidth - left;
    box.classList.toggle("more-left", left > ROOM);
    box.classList.toggle("more-right", right > ROOM);
  }

  const markAll = () => document.querySelectorAll(".scroll").forEach(mark);
  document.addEventListener("scroll", (event) => event.target.matches?.(".scroll") && mark(event.target), { capture: true, passive: true });
  document.addEventListener("htmx:afterSettle", markAll);
  document.addEventListener("toggle", markAll, true);
  window.addEventListener("resize", markAll);
  markAll();
})();
