// The clip of a pair: an MP4, or a GIF whose frames are drawn one by one, behind the same few calls.
const CLIP_LABEL = "The moment to judge, a short silent clip";
const STEP_S = 1 / 3; // previews have three frames a second

class VideoClip {
  constructor(url, element = document.createElement("video")) {
    this.element = element;
    Object.assign(element, { className: "moment", muted: true, loop: true, playsInline: true, controls: false });
    Object.assign(element, { preload: "auto", autoplay: false, disablePictureInPicture: true });
    element.setAttribute("aria-label", CLIP_LABEL);
    this.loaded = new Promise((resolve, reject) => {
      if (element.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) resolve(this);
      element.addEventListener("loadeddata", () => resolve(this), { once: true });
      element.addEventListener("error", () => reject(new Error(`${url} does not play`)), { once: true });
    });
    if (element.getAttribute("src") !== url) element.src = url;
    else if (element.error) element.load();
    else if (element.networkState !== HTMLMediaElement.NETWORK_LOADING && element.readyState === 0) element.load();
  }

  get duration() { return this.element.duration || 0; }
  get time() { return this.element.currentTime; }
  get paused() { return this.element.paused; }
  play() { return this.element.play().catch(() => {}); } // a browser that saves power may refuse
  pause() { this.element.pause(); }
  seek(seconds) { this.element.currentTime = seconds; }
  step(frames) { this.seek(Math.min(Math.max(this.time + frames * STEP_S, 0), this.duration - STEP_S / 2)); }

  close() {
    this.element.removeAttribute("src");
    this.element.load(); // lets go of what it holds
  }
}

class FrameClip {
  static async of(url) {
    const answer = await fetch(url, { cache: "force-cache" });
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
    const decoder = new ImageDecoder({ data: await answer.arrayBuffer(), type: "image/gif" });
    await Promise.all([decoder.tracks.ready, decoder.completed]);
    const clip = new FrameClip(decoder);
    await clip.measure();
    return clip;
  }

  constructor(decoder) {
    this.decoder = decoder;
    this.element = document.createElement("canvas");
    this.element.className = "moment";
    this.element.setAttribute("role", "img");
    this.element.setAttribute("aria-label", CLIP_LABEL);
    this.starts = [0]; // of the frames, in seconds; the last entry is the end
    this.drawn = -1;
    this.paused = true;
    this.offset = 0;
  }

  // A GIF says how long a frame lasts only where the frame is: look at each once. The first is drawn meanwhile.
  async measure() {
    const count = this.decoder.tracks.selectedTrack.frameCount;
    for (let index = 0; index < count; index += 1) {
      const { image } = await this.decoder.decode({ frameIndex: index });
      this.starts.push(this.starts[index] + (image.duration || 100_000) / 1e6);
      if (index === 0) this.paint(image, 0);
      image.close();
    }
  }

  get frames() { return this.starts.length - 1; }
  get duration() { return this.frames > 1 ? this.starts[this.frames] : 0; }
  get time() {
    if (this.paused || !this.duration) return this.offset;
    return (this.offset + (performance.now() - this.since) / 1000) % this.duration;
  }

  play() {
    if (!this.paused || !this.duration) return;
    this.since = performance.now();
    this.paused = false;
    this.run();
  }

  pause() {
    this.offset = this.time;
    this.paused = true;
  }

  seek(seconds) {
    this.offset = Math.min(Math.max(seconds, 0), this.duration);
    this.since = performance.now();
    this.draw();
  }

  step(frames) {
    const index = Math.min(Math.max(this.index() + frames, 0), this.frames - 1);
    this.seek(this.starts[index]);
  }

  index() {
    const next = this.starts.findIndex((start) => start > this.time + 1e-6);
    return next === -1 ? this.frames - 1 : next - 1;
  }

  run() {
    if (this.paused || this.closed) return;
    this.draw();
    requestAnimationFrame(() => this.run());
  }

  async draw() {
    const index = this.index();
    if (this.busy || this.closed || index === this.drawn) return;
    this.busy = true;
    try {
      const { image } = await this.decoder.decode({ frameIndex: index });
      if (!this.closed) this.paint(image, index);
      image.close();
    } catch {
      // closed while it was decoding
    }
    this.busy = false;
    if (this.index() !== this.drawn && this.paused) this.draw();
  }

  paint(image, index) {
    if (this.drawn === -1) {
      this.element.width = image.displayWidth;
      this.element.height = image.displayHeight;
    }
    this.element.getContext("2d").drawImage(image, 0, 0);
    this.drawn = index;
  }

  close() {
    this.closed = true;
    this.decoder.close();
  }
}

// A GIF where the browser gives no frames: it runs, stands at its first frame, or starts anew.
class ImageClip {
  static async of(url) {
    const image = new Image();
    Object.assign(image, { className: "moment", alt: CLIP_LABEL, src: url });
    await image.decode();
    return new ImageClip(image);
  }

  constructor(image) {
    this.image = image;
    this.element = document.createElement("div");
    this.element.className = "moment plain";
    this.still = document.createElement("canvas");
    this.still.className = "moment";
    this.still.width = image.naturalWidth;
    this.still.height = image.naturalHeight;
    this.still.getContext("2d").drawImage(image, 0, 0);
    this.paused = true;
    this.duration = 0;
    this.time = 0;
    this.element.append(this.still);
  }

  play() {
    this.paused = false;
    this.element.replaceChildren(this.image);
  }

  pause() {
    this.paused = true;
    this.element.replaceChildren(this.still);
  }

  seek() {
    const { src } = this.image;
    this.image.src = ""; // set again, it starts again; it is in memory
    this.image.src = src;
  }

  step() {}
  close() {}
}
