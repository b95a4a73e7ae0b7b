// Plays the clip of the pair on the page, and keeps the next ones ready, so that they are there when their pair is.
const player = (() => {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const takesMp4 = document.createElement("video").canPlayType('video/mp4; codecs="avc1.42E01E"') !== "";
  const ready = new Map(); // by the GIF's address
  let figure = null;
  let clip = null;

  const gifOf = (url) => ("ImageDecoder" in window ? FrameClip.of(url).catch(() => ImageClip.of(url)) : ImageClip.of(url));

  function load({ mp4, gif }, element) {
    const entry = { clip: null, early: null };
    if (mp4 && takesMp4) {
      entry.early = new VideoClip(mp4, element);
      entry.loading = entry.early.loaded.catch(() => {
        entry.early = null;
        return gifOf(gif);
      });
    } else {
      entry.loading = gifOf(gif);
    }
    entry.loading = entry.loading.then((loaded) => (entry.clip = loaded));
    entry.loading.catch(() => ready.delete(gif)); // to be tried again
    return entry;
  }

  function prepare(source, element) {
    if (!ready.has(source.gif)) ready.set(source.gif, load(source, element));
    return ready.get(source.gif);
  }

  function keepOnly(sources) {
    const wanted = new Set(sources.map((source) => source.gif));
    for (const [gif, entry] of ready) {
      if (wanted.has(gif)) continue;
      ready.delete(gif);
      entry.loading.then((loaded) => loaded.close(), () => {});
    }
  }

  async function show(shown) {
    figure = shown;
    clip = null;
    const here = figure;
    const sent = figure.querySelector(".moment");
    const entry = prepare(figure.dataset, sent.matches("video") && sent.preload === "auto" ? sent : undefined);
    if (entry.clip) return put(here, entry.clip);
    if (entry.early) swapIn(here, entry.early);
    try {
      const loaded = await entry.loading;
      if (here === figure) put(here, loaded);
    } catch {
      if (here === figure) broken(here, true);
    }
  }

  function swapIn(here, next) {
    const sent = here.querySelector(".moment");
    if (sent !== next.element) sent.replaceWith(next.element);
  }

  function put(here, next) {
    swapIn(here, next);
    clip = next;
    broken(here, false);
    here.querySelector(".controls").hidden = false;
    here.querySelector("[data-seek]").hidden = here.querySelector("output").hidden = !clip.duration;
    restart();
    here.dispatchEvent(new CustomEvent("clip:shown", { bubbles: true }));
    prepareAhead();
    follow(here, next);
  }

  function prepareAhead() {
    const ahead = [...document.querySelectorAll("#pair .ahead")].map((element) => element.dataset);
    keepOnly([figure.dataset, ...ahead]);
    ahead.forEach((source) => prepare(source));
  }

  function broken(here, is) {
    here.classList.toggle("broken", is);
    here.querySelector("[data-broken]").hidden = !is;
    if (is) here.dispatchEvent(new CustomEvent("clip:shown", { bubbles: true }));
  }

  function restart() {
    clip.seek(0);
    if (calm.matches && !figure.dataset.asked) clip.pause();
    else clip.play();
  }

  function follow(here, playing) {
    if (here !== figure || playing !== clip || !here.isConnected) return;
    tell(here);
    setTimeout(() => follow(here, playing), 100);
  }

  function tell(here) {
    const { paused, time, duration } = clip;
    const slider = here.querySelector("[data-seek]");
    const seconds = `${time.toFixed(1)} of ${duration.toFixed(1)} s`;
    const output = here.querySelector("output");
    if (output.textContent !== seconds) output.textContent = seconds;
    slider.max = duration;
    if (document.activeElement !== slider || !paused) slider.value = time;
    slider.setAttribute("aria-valuetext", seconds);
    const button = here.querySelector("[data-play]");
    if (here.classList.toggle("paused", paused) !== (button.dataset.play === "paused")) {
      button.dataset.play = paused ? "paused" : "playing";
      button.querySelector("span").textContent = paused ? "Play" : "Pause";
    }
  }

  const acts = {
    toggle() {
      figure.dataset.asked = "yes"; // somebody who asks for motion gets it
      if (clip.paused) clip.play();
      else clip.pause();
    },
    replay() {
      figure.dataset.asked = "yes";
      clip.seek(0);
      clip.play();
    },
    step(frames) {
      clip.pause();
      clip.step(frames);
    },
    seek(seconds) {
      clip.pause();
      clip.seek(seconds);
    },
  };

  document.addEventListener("pair", ({ detail }) => {
    const shown = detail.section.querySelector("[data-gif]:not(.ahead)");
    if (shown) show(shown);
    else keepOnly([]);
  });
  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-retry]")) show(figure);
    if (!clip) return;
    if (target.closest("[data-play]") || target.closest(".clip .moment")) acts.toggle();
    else if (target.closest("[data-replay]")) acts.replay();
  });
  document.addEventListener("input", ({ target }) => {
    if (clip && target.matches("[data-seek]")) acts.seek(Number(target.value));
  });
  window.addEventListener("online", () => figure?.classList.contains("broken") && show(figure));

  return new Proxy(acts, { get: (all, name) => (clip && figure.isConnected ? all[name] : () => {}) });
})();
