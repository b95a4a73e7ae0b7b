// A comment that was begun is there again when its pair is, until it is sent with the grade.
(() => {
  const nameOf = (field) => `momentjudge-draft:${field.form.action}`;
  document.addEventListener("input", ({ target }) => {
    if (target.matches("#pair textarea")) sessionStorage.setItem(nameOf(target), target.value);
  });
  document.addEventListener("pair", ({ detail }) => {
    for (const field of detail.section.querySelectorAll("textarea")) {
      const draft = sessionStorage.getItem(nameOf(field));
      if (draft === null) continue;
      field.value = draft;
      field.closest("details").open = draft !== "";
    }
  });
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.requestConfig.verb !== "post" || detail.xhr.status !== 200) return;
    const url = new URL(detail.requestConfig.path, window.location.href).href;
    sessionStorage.removeItem(`momentjudge-draft:${url}`);
  });
})();
