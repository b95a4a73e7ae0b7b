// The timeline under a clip: its frames, the level of its sound, shots, subtitles, and the span with its two handles.
class MarkingTimeline {
  static FRAMES = 12;
  static LEVELS = 300;
  static LARGEST_SOUND = 64 * 1024 * 1024; // bytes of a file that is read for its sound

  constructor(element, video, data, { onSpan, onSeek }) {
    Object.assign(this, { element, video, data, onSpan, onSeek, closed: false });
    this.span = element.querySelector(".span");
    this.handles = { start: element.querySelector(".handle.start"), end: element.querySelector(".handle.end") };
    this.drawn = null; // the frame in which what has changed is drawn
    this.state = { start: null, end: null, at: 0 };
    this.drawMarks();
    this.listen();
  }

  drawMarks() {
    const { duration, cuts, lines } = this.data;
    const mark = (from, to) => {
      const element = document.createElement("i");
      element.style.left = `${(100 * from) / duration}%`;
      if (to !== undefined) element.style.width = `${(100 * Math.max(Math.min(to, duration) - from, 0)) / duration}%`;
      return element;
    };
    this.element.querySelector(".shots").replaceChildren(...cuts.map((cut) => mark(cut)));
    this.speech = lines.map(([from, to]) => mark(from, to));
    this.element.querySelector(".speech").replaceChildren(...this.speech);
  }

  // What changes within a frame is drawn once, by transforms alone.
  set(changes) {
    if (Object.entries(changes).every(([name, value]) => this.state[name] === value)) return;
    Object.assign(this.state, changes);
    this.drawn ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.drawn = null;
    const { duration } = this.data;
    const { start, end, at } = this.state;
    this.element.style.setProperty("--at", at / duration);
    this.element.style.setProperty("--from", (start ?? 0) / duration);
    this.element.style.setProperty("--to", (end ?? duration) / duration);
    this.element.toggleAttribute("data-set", start !== null && end !== null && start < end);
    for (const [name, value] of [["start", start], ["end", end]]) {
      const handle = this.handles[name];
      handle.setAttribute("aria-valuenow", value ?? (name === "start" ? 0 : duration));
      handle.setAttribute("aria-valuetext", value === null ? "not set" : `${value.toFixed(2)} seconds`);
    }
  }

  secondsAt(event) {
    const { left, width } = this.box;
    return Math.min(Math.max((event.clientX - left) / width, 0), 1) * this.data.duration;
  }

