// The description of the API; requests tried here go out in the session of whoever is logged in.
const api = document.getElementById("api");
const dark = matchMedia("(prefers-color-scheme: dark)");

function shade() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}

shade();
dark.addEventListener("change", shade);

SwaggerUIBundle({
  domNode: api,
  url: api.dataset.schema,
  validatorUrl: null,
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  requestInterceptor: (request) => {
    request.headers["X-CSRFToken"] = api.dataset.csrf;
    return request;
  },
});
