// Uploads videos in pieces, by tus: two at a time, each with its progress, to be paused and resumed. What broke off goes on
// when the same file is chosen again, in whatever browser: the server says what it has of which file.
(() => {
  const section = document.getElementById("add-videos");
  if (!section || !window.tus?.isSupported) return;
  const AT_ONCE = 2;
  const RETRIES_MS = [0, 1000, 3000, 5000];
  const SPEED_MS = 5000; // over which the speed is taken
  const SUBTITLES = /\.(srt|vtt)$/i;
  const { endpoint, piece, mostMb, subtitles, replaces } = section.dataset;
  const input = section.querySelector("input[type=file]");
  const zone = section.querySelector("[data-drop]");
  const rows = section.querySelector("[data-rows]");
  const status = section.querySelector("[data-status]");
  const token = JSON.parse(document.body.getAttribute("hx-headers"))["x-csrftoken"];
  const headers = { "X-CSRFToken": token };
  const uploads = new Set();
  const texts = new Set(); // files of subtitles
  const discarding = new Set(); // addresses of rows of the server

  function sizeOf(bytes) {
    const [unit, name] = bytes < 2 ** 20 ? [2 ** 10, "KB"] : bytes < 2 ** 30 ? [2 ** 20, "MB"] : [2 ** 30, "GB"];
    return `${(bytes / unit).toFixed(name === "KB" ? 0 : 1)} ${name}`;
  }

  function remaining(seconds) {
    if (seconds < 60) return `${Math.ceil(seconds)} s left`;
    const minutes = Math.ceil(seconds / 60);
    return minutes < 60 ? `${minutes} min left` : `${Math.floor(minutes / 60)} h ${minutes % 60} min left`;
  }

  const pathOf = (url) => new URL(url, location.href).pathname;

  // What the server says, or what there is to do where it says nothing.
  function wordsOf(error, isBegun) {
    const answer = error.originalResponse;
    if (!answer) return "The connection broke. Resume goes on with what is there already.";
    if (isBegun && isOver(error)) return "What was here of it has been discarded. Resume begins anew.";
    const landed = answer.getUnderlyingObject()?.responseURL;
    if (landed && pathOf(landed).startsWith("/login/")) {
      return "Your log-in has ended. Log in again in another tab, then press Resume.";
    }
    try {
      return JSON.parse(answer.getBody()).message;
    } catch {
      const words = { 403: "Load this page again: it is older than your log-in, or your role has changed.", 404: "This project is not open to you any more." };
      return words[answer.getStatus()] ?? `The server answers with ${answer.getStatus()}. Resume tries it again.`;
    }
  }

  const isOver = (error) => [404, 410].includes(error.originalResponse?.getStatus());

  const isRefusal = (error) => [413, 422].includes(error.originalResponse?.getStatus());

  // Of a refusal another try would be one more; what is over by itself is tried again.
  function mayRetry(error) {
    const code = error.originalResponse?.getStatus();
    return !code || code === 409 || code === 423 || (code >= 500 && code !== 507);
  }

  // Asked last, answered last: its hx-sync gives up what is under way, so that an older answer never takes the place.
  function refresh() {
    const source = "#collection";
    const options = { source, target: source, select: source, swap: "outerHTML" };
    return htmx.ajax("GET", location.pathname + location.search, options).catch(() => {});
  }

  // Rows of the server: those that this page is uploading are shown above; a list that was read anew shows what still waits.
  function mark() {
    const urls = new Set([...uploads].map((upload) => upload.url && pathOf(upload.url)));
    for (const row of document.querySelectorAll("#collection [data-upload]")) {
      row.hidden = urls.has(row.dataset.upload);
      if (discarding.has(row.dataset.upload)) row.querySelectorAll("[data-discard]").forEach(occupy);
    }
    for (const part of document.querySelectorAll("#collection [data-needs-script]")) part.hidden = false;
  }

  // The row of a file; its buttons do what the upload's methods of their names do.
  function rowFor(upload) {
    const row = document.getElementById("upload-row").content.firstElementChild.cloneNode(true);
    row.querySelector("[data-name]").textContent = upload.file.name;
    row.querySelector("progress").setAttribute("aria-label", `Uploading ${upload.file.name}`);
    for (const button of row.querySelectorAll("button")) {
      const name = document.createElement("span");
      name.className = "unseen";
      name.textContent = ` ${upload.file.name}`;
      button.append(name);
      button.addEventListener("click", () => upload[button.dataset.do]());
    }
    rows.append(row);
    return row;
  }

  const stemOf = (file) => file.name.replace(/\.[^.]*$/, "");

  // Subtitles go in one request, once no video of their name is on its way.
  class Subtitles {
    constructor(file) {
      this.file = file;
      this.row = rowFor(this);
      this.row.querySelector("progress").remove();
      this.row.querySelector('[data-do="pause"]').remove();
      this.row.querySelector('[data-do="resume"]').firstChild.textContent = "Try again";
      this.row.querySelector('[data-do="cancel"]').firstChild.textContent = "Remove";
      texts.add(this);
      this.show("waiting", `${sizeOf(file.size)} · waits for its video`);
    }

    async send() {
      if (this.state === "sending" || [...uploads].some(({ file }) => stemOf(file) === stemOf(this.file))) return;
      this.show("sending", `${sizeOf(this.file.size)} · being read`);
      const body = new FormData();
      body.append("file", this.file);
      const options = { method: "POST", headers: { ...headers, Accept: "application/json" }, body };
      const answer = await fetch(subtitles, options).catch(() => null);
      const { code, message } = (await answer?.json().catch(() => null)) ?? { code: "connection", message: "The server could not be asked. Look whether you are still logged in, then try again." };
      if (code === "video_on_its_way") this.show("waiting", `${sizeOf(this.file.size)} · waits for its video`);
      else if (code) this.show("failed", "", message);
      else this.show("done", message);
      if (code !== "video_on_its_way") status.textContent = message;
    }

    resume() {
      this.send();
    }

    cancel() {
      texts.delete(this);
      this.row.remove();
      status.textContent = `${this.file.name} was removed from the list.`;
      if (rows.childElementCount === 0) input.focus({ preventScroll: true });
      next();
    }

    show(state, words, error = "") {
      this.state = this.row.dataset.state = state;
      this.row.querySelector("[data-numbers]").textContent = words;
      const fault = this.row.querySelector("[data-fault]");
      fault.textContent = error;
      fault.hidden = !error;
      this.row.querySelector('[data-do="resume"]').hidden = state !== "waiting" && state !== "failed";
    }
  }

  class Upload {
    constructor(file) {
      this.file = file;
      this.state = "waiting";
      this.row = rowFor(this);
      this.bar = this.row.querySelector("progress");
      uploads.add(this);
      this.show();
    }

    get url() {
      return this.client?.url;
    }

    // How much of it is there.
    part() {
      return `${sizeOf(this.bar.max > 1 ? this.bar.value : 0)} of ${sizeOf(this.file.size)}`;
    }

    // The row of the server that holds the first part of this very file; one that is not listed here is asked for.
    async rowOfSite() {
      const ending = /\.[^.]*$/.exec(this.file.name)?.[0].toLowerCase() ?? "";
      const name = (section.dataset.name ?? stemOf(this.file)) + ending; // as the server keeps it
      const isOwn = ({ dataset }) => dataset.file === name && Number(dataset.size) === this.file.size;
      const rowIn = (page) => [...page.querySelectorAll('#collection [data-state="uploading"]')].find(isOwn);
      const row = rowIn(document);
      if (row || !document.querySelector("#collection [data-unlisted]")) return row;
      const answer = await fetch(`${location.pathname}?upload=${encodeURIComponent(name)}`).catch(() => null);
      return answer?.ok ? rowIn(new DOMParser().parseFromString(await answer.text(), "text/html")) : null;
    }

    async start() {
      this.state = "uploading";
      this.samples = [];
      this.show();
      if (!this.client) {
        const search = (this.search = this.rowOfSite());
        const part = await search;
        if (this.state !== "uploading" || this.search !== search) return; // paused or cancelled meanwhile
        if (part && Number(part.dataset.modified) !== this.file.lastModified) {
          this.fail(`${this.file.name} has changed since its upload began. Discard the part that is here, then press Resume.`);
          return;
        }
        this.client = new tus.Upload(this.file, {
          endpoint: part ? null : endpoint,
          uploadUrl: part?.dataset.upload ?? null,
          chunkSize: Number(piece),
          retryDelays: RETRIES_MS,
          storeFingerprintForResuming: false,
          metadata: { filename: this.file.name, modified: String(this.file.lastModified), ...(replaces && { replaces }) },
          headers,
          onShouldRetry: mayRetry,
          onUploadUrlAvailable: () => {
            this.client.options.endpoint = null; // a server in trouble must not make it begin anew
            mark();
          },
          onProgress: (sent, total) => this.progress(sent, total),
          onSuccess: () => this.finish(),
          onError: (error) => {
            const words = wordsOf(error, Boolean(this.url));
            if (isOver(error)) this.client = null;
            this.fail(words, isRefusal(error) ? "Try again" : "Resume");
          },
        });
      }
      this.client.start();
    }

    progress(sent, total) {
      this.bar.max = total;
      this.bar.value = sent;
      const now = performance.now();
      this.samples = [...this.samples.filter(({ at }) => now - at < SPEED_MS), { at: now, sent }];
      const [first] = this.samples;
      const speed = (sent - first.sent) / ((now - first.at) / 1000); // bytes a second
      const pace = speed > 0 ? ` · ${sizeOf(speed)}/s · ${remaining((total - sent) / speed)}` : "";
      this.note(`${this.part()}${pace}`);
    }

    pause() {
      this.client?.abort();
      this.state = "paused";
      this.note(`${this.part()} · paused`);
      this.show();
      next();
    }

    resume() {
      this.state = "waiting";
      this.note("");
      this.show();
      next();
    }

    // The same file was chosen once more.
    again() {
      if (this.state === "failed" || this.state === "paused") this.resume();
    }

    async cancel() {
      this.state = "over";
      this.row.querySelectorAll("button").forEach((button) => { button.disabled = true; });
      occupy(this.row.querySelector('[data-do="cancel"]'));
      try {
        await this.client?.abort(Boolean(this.url));
      } catch {
        // what is there already is shown below, and expires by itself
      }
      this.remove(`${this.file.name} was cancelled.`);
    }

    finish() {
      this.remove(`All of ${this.file.name} is uploaded; it is being read.`);
    }

    fail(words, advice = "Resume") {
      this.state = "failed";
      this.note(this.part());
      this.show();
      this.row.querySelector('[data-do="resume"]').firstChild.textContent = advice;
      const fault = this.row.querySelector("[data-fault]");
      fault.textContent = words;
      status.textContent = `${this.file.name}: ${words}`;
      next();
    }

    remove(words) {
      this.state = "over";
      uploads.delete(this);
      this.row.remove();
      status.textContent = words;
      if (rows.childElementCount === 0) input.focus({ preventScroll: true });
      next();
      refresh();
    }

    note(words) {
      this.row.querySelector("[data-numbers]").textContent = words;
    }

    show() {
      const is = (...states) => states.includes(this.state);
      this.row.querySelector('[data-do="pause"]').hidden = !is("waiting", "uploading");
      this.row.querySelector('[data-do="resume"]').hidden = !is("paused", "failed");
      this.row.querySelector("[data-fault]").hidden = !is("failed");
      this.row.dataset.state = this.state;
      this.row.querySelector('[data-do="resume"]').firstChild.textContent = "Resume";
      this.row.querySelector('[data-do="cancel"]').firstChild.textContent = is("failed") ? "Remove" : "Cancel";
      if (is("waiting")) this.note(`${sizeOf(this.file.size)} · waits for its turn`);
    }
  }

  function next() {
    rows.hidden = rows.childElementCount === 0;
    const isAtWork = ({ state }) => state === "uploading";
    const waiting = [...uploads].filter(({ state }) => state === "waiting");
    const room = AT_ONCE - [...uploads].filter(isAtWork).length;
    for (const upload of waiting.slice(0, Math.max(0, room))) upload.start();
    for (const text of texts) if (text.state === "waiting") text.send();
  }

  function add(chosen) {
    const files = replaces ? chosen.slice(0, 1) : chosen;
    for (const file of [...files].filter(({ name }) => subtitles && SUBTITLES.test(name))) {
      for (const text of [...texts].filter((text) => text.file.name === file.name)) text.cancel();
      new Subtitles(file);
    }
    for (const file of [...files].filter(({ name }) => !subtitles || !SUBTITLES.test(name))) {
      const same = [...uploads].find((upload) => upload.file.name === file.name);
      if (same) same.again();
      else if (file.size > mostMb * 2 ** 20) new Upload(file).fail(`It has ${sizeOf(file.size)}, and a video may have ${mostMb} MB. Make it smaller, or have it added on the server: manage.py add_videos.`, "Try again");
      else new Upload(file);
    }
    next();
  }

  input.addEventListener("change", () => {
    add([...input.files]);
    input.value = ""; // so that the same file can be chosen again
  });
  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    add([...event.dataTransfer.files]);
  });
  document.addEventListener("click", async ({ target }) => {
    const row = target.closest("#collection [data-upload]");
    if (row && target.closest("[data-choose]")) input.click();
    if (!row || !target.closest("[data-discard]")) return;
    const url = row.dataset.upload;
    discarding.add(url);
    mark();
    const answer = await fetch(url, { method: "DELETE", headers: { ...headers, "Tus-Resumable": "1.0.0" } }).catch(() => null);
    discarding.delete(url);
    status.textContent = answer?.ok ? `${row.dataset.file} was discarded.` : `${row.dataset.file} could not be discarded; try it again.`;
    await refresh();
    document.querySelectorAll(`#collection [data-upload="${url}"] [data-discard]`).forEach(free); // where the list is the old one
    input.focus({ preventScroll: true });
  });
  window.addEventListener("online", () => {
    for (const upload of uploads) if (upload.state === "failed" && upload.client) upload.resume();
  });
  window.addEventListener("beforeunload", (event) => {
    if ([...uploads, ...texts].some(({ state }) => state === "uploading" || state === "waiting")) event.preventDefault();
  });
  document.addEventListener("htmx:afterSwap", () => {
    mark();
    next();
  });
  for (const part of section.querySelectorAll("[data-without-script]")) part.hidden = true;
  zone.hidden = false;
  mark();
})();
