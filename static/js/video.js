// On the page of a video: moments and lines of speech play where they are.
(() => {
  const player = document.getElementById("player");
  let end = Infinity;
  player?.addEventListener("timeupdate", () => {
    if (player.currentTime < end) return;
    player.pause();
    end = Infinity;
  });
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-play], [data-at]");
    if (!opener || !player) return;
    event.preventDefault();
    const [from, to] = (opener.dataset.play ?? opener.dataset.at).split(",").map(Number);
    end = to ?? Infinity;
    player.currentTime = from;
    player.play().catch(() => {});
    player.scrollIntoView({ block: "nearest" });
  });
})();