  listen() {
    const { element } = this;
    element.addEventListener("pointerdown", (event) => {
      this.box = element.getBoundingClientRect(); // read once: a drag does not ask for the layout again
      const handle = event.target.closest(".handle");
      const seconds = this.secondsAt(event);
      const { start, end } = this.state;
      const inside = !this.data.fixed && !handle && start !== null && end !== null && start < seconds && seconds < end;
      this.drag = { name: handle ? (handle === this.handles.start ? "start" : "end") : inside ? "span" : "seek", seconds, start, end, moved: false };
      element.setPointerCapture(event.pointerId);
      if (this.drag.name === "seek") this.onSeek(seconds);
      handle?.focus();
      event.preventDefault();
    });
    element.addEventListener("pointermove", (event) => this.drag && this.move(event));
    for (const name of ["pointerup", "pointercancel"]) {
      element.addEventListener(name, () => {
        if (this.drag?.moved && this.drag.name !== "seek") this.onSpan({}, { done: true });
        else if (this.drag?.name === "span") this.onSeek(this.drag.seconds);
        this.drag = null;
      });
    }
    for (const [name, handle] of Object.entries(this.handles)) {
      handle.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
        const edge = { Home: 0, End: this.data.duration }[event.key];
        if (step === undefined && edge === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        const now = this.state[name] ?? (name === "start" ? 0 : this.data.duration);
        this.onSpan({ [name]: edge ?? now + step * (event.shiftKey ? 1 : 1 / this.data.fps) }, { done: true, show: true });
      });
    }
  }

  move(event) {
    const { drag } = this;
    const seconds = this.secondsAt(event);
    drag.moved ||= Math.abs(seconds - drag.seconds) > 0;
    if (drag.name === "seek") return this.onSeek(seconds);
    if (drag.name !== "span") return this.onSpan({ [drag.name]: seconds }, { show: true });
    const { duration } = this.data;
    const shift = Math.min(Math.max(seconds - drag.seconds, -drag.start), duration - drag.end);
    this.onSpan({ start: drag.start + shift, end: drag.end + shift });
  }

  // The line that is spoken now, by its place; -1 between lines.
  lineAt(seconds) {
    const place = this.data.lines.findIndex(([from, to]) => from <= seconds && seconds < to);
    if (place !== this.place) {
      this.speech[this.place]?.classList.remove("now");
      this.speech[place]?.classList.add("now");
      this.place = place;
    }
    return place;
  }

  canvas(name) {
    const canvas = this.element.querySelector(name);
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = canvas.clientHeight * devicePixelRatio;
    return canvas;
  }

  // By a second player, so that the clip stays where its writer has it.
  async drawFrames() {
    const source = document.createElement("video");
    Object.assign(source, { muted: true, preload: "auto", playsInline: true, src: this.video.currentSrc || this.video.src });
    try {
      await once(source, "loadeddata");
      const canvas = this.canvas(".frames");
      const context = canvas.getContext("2d");
      const width = canvas.width / MarkingTimeline.FRAMES;
      for (let index = 0; index < MarkingTimeline.FRAMES && !this.closed; index += 1) {
        source.currentTime = ((index + 0.5) / MarkingTimeline.FRAMES) * this.data.duration;
        await once(source, "seeked");
        const scale = Math.max(width / source.videoWidth, canvas.height / source.videoHeight);
        const [cutWidth, cutHeight] = [width / scale, canvas.height / scale];
        const [x, y] = [(source.videoWidth - cutWidth) / 2, (source.videoHeight - cutHeight) / 2];
        context.drawImage(source, x, y, cutWidth, cutHeight, index * width, 0, width, canvas.height);
      }
      if (!this.closed) this.element.dataset.frames = "drawn";
    } catch {
      // the timeline serves without them
    }
    source.removeAttribute("src");
    source.load();
  }

  async drawLevel() {
    try {
      const answer = await fetch(this.video.currentSrc || this.video.src, { cache: "force-cache" });
      if (!answer.ok || Number(answer.headers.get("Content-Length")) > MarkingTimeline.LARGEST_SOUND) return;
      const sound = await new OfflineAudioContext(1, 1, 8000).decodeAudioData(await answer.arrayBuffer());
      if (this.closed) return;
      const samples = sound.getChannelData(0);
      const canvas = this.canvas(".level");
      const context = canvas.getContext("2d");
      context.fillStyle = getComputedStyle(this.element).color;
      const [bar, size] = [canvas.width / MarkingTimeline.LEVELS, samples.length / MarkingTimeline.LEVELS];
      for (let index = 0; index < MarkingTimeline.LEVELS; index += 1) {
        let sum = 0;
        const from = Math.floor(index * size);
        const to = Math.floor((index + 1) * size);
        for (let place = from; place < to; place += 1) sum += samples[place] * samples[place];
        const height = Math.min(1, 3 * Math.sqrt(sum / Math.max(1, to - from))) * canvas.height;
        context.fillRect(index * bar, canvas.height - height, Math.max(1, bar - 1), height);
      }
    } catch {
      // a clip without sound
    }
  }

  close() {
    this.closed = true;
    cancelAnimationFrame(this.drawn);
  }
}

function once(element, name) {
  return new Promise((resolve, reject) => {
    element.addEventListener(name, resolve, { once: true });
    element.addEventListener("error", reject, { once: true });
  });
}
