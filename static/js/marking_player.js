// The player of a clip with its timeline and the span in two fields: keys, buttons, dragging, undo.
class SpanPlayer {
  // section: has the video, the timeline, its buttons and the form; onChange: the span has another value.
  constructor(section, data, onChange) {
    Object.assign(this, { section, data, onChange, earlier: [], looping: false, before: null, closed: false });
    this.video = section.querySelector("#clip");
    this.fields = section.querySelector("form.entry").elements;
    this.timeline = new MarkingTimeline(section.querySelector("#timeline"), this.video, data, {
      onSpan: (changes, options) => this.setSpan(changes, options),
      onSeek: (seconds) => this.seek(seconds),
    });
    for (const element of section.querySelectorAll("[data-scripted]")) element.hidden = false;
    this.keys = this.keysOf();
    this.buttons = { start: this.keys.i, end: this.keys.o, loop: this.keys.p, undo: this.keys.u };
    section.addEventListener("click", ({ target }) => this.buttons[target.closest("[data-act]")?.dataset.act]?.());
    for (const field of [this.fields.start_s, this.fields.end_s]) {
      field.addEventListener("focusin", () => (this.before = this.spanOf()));
      field.addEventListener("change", () => this.settle());
      field.addEventListener("input", () => this.readFields());
    }
    this.readFields();
    this.follow();
  }

  static numberOf(field) {
    return field.value.trim() === "" || Number.isNaN(field.valueAsNumber) ? null : field.valueAsNumber;
  }

  // From the fields, the one place where the span is kept; the timeline follows.
  spanOf() {
    return { start: SpanPlayer.numberOf(this.fields.start_s), end: SpanPlayer.numberOf(this.fields.end_s) };
  }

  readFields() {
    this.span = this.spanOf();
    this.timeline.set(this.span);
  }

  setSpan(changes, { done = true, show = false } = {}) {
    if (this.data.fixed) return; // a page that asks about the span as it is
    this.before ??= this.spanOf();
    for (const [name, value] of Object.entries(changes)) {
      const seconds = Math.min(Math.max(value, 0), this.data.duration);
      this.fields[`${name}_s`].value = Math.round(seconds * 1000) / 1000;
      if (show) this.seek(value);
    }
    this.readFields();
    if (done) this.settle();
  }

  settle() {
    const now = this.spanOf();
    if (this.before && (this.before.start !== now.start || this.before.end !== now.end)) {
      this.earlier.push(this.before);
      this.onChange();
    }
    this.before = null;
    this.button("undo").disabled = !this.earlier.length;
  }

  undo() {
    const before = this.earlier.pop();
    if (!before) return;
    for (const name of ["start", "end"]) this.fields[`${name}_s`].value = before[name] ?? "";
    this.readFields();
    this.button("undo").disabled = !this.earlier.length;
    this.onChange();
  }

  button(act) {
    return this.section.querySelector(`[data-act="${act}"]`);
  }

  seek(seconds) {
    this.video.pause();
    this.video.currentTime = Math.min(Math.max(seconds, 0), this.data.duration);
    this.showTime();
  }

  showTime() {
    const at = this.video.currentTime;
    this.timeline.set({ at });
    const line = this.data.lines[this.timeline.lineAt(at)];
    this.say("time", `${at.toFixed(2)} s`);
    this.say("subtitle", line ? line[2] : "\u00a0");
  }

  say(id, words) {
    const place = this.section.querySelector(`#${id}`);
    if (place && place.textContent !== words) place.textContent = words;
  }

  follow() {
    const { video } = this;
    const tick = () => {
      if (this.closed || video.paused) return;
      const { start, end } = this.span;
      if (this.looping && end !== null && video.currentTime >= end) video.currentTime = start ?? 0;
      this.showTime();
      requestAnimationFrame(tick);
    };
    video.addEventListener("play", tick);
    video.addEventListener("seeked", () => this.closed || this.showTime());
    video.addEventListener("error", () => (this.section.querySelector("#broken").hidden = false));
    video.addEventListener("loadeddata", async () => {
      this.section.dataset.frame = String(Math.round(performance.now()));
      await this.timeline.drawFrames();
      await this.timeline.drawLevel();
    }, { once: true });
    video.addEventListener("loadedmetadata", () => this.closed || this.showTime(), { once: true });
    if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) video.dispatchEvent(new Event("loadeddata"));
  }

  play(rate = 1) {
    this.video.playbackRate = rate;
    this.video.play().catch(() => {});
  }

  loop() {
    const { start, end } = this.spanOf();
    this.looping = !this.looping && start !== null && end !== null && start < end;
    this.button("loop").setAttribute("aria-pressed", String(this.looping));
    if (!this.looping) return this.video.pause();
    this.video.currentTime = start;
    this.play();
  }

  keysOf() {
    const { video, data } = this;
    const bounds = [0, ...data.cuts, data.duration];
    const step = (shiftKey) => (shiftKey ? 1 : 1 / data.fps);
    return {
      " ": () => (video.paused ? this.play() : video.pause()),
      ArrowLeft: ({ shiftKey }) => this.seek(video.currentTime - step(shiftKey)),
      ArrowRight: ({ shiftKey }) => this.seek(video.currentTime + step(shiftKey)),
      j: () => this.seek(video.currentTime - 2),
      k: () => video.pause(),
      l: () => this.play(video.paused ? 1 : Math.min(video.playbackRate + 0.5, 3)),
      i: () => this.setSpan({ start: video.currentTime }),
      o: () => this.setSpan({ end: video.currentTime }),
      p: () => this.loop(),
      ...(data.cuts.length && {
        "[": () => this.setSpan({ start: bounds.findLast((cut) => cut <= video.currentTime + 1e-3) }),
        "]": () => this.setSpan({ end: bounds.find((cut) => cut > video.currentTime + 1e-3) ?? data.duration }),
      }),
      u: () => this.undo(),
    };
  }

  // Whether a key is the page's: not where somebody types, moves a handle, or presses a button.
  static isKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return false;
    const { target, key } = event;
    if (target.matches("input:not([type=radio]), textarea, select") || localStorage.getItem(SpanPlayer.KEYS_OFF)) return false;
    if (target.matches('[role="slider"]') && /^(Arrow|Home|End)/.test(key)) return false; // it moves the handle
    return !(target.matches("button, summary, a") && (key === " " || key === "Enter"));
  }

  close() {
    this.closed = true;
    this.timeline.close();
  }
}
SpanPlayer.KEYS_OFF = "momentjudge-keys-off";
document.addEventListener("change", ({ target }) => {
  if (target.id !== "keys-on") return;
  if (target.checked) localStorage.removeItem(SpanPlayer.KEYS_OFF);
  else localStorage.setItem(SpanPlayer.KEYS_OFF, "yes");
});
document.addEventListener("DOMContentLoaded", () => {
  document.getElementById("keys-on").checked = !localStorage.getItem(SpanPlayer.KEYS_OFF);
});
